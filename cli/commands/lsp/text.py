"""A text of the editor, between the protocol's lines and columns and ours. The protocol counts units of UTF-16, unless both agree."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.workspace import TextDocument

from ...rewrite.unified_diff import find_changes
from ...yaml.load import Source
from ...yaml.positions import Extent

_LINE_END: Final = re.compile("\r\n|[\n\r]")  # of the protocol; YAML 1.1 has more


class Text:
    """A text of the editor: translates between its lines and columns, in the protocol's units, and ours: YAML's lines, and characters."""

    def __init__(self, document: TextDocument) -> None:
        self.version = document.version
        self.source = Source(unquote(urlsplit(document.uri).path) or document.uri, document.source)
        self._codec = document.position_codec
        self._counted = (-1, 0)  # the last offset that was asked for, and its units from its line's beginning

    @cached_property
    def _starts(self) -> list[int]:
        """Where in the text each line of the protocol begins."""
        return [0, *(end.end() for end in _LINE_END.finditer(self.source.text))]

    def edits(self, text: str) -> list[types.TextEdit]:
        """What makes this text another one: only what differs, so that the cursor and folds stay."""
        changes = find_changes(self.source.text, text)
        return [types.TextEdit(types.Range(self._position(one.start), self._position(one.end)), one.text) for one in changes]

    def range(self, line: int, column: int, end: int) -> types.Range:
        """A span on one of our lines, at least one character wide."""
        found = self.span(Extent(line, column, line, end))
        first, last = found.start, found.end
        return types.Range(first, last if last != first else types.Position(first.line, first.character + 1))

    def span(self, extent: Extent) -> types.Range:
        """A stretch of lines."""
        line, column, end_line, end_column = extent
        start = self._offset(self.source.starts, line - 1, column - 1)
        end = max(self._offset(self.source.starts, end_line - 1, end_column - 1), start)
        return types.Range(self._position(start), self._position(end))

    def place(self, position: types.Position) -> tuple[int, int]:
        """A position as line and column from 1."""
        at = self._offset(self._starts, position.line, 0)
        behind = _LINE_END.search(self.source.text, at)
        text = self.source.text[at : behind.start() if behind else None]
        at += self._characters(text, position.character)
        starts = self.source.starts
        line = bisect_right(starts, at) - 1
        return line + 1, at - starts[line] + 1

    def _offset(self, starts: list[int], line: int, column: int) -> int:
        return min(starts[line] + column, len(self.source.text)) if line < len(starts) else len(self.source.text)

    def _position(self, offset: int) -> types.Position:
        line = bisect_right(self._starts, offset) - 1
        begin, units = self._starts[line], 0
        if begin <= self._counted[0] <= offset:  # findings come in order, and a line may be long
            begin, units = self._counted
        units += self._units(self.source.text[begin:offset])
        self._counted = (offset, units)
        return types.Position(line, units)

    def _units(self, text: str) -> int:
        return len(text) if text.isascii() else self._codec.client_num_units(text)

    def _characters(self, text: str, units: int) -> int:
        if text.isascii() or units >= self._units(text):
            return min(units, len(text))
        return int(self._codec.position_from_client_units([text], types.Position(0, units)).character)
