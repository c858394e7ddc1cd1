"""Finds the project file. Loaded by every run, so it imports nothing; reading the file is load.py's."""

# ruff: noqa: PTH110, PTH112, PTH118, PTH120 - pathlib takes longer to import than a small file takes to check

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

NAME: Final = ".dynamo-webhooks.yaml"


class Place(NamedTuple):
    """A project file that is there; all paths are absolute and without links."""

    folder: str  # in which the file lies
    root: str  # of the repository, or the file's folder where there is none


def found(paths: Sequence[str]) -> Place | None:
    """Looks for the nearest project file, from the first path up to the repository's root; from the working directory without paths.

    Outside of a repository only those two folders count, each as its own root: one above may belong to somebody else.
    """
    here = os.path.realpath(os.curdir)
    first = _start(paths, here)
    nearest, folder = "", first
    while True:
        if not nearest and _has(folder):
            nearest = folder
        if os.path.exists(os.path.join(folder, ".git")):
            return Place(nearest, folder) if nearest else None
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    alone = next((folder for folder in (first, here) if _has(folder) and is_within(first, folder)), None)
    return Place(alone, alone) if alone is not None else None


def is_within(path: str, root: str) -> bool:
    """Whether a path is a folder or lies in it; both absolute and without links."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _has(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, NAME))


def _start(paths: Sequence[str], here: str) -> str:
    path = next((path for path in paths if path and path != "-" and "\0" not in path), "")
    if not path:
        return here
    real = os.path.realpath(path)
    return real if os.path.isdir(real) else os.path.dirname(real)
