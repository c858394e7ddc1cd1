"""Finds the project file. Loaded by every run; reading the file is load.py's."""

# ruff: noqa: PTH110, PTH112, PTH118, PTH120 - pathlib takes longer to import than a small file takes to check

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..files.read import is_within, list_folders_above

NAME: Final = ".dynamo-webhooks.yaml"


class ProjectLocation(NamedTuple):
    """A project file that is there; all paths are absolute and without links."""

    folder: str  # that contains the file
    root: str  # of the repository, or the file's folder where there is none


def find_project_file(paths: Sequence[str]) -> ProjectLocation | None:
    """Finds the nearest project file, from the first path up to the repository's root; without paths, from the working directory."""
    here = os.path.realpath(os.curdir)
    first = _start(paths, here)
    nearest = ""
    for folder in list_folders_above(first):
        if not nearest and _has(folder):
            nearest = folder
        if os.path.exists(os.path.join(folder, ".git")):
            return ProjectLocation(nearest, folder) if nearest else None
    # outside of a repository only two folders count, each as its own root: a folder above may belong to another user
    alone = next((folder for folder in (first, here) if _has(folder) and is_within(first, folder)), None)
    return ProjectLocation(alone, alone) if alone is not None else None


def _has(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, NAME))


def _start(paths: Sequence[str], here: str) -> str:
    path = next((path for path in paths if path and path != "-" and "\0" not in path), "")
    if not path:
        return here
    real = os.path.realpath(path)
    return real if os.path.isdir(real) else os.path.dirname(real)
