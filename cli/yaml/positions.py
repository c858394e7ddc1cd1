"""Positions in a text: marks, the tree of positions beside the data, and look-ups in it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...api.paths import Path


class Mark(Protocol):
    """A place in a chunk of text, both numbers from 0; PyYAML's own marks are such."""

    @property
    def line(self) -> int:
        """The line from 0."""

    @property
    def column(self) -> int:
        """The column from 0, in characters."""


class Position(NamedTuple):
    """A span on one line of a file; line and columns count from 1 in characters, `end_column` is the first column behind the span."""

    line: int
    column: int
    end_column: int


class Extent(NamedTuple):
    """From one place of a file to another; lines and columns count from 1 in characters, the end is behind the last one."""

    line: int
    column: int
    end_line: int
    end_column: int


class Span(NamedTuple):
    """From one mark to another; the end of a block is where the text after it begins."""

    start: Mark
    end: Mark


class Place(NamedTuple):
    """One value's place and its children's: by key with the key's own span, by index, or none for a scalar."""

    span: Span
    fields: dict[str, tuple[Span, Place]] | None = None
    items: list[Place] | None = None


def key_position(root: Place, path: Path, offset: int) -> Position:
    """The key's position of the deepest existing part of a path; a list item's first token. `offset` is the line where the chunk begins."""
    _, span, _ = _deepest(root, path)
    return _position(span, offset)


def value_position(root: Place, path: Path, offset: int) -> Position:
    """The value's position where the whole path exists and the value is written out on one line; else what `key_position` says."""
    place, span, whole = _deepest(root, path)
    scalar = place.fields is None and place.items is None
    start, end = place.span
    written = scalar and start.line == end.line and end.column > start.column
    return _position(place.span if whole and written else span, offset)


def extent(root: Place, path: Path, offset: int) -> Extent:
    """From the key of the deepest existing part of a path, or a list item's first token, to the end of its value."""
    place, span, _ = _deepest(root, path)
    return Extent(span.start.line + offset + 1, span.start.column + 1, place.span.end.line + offset + 1, place.span.end.column + 1)


def path_at(root: Place, line: int, column: int) -> Path | None:
    """The path at a position of a chunk, both numbers from 0; None before its first value. Costs the siblings along the path."""
    at, place, path = (line, column), root, list[str | int]()
    if _begin(root.span) > at:
        return None
    while True:
        steps: list[tuple[str | int, Span, Place]] = [(key, *found) for key, found in (place.fields or {}).items()]
        steps += [(index, item.span, item) for index, item in enumerate(place.items or ())]
        before = [step for step in steps if _begin(step[1]) <= at]
        if not before:
            return tuple(path)
        step, span, place = max(before, key=lambda one: _begin(one[1]))
        path.append(step)
        if isinstance(step, str) and at <= (span.end.line, span.end.column):
            return tuple(path)


def _begin(span: Span) -> tuple[int, int]:
    return span.start.line, span.start.column


def _deepest(root: Place, path: Path) -> tuple[Place, Span, bool]:
    place, span = root, root.span
    for step in path:
        if isinstance(step, int):
            if place.items is None or not 0 <= step < len(place.items):
                return place, span, False
            place = place.items[step]
            span = place.span
        else:
            found = None if place.fields is None else place.fields.get(step)
            if found is None:
                return place, span, False
            span, place = found
    return place, span, True


def _position(span: Span, offset: int) -> Position:
    start, end = span
    width = end.column - start.column if end.line == start.line else 0
    return Position(start.line + offset + 1, start.column + 1, start.column + 1 + max(width, 1))
