"""Writes maps and lists by indentation: copies unchanged entries with their comments, and formats new ones like their neighbours."""

import re
from collections.abc import Callable
from typing import Any, Final

from ...api.paths import Path
from .align import Sources
from .build import UnsureError
from .comments import Beside
from .emit import emit_yaml, key_text, scalar_lines
from .flow import Flow, Style
from .tree import Entry, Form, Node, is_same_json, line_end, line_start, shift_line

Reader = Callable[[str], Any]
DASH: Final = "-"
_ANCHOR: Final = re.compile(r"&[^\s,\[\]{}]+")


class Block:
    """Writes one document."""

    def __init__(self, text: str, style: Style, sources: Sources, reader: Reader | None = None) -> None:
        """`sources` knows where a value comes from; a `reader` reads each entry back, and one that says another value is written anew."""
        self._text = text
        self._style = style
        self._sources = sources
        self._reader = reader
        self._flow = Flow(text, style, sources)
        self._beside = Beside(text, sources)

    def children(self, value: Any, path: Path, column: int) -> list[str]:
        """The lines of a map or list that isn't empty, its keys or dashes in a column."""
        lines: list[str] = []
        if isinstance(value, list):
            for index, item in enumerate(value):
                lines += self._checked(None, item, (*path, index), column)
            return lines
        for key in self._sources.order(value, path):
            lines += self._checked(key, value[key], (*path, key), column)
        return lines

    def _checked(self, key: str | None, value: Any, path: Path, column: int) -> list[str]:
        lines = self._member(key, value, path, column)
        wanted = [value] if key is None else {key: value}
        if self._reader is None or is_same_json(self._reader("\n".join(lines)), wanted):
            return lines
        return [shift_line(line, column) for line in emit_yaml(wanted).removesuffix("\n").split("\n")]

    def _member(self, key: str | None, value: Any, path: Path, column: int) -> list[str]:
        """The lines of one entry with the comments that belong to it."""
        source = self._sources.find(path)
        if source is None:
            return self._new(key, value, path, column)
        node = self._sources.node_of(source)
        lead = self._beside.above(source, column)
        if self._sources.copies(node, value):
            lines = self._copied(key, source, node, column)
        elif isinstance(value, (dict, list)) and value and not (node.form is Form.FLOW and node.data):
            lines = self._nested(key, value, path, column, source, node)
        else:
            lead += self._beside.inside(source, node, key, column) if node.form is Form.BLOCK else []
            lines = self._inline(key, value, path, column, source, node)
        return [*lead, *self._beside.waiting(source, column), *lines]

    def _prefix(self, key: str | None, source: Entry | None, column: int) -> str:
        """The dash, or the key with its colon, as it was written where it is the same."""
        if key is None:
            return " " * column + DASH
        written = source is not None and source.key == key and source.last
        return " " * column + (self._text[source.start : source.mark] if source is not None and written else key_text(key) + ":")

    def _new(self, key: str | None, value: Any, path: Path, column: int) -> list[str]:
        prefix = self._prefix(key, None, column)
        if isinstance(value, (dict, list)) and value:
            return _joined(prefix, "", self.children(value, path, self._column(key, value, column)), column)
        return _scalar(prefix, value, "", column)

    def _column(self, key: str | None, value: Any, column: int) -> int:
        """Where a new block below an entry begins."""
        if key is None:
            return column + 2
        return column + (self._style.dash if isinstance(value, list) else self._style.step)

    def _column_like(self, key: str | None, source: Entry, node: Node, column: int, value: Any) -> int:
        """Where a block below an entry begins: as far to the right as it was, where it was the same kind of block."""
        was = node.column - source.column
        alike = node is source.node and (source.key is None) is (key is None) and isinstance(value, dict) is isinstance(node.data, dict)
        if alike and node.form is Form.BLOCK and (was > 0 or (key is not None and isinstance(value, list))):
            return column + was
        return self._column(key, value, column)

    def _copied(self, key: str | None, source: Entry, node: Node, column: int) -> list[str]:
        """An entry whose value is unchanged, with all comments in it."""
        own = node is source.node and source.last > 0
        if own and source.key == key:
            self._beside.told(source)
            first, *more = self._text[source.start : source.last].split("\n")
            return [" " * column + first, *(shift_line(line, column - source.column) for line in more)]
        prefix = self._prefix(key, source, column)
        if node.form is Form.BLOCK:
            to = self._column_like(key, source, node, column, node.data)
            below = self._block_of(source, node, to)
            behind = self._beside.behind(source, node, key)
            self._beside.told(source)
            return _joined(prefix, behind, below, column)
        behind = "" if own else self._beside.behind(source, node, key)
        self._beside.told(source)
        first, *more = self._text[node.start : max(source.last, line_end(self._text, node.end)) if own else node.end].split("\n")
        gap = self._gap(source, node) if key is not None else " "
        behind = "" if more else behind
        return [prefix + (gap + first if first else "") + behind, *(shift_line(line, column - source.column) for line in more)]

    def _gap(self, source: Entry, node: Node) -> str:
        """The blanks between a colon and its value."""
        gap = self._text[source.mark : node.start] if node is source.node else ""
        return gap if gap and not gap.strip(" ") else " "

    def _block_of(self, source: Entry, node: Node, column: int) -> list[str]:
        """The lines of a node's block, moved to a column."""
        first = node.entries[0]
        start = line_start(self._text, first.start)
        lead = self._text[first.first : start - 1].split("\n") if first.first < start else []
        opening, *more = self._text[first.start : source.last if node is source.node else node.entries[-1].last].split("\n")
        columns = column - node.column
        return [*(shift_line(line, columns) for line in lead), " " * column + opening, *(shift_line(line, columns) for line in more)]

    def _nested(self, key: str | None, value: Any, path: Path, column: int, source: Entry, node: Node) -> list[str]:
        """A map or list that has changed somewhere inside. Raises: UnsureError for a merge key that would have to be written out."""
        if self._sources.trusts_aliases and len(node.by_key) > len(node.entries):
            raise UnsureError
        to = self._column_like(key, source, node, column, value)
        anchor = self._anchor(node) if key is None else ""  # after a key it is part of the entry's line
        behind = anchor + self._beside.behind(source, node, key)
        below = self.children(value, path, to)
        moved = to - node.column if node.form is Form.BLOCK else column - source.column
        prefix = self._prefix(key, source, column)
        lines = [prefix + behind, *below] if anchor else _joined(prefix, behind, below, column)
        return [*lines, *self._beside.below(source, node, moved)]

    def _anchor(self, node: Node) -> str:
        """The anchor of a value behind a blank; "" where it has none, or aliases are written out."""
        found = _ANCHOR.match(self._text, node.start, node.end) if self._sources.keeps_aliases else None
        return f" {found[0]}" if found else ""

    def _inline(self, key: str | None, value: Any, path: Path, column: int, source: Entry, node: Node) -> list[str]:
        """A value on the line of its key: a changed scalar, or a map or list in brackets."""
        prefix = self._prefix(key, source, column)
        behind = self._beside.behind(source, node, key)
        tail = self._beside.below(source, node, column - source.column)
        anchor = self._anchor(node)
        if isinstance(value, (dict, list)) and value:
            text = self._flow.written(value, path, node, " " * column)
            return [*(prefix + anchor + " " + text + behind).split("\n"), *tail]
        prefix += anchor
        scalar = node.form is Form.SCALAR
        like = self._text[node.start : node.end] if scalar else ""
        return [*_scalar(prefix, value, behind, column, like, self._gap(source, node) if scalar else " "), *tail]


def _scalar(prefix: str, value: Any, behind: str, column: int, like: str = "", gap: str = " ") -> list[str]:
    first, *more = scalar_lines(value, like)
    return [prefix + gap + first + ("" if more else behind), *(shift_line(line, column) for line in more)]


def _joined(prefix: str, behind: str, below: list[str], column: int) -> list[str]:
    """An entry's first line and the lines of its block; the first key of a list item is on the line of the dash."""
    if prefix.strip(" ") != DASH:
        return [prefix + behind, *below]
    opening = next(index for index, line in enumerate(below) if line.strip() and not line.lstrip().startswith("#"))
    first = below[opening]
    indent = len(first) - len(first.lstrip(" "))
    joined = prefix + " " * max(indent - column - 1, 1) + first.lstrip(" ")
    above = [shift_line(line, column - indent) for line in below[:opening]]
    if behind.strip() and " #" not in joined and not joined.endswith(("|", ">", "-", "+")):
        joined += behind
    elif behind.strip():
        above.append(" " * column + behind.strip())
    return [*above, joined, *below[opening + 1 :]]
