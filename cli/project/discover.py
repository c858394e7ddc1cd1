"""Finds the project file, and the files that its paths with `*` and `?` mean. Loaded by every run; reading the file is load.py's."""

# ruff: noqa: PTH100, PTH110, PTH112, PTH117, PTH118, PTH120 - pathlib takes longer to import than a small file takes to check

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ..files.find import match_parts
from ..files.read import folders_above, is_within

NAME: Final = ".dynamo-webhooks.yaml"
_RENDERED: Final = ("kustomize:", "helm:")  # before the folder that a text was rendered from


class Place(NamedTuple):
    """A project file that is there; all paths are absolute and without links."""

    folder: str  # that contains the file
    root: str  # of the repository, or the file's folder where there is none


def find_project_file(paths: Sequence[str]) -> Place | None:
    """Finds the nearest project file, from the first path up to the repository's root; without paths, from the working directory."""
    here = os.path.realpath(os.curdir)
    first = _start(paths, here)
    nearest = ""
    for folder in folders_above(first):
        if not nearest and _has(folder):
            nearest = folder
        if os.path.exists(os.path.join(folder, ".git")):
            return Place(nearest, folder) if nearest else None
    # outside of a repository only two folders count, each as its own root: a folder above may belong to another user
    alone = next((folder for folder in (first, here) if _has(folder) and is_within(first, folder)), None)
    return Place(alone, alone) if alone is not None else None


def _has(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, NAME))


def _start(paths: Sequence[str], here: str) -> str:
    path = next((path for path in paths if path and path != "-" and "\0" not in path), "")
    if not path:
        return here
    real = os.path.realpath(path)
    return real if os.path.isdir(real) else os.path.dirname(real)


class Match(NamedTuple):
    """A file or folder that a pattern matches, absolute, and the place of the pattern: file and line, and key."""

    path: str
    origin: str
    key: str


class PatternError(Exception):
    """A pattern that can't be used; the text is the end of a sentence."""


def expand_pattern(place: Place, text: str) -> list[str]:
    """Paths that a pattern matches, absolute and in order. Costs a listing of each folder on the way. Raises: PatternError."""
    pattern = text.removesuffix("/**").rstrip("/")
    if "**" in pattern:
        raise PatternError("must have ** only at its end: a folder means everything below it")
    whole = os.path.normpath(os.path.join(place.folder, pattern))
    outside = "\0" in text or os.path.isabs(text) or not is_within(whole, place.root)
    found = [] if outside else [*match_parts(place.folder, os.path.relpath(whole, place.folder).split("/"))]
    if outside or any(not is_within(os.path.realpath(path), place.root) for path in found):
        raise PatternError("must be a path in the repository, relative to this file")
    if not found:
        raise PatternError("must match a file or folder")
    return [os.path.normpath(path) for path in found]


def find_owners(name: str, owners: Mapping[str, Iterable[int]]) -> list[int]:
    """The owners of a file or rendered text, by the paths that they own: of itself and of each folder above it, ascending."""
    for prefix in _RENDERED:
        name = name.removeprefix(prefix)
    if "\0" in name:
        return []
    written = os.path.abspath(name)
    return _above(written, owners) or _above(os.path.realpath(written), owners)


def _above(path: str, owners: Mapping[str, Iterable[int]]) -> list[int]:
    return sorted({owner for folder in folders_above(path) for owner in owners.get(folder, ())})


def own(patterns: Iterable[tuple[int, Iterable[Match]]]) -> dict[str, list[int]]:
    """The owners of each path, by number."""
    owners: dict[str, list[int]] = {}
    for number, matches in patterns:
        for match in matches:
            owners.setdefault(match.path, []).append(number)
    return owners
