"""Builds the tree of a text from the reader's positions. tree.py assigns comments to entries."""

import re
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..yaml.build import Builder
from ..yaml.load import feed
from ..yaml.positions import Mark, Span, SpanTree
from .tree import Form, TextEntry, TextNode, assign, find_line_start, resolve_alias

# what ends a line for the parser: it counts lines and columns so
_LINE_END: Final = re.compile("\r\n|[\n\r\u0085\u2028\u2029]")
_BLANK: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|(?<![^\s\ufeff])#[^\n]*)*")
_PROPERTY: Final = re.compile(r"[&!][^\s,\[\]{}]*")
_ALIAS: Final = re.compile(r"\*[^\s,\[\]{}]+")
_LINES_BELOW: Final = re.compile(r"(?:\n[ \t\r]*)+\Z")
_ONLY_COMMENTS: Final = re.compile(r"[ \t\r]*(?:#[^\n]*)?(?:\n[ \t\r]*(?:#[^\n]*)?)*")


class UnsureError(Exception):
    """The text is written in a way that this package does not take apart."""


class ParsedText(NamedTuple):
    """A text read: the values of its documents, their trees' sources, and whether it is JSON."""

    values: list[Any]
    span_trees: list[SpanTree]
    is_json: bool


def parse(text: str) -> ParsedText:
    """Reads a piece of text as cli/yaml/load.py does. Raises: InputError when it can't be read."""
    builder = Builder()
    is_json = feed(text, builder)
    documents = [(data, spans) for data, spans in builder.finished if data is not None]
    return ParsedText([data for data, _ in documents], [spans for _, spans in documents], is_json)


def build_trees(text: str, parsed: ParsedText) -> list[TextEntry]:
    """The tree of each document, below an entry without a key. Raises: UnsureError when the text is written in an odd way."""
    return [_Trees(text, is_json=parsed.is_json).root(data, spans) for data, spans in zip(parsed.values, parsed.span_trees, strict=True)]


class _Trees:
    def __init__(self, text: str, *, is_json: bool) -> None:
        self._text = text
        self._json = is_json
        self._starts = [0, *(match.end() for match in (re.finditer("\n", text) if is_json else _LINE_END.finditer(text)))]
        self._entries: dict[int, TextEntry] = {}  # by the identity of places: an alias has its anchor's
        self._nodes: dict[int, TextNode] = {}

    def root(self, data: Any, spans: SpanTree) -> TextEntry:
        node = self._node(data, spans, 0, flow=False)
        entry = TextEntry(None, node, node.start, node.start)
        if node.form is Form.BLOCK and node.entries:
            assign(self._text, entry)
        return entry

    def _offset(self, mark: Mark) -> int:
        return self._starts[min(mark.line, len(self._starts) - 1)] + mark.column

    def _skip(self, offset: int) -> int:
        match = _BLANK.match(self._text, offset)
        return match.end() if match else offset

    def _node(self, data: Any, spans: SpanTree, floor: int, *, flow: bool) -> TextNode:
        """The node of a place; `floor` is where its text can begin at the earliest."""
        start = self._offset(spans.span.start)
        if start < floor or id(spans) in self._nodes:
            return self._alias(data, floor, self._nodes.get(id(spans)))
        end = self._offset(spans.span.end)
        content, anchored = self._properties(start, end)
        scalar = spans.fields is None and spans.items is None
        if scalar and self._text.startswith("*", start) and not self._json:
            return TextNode(data, Form.ALIAS, start, end, local=False)
        if scalar:
            return TextNode(data, Form.SCALAR, start, self._trimmed(content, start, end), local=not anchored)
        node = TextNode(data, Form.FLOW if self._text[content : content + 1] in ("{", "[") else Form.BLOCK, start, end, local=not anchored)
        self._nodes[id(spans)] = node
        if node.form is Form.FLOW:
            self._flow(node, spans, content + 1)
        elif flow:
            node.known = False  # a map of one key without braces, inside of a list in brackets
            node.form = Form.FLOW
        else:
            self._block(node, spans, content)
        node.local = node.local and node.known and all(entry.node.local for entry in node.entries)
        return node

    def _alias(self, data: Any, floor: int, target: TextNode | None) -> TextNode:
        start = self._skip(floor)
        match = _ALIAS.match(self._text, start)
        if match is None:
            raise UnsureError
        return TextNode(data, Form.ALIAS, start, match.end(), local=False, stands_for=target)

    def _properties(self, start: int, end: int) -> tuple[int, bool]:
        """Finds where the value itself begins behind its anchor and tag, and whether it has an anchor."""
        anchored = False
        while not self._json and start < end and (match := _PROPERTY.match(self._text, start)):
            anchored = anchored or match[0].startswith("&")
            start = self._skip(match.end())
        return start, anchored

    def _trimmed(self, content: int, start: int, end: int) -> int:
        """The end of a scalar; that of a block of text is the end of its last line."""
        if self._json or self._text[content : content + 1] not in ("|", ">"):
            return end
        text = self._text[start:end]
        if "+" in text.partition("\n")[0]:
            return end - text.endswith("\n")
        below = _LINES_BELOW.search(text)
        return start + (below.start() if below else len(text))

    def _keys(self, node: TextNode, fields: dict[str, tuple[Span, SpanTree]], cursor: int, *, flow: bool) -> int:
        """Adds a map's entries behind the cursor, and what merge keys bring in; returns the end of the last one."""
        begin = cursor
        for start, key in sorted((self._offset(span.start), key) for key, (span, _) in fields.items()):
            if start < begin:
                continue
            span, below = fields[key]
            mark = self._skip(self._offset(span.end))
            separated = self._between(cursor, start) if flow else _ONLY_COMMENTS.fullmatch(self._text, cursor, start)
            if self._text[mark : mark + 1] != ":" or not separated:
                node.known = False
                mark -= 1
            cursor = self._add(node, key, start, mark + 1, below, flow=flow)
        for key, (_, below) in fields.items():
            if key not in node.by_key:
                node.known = False
                entry = self._entries.get(id(below))
                if entry is not None:
                    node.by_key[key] = replace(entry, node=resolve_alias(entry.node))
        return cursor

    def _flow(self, node: TextNode, spans: SpanTree, cursor: int) -> None:
        if spans.fields is not None:
            cursor = self._keys(node, spans.fields, cursor, flow=True)
        for item, below in zip(node.data, spans.items or [], strict=spans.items is not None):
            cursor = self._skip(cursor)
            cursor = self._skip(cursor + 1) if self._text[cursor : cursor + 1] == "," else cursor
            cursor = self._add(node, None, cursor, cursor, below, flow=True, data=item)

    def _between(self, start: int, end: int) -> bool:
        """Whether only a comma and blanks separate two entries in braces."""
        return not re.sub(r"(?<!\S)#[^\n]*", "", self._text[start:end]).strip(" \t\r\n,")

    def _block(self, node: TextNode, spans: SpanTree, content: int) -> None:
        node.column = content - find_line_start(self._text, content)
        cursor = content
        if spans.fields is not None:
            cursor = self._keys(node, spans.fields, cursor, flow=False)
        for item, below in zip(node.data, spans.items or [], strict=spans.items is not None):
            start = self._skip(cursor)
            if self._text[start : start + 1] != "-":
                raise UnsureError
            cursor = self._add(node, None, start, start + 1, below, data=item)
        end = self._offset(spans.span.end)  # behind comments, which match everywhere
        node.known = node.known and (cursor >= end or _ONLY_COMMENTS.match(self._text, cursor, end).end() >= end)  # type: ignore[union-attr]
        node.end = cursor
        if not node.entries:  # nothing but merge keys
            node.form = Form.ALIAS
            node.end = node.start + len(self._text[node.start : end].rstrip())

    def _add(self, node: TextNode, key: str | None, start: int, mark: int, spans: SpanTree, *, flow: bool = False, data: Any = None) -> int:
        child = self._node(data if key is None else node.data[key], spans, mark, flow=flow)
        if child.start < mark:
            raise UnsureError
        entry = TextEntry(key, child, start, mark, node.column)
        self._entries.setdefault(id(spans), entry)
        node.entries.append(entry)
        if key is not None:
            node.by_key[key] = entry
        return child.end
