"""Reads a text of YAML or JSON into documents: plain data, with a look-up of positions beside it. Files and folders are read elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

from ...api.paths import Path
from . import block_text
from .build import Builder
from .errors import InputError
from .positions import Extent, Position, SpanTree, begin_of, find_deepest, find_path

__all__ = ["Document", "InputError", "Position", "Source", "load_documents", "read_text", "split_chunks"]

_MARKER: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
# what counts as the end of a line for YAML 1.1, so that our line numbers are the parser's
_LINE_END: Final = re.compile("\r\n|[\n\r\u0085\u2028\u2029]")
_HEAD: Final = re.compile(r"(?:[ \t]*(?:[#%].*)?\r?\n)*", re.MULTILINE)
_IN_BRACES: Final = r"[\[{,:]\s*(\$\{\w+\})"
_TEMPLATE: Final = r"\{\{-?\s*[.$a-zA-Z(/]"  # compiled only after an error: start-up time counts


class Source:
    """A text with its name, as reports show it."""

    def __init__(self, name: str, text: str) -> None:
        """`name` is what reports call it: a path as given, or - for standard input."""
        self.name = name
        self.text = text
        self._words: dict[str, bool] = {}

    def holds(self, word: str) -> bool:
        """Whether the text holds a word: looked for once, because a text may hold thousands of objects that ask."""
        held = self._words.get(word)
        if held is None:
            held = self._words[word] = word in self.text
        return held

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return _LINE_END.split(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Offsets at which lines begin."""
        return [0, *(end.end() for end in _LINE_END.finditer(self.text))]


class Document:
    """One document of a text: `data` is plain (dict, list, str, int, float, bool, None), positions are asked for by path."""

    __slots__ = ("_known", "_offset", "_tree", "data", "source")

    def __init__(self, data: Any, source: Source, spans: SpanTree | str, offset: int, known: dict[Path, Position] | None = None) -> None:
        """Made by `read`; `offset` is the line, from 0, where the chunk of text begins that the document was read from.

        `spans` may be that chunk, which is then read for places when the first is asked for that isn't `known`: those of values.
        """
        self.data = data
        self.source = source
        self._tree = spans
        self._offset = offset
        self._known = known or {}

    @property
    def _spans(self) -> SpanTree:
        if isinstance(self._tree, str):
            builder = Builder(self._offset)
            feed(self._tree, builder)
            self._tree = builder.finished[0][1]
        return self._tree

    def position(self, path: Path) -> Position:
        """The position of the key of the deepest existing part of the path; for a list item, of its first token."""
        position = self._known.get(path) if not path else None
        return position or begin_of(find_deepest(self._spans, path)[1], self._offset)

    def value_position(self, path: Path) -> Position:
        """The position of the value if the whole path exists and the value is on one line; else the same as `position`."""
        if (known := self._known.get(path)) is not None:
            return known
        spans, span, whole = find_deepest(self._spans, path)
        start, end = spans.span
        written = spans.fields is None and spans.items is None and start.line == end.line and end.column > start.column
        return begin_of(spans.span if whole and written else span, self._offset)

    def extent(self, path: Path) -> Extent:
        """The key of the deepest existing part of the path with its value; the end of a block is where the text after it begins."""
        spans, (start, _), _ = find_deepest(self._spans, path)
        end, first = spans.span.end, self._offset + 1
        return Extent(start.line + first, start.column + 1, end.line + first, end.column + 1)

    def path_at(self, line: int, column: int) -> Path | None:
        """The path at a line and column of the file; None before the document begins."""
        return find_path(self._spans, line - 1 - self._offset, column - 1)

    def item(self, path: Path) -> Document:
        """The value at an existing path as a document of its own: an object inside a List."""
        data, spans = self.data, self._spans
        for step in path:
            data = data[step]
            spans = (spans.items or [])[step] if isinstance(step, int) else (spans.fields or {})[step][1]
        return Document(data, self.source, spans, self._offset)


def load_documents(text: str, name: str = "-") -> list[Document]:
    """Reads every document of a text; empty ones are left out. Raises: InputError for the first that can't be read."""
    documents: list[Document] = []
    for document in read_text(Source(name, text)):
        if isinstance(document, InputError):
            raise document
        documents.append(document)
    return documents


def read_text(source: Source) -> Iterator[Document | InputError]:
    """Reads a text document by document; one that can't be read is an error in its place, and the others are read all the same."""
    text = source.text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        before = _LINE_END.split(text[: error.start])
        wrong = InputError("must be Unicode text, found half of a surrogate pair", "", len(before), len(before[-1]) + 1)
        yield _placed(wrong, source)
        return
    for chunk, offset in split_chunks(text):
        if (quick := block_text.read(chunk)) is not None:
            yield Document(quick.data, source, chunk, offset, _known(quick, offset))
            continue
        builder, broken = Builder(offset), None
        try:
            feed(chunk, builder)
        except InputError as error:
            broken = _placed(error, source)
        for data, spans in builder.finished:
            if data is not None:
                yield Document(data, source, spans, offset)
        if broken is not None:
            yield broken


def _known(quick: block_text.QuickDocument, offset: int) -> dict[Path, Position]:
    """The places that every report asks for: where a document begins, and its name."""
    known: dict[Path, Position] = {(): Position(offset + quick.line + 1, 1, 2)}
    if quick.name is not None:
        line, start, end = quick.name
        known["metadata", "name"] = Position(offset + line + 1, start + 1, max(end, start + 1) + 1)
    return known


def feed(chunk: str, builder: Builder) -> bool:
    """Feeds a chunk's values to the builder, and returns whether it is JSON. Raises: InputError with line and column in the file."""
    if chunk.lstrip()[:1] in ("{", "["):
        from . import json_text

        try:
            json_text.feed(chunk, builder)
        except json_text.JsonSyntaxError:
            # a brace begins a map in YAML too; what the YAML parser says of broken JSON is as good
            builder.restart()
        else:
            return True
    from . import yaml_text

    yaml_text.feed(chunk, builder)
    return False


def split_chunks(text: str) -> Iterator[tuple[str, int]]:
    """Splits at the `---` lines, as kubectl does, so that a broken document leaves its neighbours readable; each with its line, from 0."""
    line, before = 0, ""
    for chunk in _pieces(text):
        line += len(_LINE_END.findall(before))
        before = chunk
        if chunk.strip():
            yield chunk, line


def _pieces(text: str) -> Iterator[str]:
    """The stretches of a text between its `---` lines, each with the line that it begins with; joined again they are the text."""
    marked = _MARKER.finditer(text) if "\n---" in text else ()
    begin = 0
    for end in (*(match.start() for match in marked if match.start()), len(text)):
        piece = text[begin:end]
        if end < len(text) and "%" in piece and _HEAD.fullmatch(piece):
            continue  # directives belong to the document behind the marker
        yield piece
        begin = end


def _placed(error: InputError, source: Source) -> InputError:
    error.name = source.name
    line = source.lines[min(error.line, len(source.lines)) - 1] if error.line else ""
    if re.search(_TEMPLATE, line):
        error.text += "; this looks like a template: render it first"
    elif "must be closed" in error.text and (match := re.search(_IN_BRACES, line)):
        error.text += f"; put {match[1]} in quotes inside of braces and brackets"
    return error


class Piece(NamedTuple):
    """A part of a text: its documents, and its layout."""

    text: str
    documents: list[Document]
    errors: list[InputError]
    line: int  # where it begins in the file, from 1


def split_documents(name: str, text: str) -> Iterator[Piece]:
    """The parts of a text with their documents, so that others stay byte for byte when one is rewritten."""
    line = 1
    for part in _pieces(text):
        documents = list(read_text(Source(name, part))) if part.strip() else []
        errors = [document for document in documents if isinstance(document, InputError)]
        for error in errors:
            error.line += line - 1 if error.line else 0
        yield Piece(part, [document for document in documents if isinstance(document, Document)], errors, line)
        line += part.count("\n")
