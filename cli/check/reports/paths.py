"""What reports for other programs call a file: a reference relative to the folder of the run, wherever that is possible."""

from __future__ import annotations

import os
import posixpath
from urllib.parse import quote

from cli.files import STDIN


def uri(name: str, folder: str) -> str:
    """The URI reference of a source by its name; what is outside of `folder` (an absolute path) and named absolutely keeps its whole path.

    Every byte that means something in a URI, or is no text, is written as %XX.
    """
    path = relative(name, folder)
    return ("file://" if path.startswith("/") else "") + quote(os.fsencode(path))


def relative(name: str, folder: str) -> str:
    """The name without detours, and relative to `folder` where it lies below it."""
    if name == STDIN:
        return name
    path = posixpath.normpath(name)
    below = folder.rstrip("/") + "/"
    return path[len(below) :] if path.startswith(below) else path
