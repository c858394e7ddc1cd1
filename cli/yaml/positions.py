"""Positions in a text: marks, the tree of positions beside the data, and look-ups in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...api.paths import Path

if TYPE_CHECKING:
    import yaml

Mark: TypeAlias = "Point | yaml.Mark"  # a place in a chunk of text, both numbers from 0, the column in characters


class Point(NamedTuple):
    """A mark without PyYAML."""

    line: int
    column: int


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


class SpanTree(NamedTuple):
    """The spans of one value and of its children: by key with the key's own span, by index, or none for a scalar."""

    span: Span
    fields: dict[str, tuple[Span, SpanTree]] | None = None
    items: list[SpanTree] | None = None


def find_path(root: SpanTree, line: int, column: int) -> Path | None:
    """The path at a position of a chunk, both numbers from 0; None before its first value. Costs the siblings along the path."""
    at, spans, path = (line, column), root, list[str | int]()
    if _begin(root.span) > at:
        return None
    while True:
        steps: list[tuple[str | int, Span, SpanTree]] = [(key, *field) for key, field in (spans.fields or {}).items()]
        steps += [(index, item.span, item) for index, item in enumerate(spans.items or ())]
        before = [step for step in steps if _begin(step[1]) <= at]
        if not before:
            return tuple(path)
        step, span, spans = max(before, key=lambda candidate: _begin(candidate[1]))
        path.append(step)
        if isinstance(step, str) and at <= (span.end.line, span.end.column):
            return tuple(path)


def _begin(span: Span) -> tuple[int, int]:
    return span.start.line, span.start.column


def find_deepest(root: SpanTree, path: Path) -> tuple[SpanTree, Span, bool]:
    """The deepest existing part of a path: its spans, its key's span (a list item's own), and whether it is the whole path."""
    spans, span = root, root.span
    for step in path:
        if isinstance(step, int):
            if spans.items is None or not 0 <= step < len(spans.items):
                return spans, span, False
            spans = spans.items[step]
            span = spans.span
        else:
            field = None if spans.fields is None else spans.fields.get(step)
            if field is None:
                return spans, span, False
            span, spans = field
    return spans, span, True


def begin_of(span: Span, offset: int) -> Position:
    """The part of a span on its first line; `offset` is the line, from 0, where the chunk begins."""
    start, end = span
    width = end.column - start.column if end.line == start.line else 0
    return Position(start.line + offset + 1, start.column + 1, start.column + 1 + max(width, 1))
