"""What reports for other programs call a file: a reference relative to the folder of the run, wherever that is possible."""

from __future__ import annotations

import os
import posixpath
from urllib.parse import quote

from dynamo_webhooks.cli.files import STDIN


def top() -> str:
    """The folder that names are relative to: the current one, or that of the checkout where a step of GitHub runs below it.

    GitHub looks annotations and reports up from the checkout's folder, whatever `working-directory` says.
    """
    here = os.getcwd()  # noqa: PTH109 - pathlib isn't imported here
    checkout = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or here)
    return checkout if here.startswith(f"{checkout.rstrip('/')}/") else here


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
    if not path.startswith("/") and (here := os.getcwd()) != folder and os.path.lexists(path):  # noqa: PTH109 - as above
        path = posixpath.join(here, path)
    below = folder.rstrip("/") + "/"
    return path[len(below) :] if path.startswith(below) else path
