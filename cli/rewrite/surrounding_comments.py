"""The comments around an entry: above it, beside it and below it. Each is written once, wherever its entry goes."""

import re
from typing import Final

from .align import Sources
from .comments import comments_within
from .lines import line_end, line_start, shift_line
from .tree import Entry, Form, Node

_PROPERTIES: Final = re.compile(r"[ \t]*(?:[&!][^\s#]*[ \t]*)+")
_COMMENT: Final = re.compile(r"[ \t]+#.*")


class Beside:
    """Looks comments up in the text of one document."""

    def __init__(self, text: str, sources: Sources) -> None:
        """`sources` remembers which comments have been written."""
        self._text = text
        self._sources = sources
        self._waiting: dict[int, str] = {}

    def told(self, entry: Entry) -> None:
        """Remembers that an entry is written with all that is beside and below it."""
        self._sources.first_use(entry, "behind")
        self._sources.first_use(entry, "below")

    def above(self, entry: Entry, column: int) -> list[str]:
        """Comments and blank lines above an entry, and those of entries around it that are nothing any more."""
        lines: list[str] = []
        for one in self._sources.around(entry) if entry.last else ():
            start = line_start(self._text, one.start)
            if one.first < start and self._sources.first_use(one, "above"):
                lines += [shift_line(line, column - one.column) for line in self._text[one.first : start - 1].split("\n")]
            comment = self._head_comment(one) if one is not entry and self._sources.first_use(one, "behind") else ""
            if comment and not self._head_comment(entry) and entry.start not in self._waiting:
                self._waiting[entry.start] = comment
            elif comment:
                lines.append(" " * column + comment.strip())
        return lines

    def _head_comment(self, entry: Entry) -> str:
        """The comment on the line of an entry whose block begins on the next."""
        end = line_end(self._text, entry.mark)
        found = _COMMENT.search(self._text[entry.mark : end if not entry.node.entries else min(end, entry.node.entries[0].start)])
        return found[0] if found else ""

    def waiting(self, entry: Entry, column: int) -> list[str]:
        """A comment that belongs after an entry and was not written there."""
        comment = self._waiting.pop(entry.start, "")
        return [" " * column + comment.strip()] if comment else []

    def behind(self, entry: Entry, node: Node, key: str | None) -> str:
        """The rest of an entry's line after its colon or dash, except its value: a comment, a tag or an anchor."""
        if not entry.last or not self._sources.first_use(entry, "behind"):
            return ""
        found = self._own(entry, node, key)
        return found if "#" in found else found + self._waiting.pop(entry.start, "")

    def _own(self, entry: Entry, node: Node, key: str | None) -> str:
        if node is not entry.node or node.form is not Form.BLOCK or not node.entries:
            end = entry.node.end  # the node's, or that of the alias that refers to it
            return self._text[end : line_end(self._text, end)]
        if line_start(self._text, node.entries[0].start) > entry.mark:
            return self._head(entry, key)
        named = next((below for below in node.entries if key is not None and below.node.data == key), None)
        if named is None:
            return ""
        # an item of a list becomes an entry of a map: its name was an entry of its own
        return self._text[named.node.end : line_end(self._text, named.node.end)]

    def _head(self, entry: Entry, key: str | None) -> str:
        rest = self._text[entry.mark : line_end(self._text, entry.mark)]
        found = _PROPERTIES.match(rest)
        if found is None or (self._sources.keeps_aliases and key is not None):
            return rest
        return "  " + rest[found.end() :] if rest[found.end() :].strip() else ""

    def below(self, entry: Entry, node: Node, columns: int) -> list[str]:
        """Comments behind the last entry of a block, moved by some columns, and those below entries around it that are nothing any more."""
        lines: list[str] = []
        for one in reversed(self._sources.around(entry)):
            own = node if one is entry else one.node
            if own is not one.node or not one.last or not self._sources.first_use(one, "below"):
                continue
            blocks = own.form is Form.BLOCK and own.entries
            end = own.entries[-1].last if blocks else line_end(self._text, own.end)
            if one.last > end:
                lines += [shift_line(line, columns) for line in self._text[end + 1 : one.last].split("\n")]
        return lines

    def inside(self, entry: Entry, node: Node, key: str | None, column: int) -> list[str]:
        """The comments in a block of which nothing is left but one value; a single one goes behind that."""
        found = comments_within(self._text, node)
        named = self._own(entry, node, key).strip()
        if named in found:  # it already follows the value
            found.remove(named)
        if len(found) == 1 and node is entry.node and not self._head_comment(entry) and entry.start not in self._waiting:
            self._waiting[entry.start] = "  " + found.pop()
        return [" " * column + comment for comment in found]
