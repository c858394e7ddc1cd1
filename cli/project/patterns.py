"""Paths of a project file with `*` and `?` in names; a folder means everything below it. Each must match something that exists."""

# ruff: noqa: PTH100, PTH117, PTH118 - pathlib takes longer to import than a small file takes to check

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ..files.find import match_parts
from ..files.read import folders_above, is_within
from .discover import Place

_RENDERED: Final = ("kustomize:", "helm:")  # before the folder that a text was rendered from


class Match(NamedTuple):
    """A file or folder that a pattern matches, absolute, and the place of the pattern: file and line, and key."""

    path: str
    origin: str
    key: str


class PatternError(Exception):
    """A pattern that can't be used; the text is the end of a sentence."""


def expand_pattern(place: Place, text: str) -> list[str]:
    """The files and folders that a pattern matches, absolute and in order. Costs a listing of each folder on the way, and no more.

    Raises: PatternError.
    """
    pattern = text.removesuffix("/**").rstrip("/")
    if "**" in pattern:
        raise PatternError("must hold ** at its end alone: a folder means everything below it")
    whole = os.path.normpath(os.path.join(place.folder, pattern))
    outside = "\0" in text or os.path.isabs(text) or not is_within(whole, place.root)
    found = [] if outside else [*match_parts(place.folder, os.path.relpath(whole, place.folder).split("/"))]
    if outside or any(not is_within(os.path.realpath(path), place.root) for path in found):
        raise PatternError("must be a path in the repository, relative to this file")
    if not found:
        raise PatternError("must match a file or folder")
    return [os.path.normpath(path) for path in found]


def find_owners(name: str, owners: Mapping[str, Iterable[int]]) -> list[int]:
    """The owners of a file or rendered text, by the paths that they own: of itself and of each folder above it, ascending.

    A path counts as it is written; where no owner is found, without its links.
    """
    for prefix in _RENDERED:
        name = name.removeprefix(prefix)
    if "\0" in name:
        return []
    written = os.path.abspath(name)
    found = _above(written, owners)
    return found or _above(os.path.realpath(written), owners)


def _above(path: str, owners: Mapping[str, Iterable[int]]) -> list[int]:
    return sorted({owner for folder in folders_above(path) for owner in owners.get(folder, ())})


def own(patterns: Iterable[tuple[int, Iterable[Match]]]) -> dict[str, list[int]]:
    """The owners of each path, by number."""
    owners: dict[str, list[int]] = {}
    for number, matches in patterns:
        for match in matches:
            owners.setdefault(match.path, []).append(number)
    return owners
