"""Builds plain data and the tree of positions from a stream of parse events, without recursion and within limits."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ...api.wording import shorten
from .errors import InputError
from .positions import Mark, Span, SpanTree
from .scalars import Scalar, ScalarError, format_key

# The deepest Dynamo field has about 20 levels. All code after this reader may therefore recurse.
MAX_LEVELS: Final = 200
# Aliases are copied out, so a few lines could ask for billions of values.
MAX_ALIASED_VALUES: Final = 100_000
MERGE: Final = "<<"

Value: TypeAlias = Any  # what JSON can say
# makes a tuple of a class in half the time that the class itself takes; there are two for each value that is read
_new: Final[Any] = tuple.__new__


class _Frame:
    """A map or list that is being read; `key` is the key whose value comes next."""

    __slots__ = ("anchor", "data", "fields", "items", "key", "key_span", "merged", "merging", "start")

    def __init__(self, data: Value, start: Mark, anchor: str | None) -> None:
        self.data = data
        self.start = start
        self.anchor = anchor
        self.fields: dict[str, tuple[Span, SpanTree]] | None = {} if isinstance(data, dict) else None
        self.items: list[SpanTree] | None = None if isinstance(data, dict) else []
        self.key: str | None = None
        self.key_span: Span | None = None
        self.merging = False
        self.merged: set[str] = set()  # keys that only merge keys gave so far

    def wants_key(self) -> bool:
        """Whether a key is due, and not a value."""
        return self.fields is not None and self.key is None


class Builder:
    """Takes events in order; `finished` holds (data, spans) for each document. Duplicate keys, depth and aliases are refused here."""

    def __init__(self, offset: int = 0) -> None:
        """`offset` is the line, from 0, of the chunk in its file."""
        self._offset = offset
        self.restart()

    def restart(self) -> None:
        """Forgets everything, to read the same text another way."""
        self.finished: list[tuple[Value, SpanTree]] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Value, SpanTree]] = {}
        self._open_anchors: set[str] = set()
        self._budget = MAX_ALIASED_VALUES

    def start_document(self) -> None:
        """Forgets the anchors of the document before."""
        self._anchors.clear()
        self._open_anchors.clear()

    def open(self, data: Value, start: Mark, anchor: str | None = None) -> None:
        """Begins a map (an empty dict) or a list. Raises: InputError if it is nested too deep or used as a key."""
        if len(self._stack) >= MAX_LEVELS:
            raise self.error(start, f"must not be nested deeper than {MAX_LEVELS} levels")
        self._refuse_key(start)
        self._stack.append(_Frame(data, start, anchor))
        if anchor:
            self._open_anchors.add(anchor)

    def close(self, end: Mark) -> None:
        """Ends the innermost map or list."""
        frame = self._stack.pop()
        spans = SpanTree(Span(frame.start, end), frame.fields, frame.items)
        if frame.anchor:
            self._open_anchors.discard(frame.anchor)
        self._put(frame.data, spans, frame.anchor)

    def scalar(self, value: Scalar, start: Mark, end: Mark, anchor: str | None = None, *, merge: bool = False) -> None:
        """Adds a scalar, as a key where one is due; `merge` marks an unquoted `<<`. Raises: InputError for an unfit or duplicate key."""
        frame = self._stack[-1] if self._stack else None
        if frame is not None:
            if anchor is None and not merge and _plainly(frame, value, _new(Span, (start, end))):
                return
            if frame.wants_key():
                self._key(frame, value, Span(start, end), merge)
                if anchor:
                    self._anchors[anchor] = (value, SpanTree(Span(start, end)))
                return
        self._put(value, SpanTree(Span(start, end)), anchor)

    def alias(self, name: str, start: Mark, end: Mark) -> None:
        """Copies an anchor's value, at the anchored place. Raises: InputError for an unknown anchor, one in itself, or too many copies."""
        if name in self._open_anchors:
            raise self.error(start, f"the alias *{shorten(name, 80)} is inside its own anchor")
        anchored = self._anchors.get(name)
        if anchored is None:
            raise self.error(start, f"the alias *{shorten(name, 80)} has no anchor before it")
        data, spans = anchored
        if isinstance(data, (dict, list)):
            self._refuse_key(start)
            self._put(self._copy(data, start, len(self._stack)), spans, None)
        else:
            self.scalar(data, start, end)

    def _refuse_key(self, mark: Mark) -> None:
        """Raises: InputError where a key is due, for a map or list."""
        if self._stack and self._stack[-1].wants_key():
            raise self.error(mark, "a key must be one word or text, found a map or list")

    def _copy(self, data: Value, mark: Mark, depth: int) -> Value:
        self._budget -= 1
        if self._budget < 0:
            raise self.error(mark, f"the aliases expand to more than {MAX_ALIASED_VALUES:,} values")
        if isinstance(data, (dict, list)) and depth >= MAX_LEVELS:
            raise self.error(mark, f"must not be nested deeper than {MAX_LEVELS} levels")
        if isinstance(data, dict):
            return {key: self._copy(value, mark, depth + 1) for key, value in data.items()}
        return [self._copy(value, mark, depth + 1) for value in data] if isinstance(data, list) else data

    def _key(self, frame: _Frame, value: Scalar, span: Span, merge: bool) -> None:
        frame.merging = merge
        frame.key_span = span
        if merge:
            frame.key = MERGE
            return
        try:
            key = frame.key = format_key(value)
        except ScalarError as error:
            raise self.error(span.start, str(error)) from None
        first = (frame.fields or {}).get(key)
        if key in frame.merged:
            frame.merged.discard(key)
        elif first is not None:
            lines = f"line {first[0].start.line + 1 + self._offset} and on line {span.start.line + 1 + self._offset}"
            raise self.error(span.start, f'duplicate key "{shorten(key, 80)}", on {lines}')

    def _put(self, value: Value, spans: SpanTree, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = (value, spans)
        if not self._stack:
            self.finished.append((value, spans))
            return
        frame = self._stack[-1]
        if frame.fields is None:
            frame.data.append(value)
            if frame.items is not None:
                frame.items.append(spans)
            return
        key, span, frame.key = frame.key, frame.key_span, None
        if frame.merging:
            frame.merging = False
            self._merge(frame, value, spans)
        elif key is not None and span is not None:
            frame.data[key] = value
            frame.fields[key] = (span, spans)

    def _merge(self, frame: _Frame, value: Value, spans: SpanTree) -> None:
        """Adds the value of a merge key, as kubectl does: over keys before it, under those after it; the first of several sources wins."""
        sources = list(zip(value, spans.items or [], strict=False)) if isinstance(value, list) else [(value, spans)]
        taken: set[str] = set()
        for source, where in sources:
            if not isinstance(source, dict) or where.fields is None or frame.fields is None:
                raise self.error(where.span.start, "a merge key << must be given a map or a list of maps")
            for key in [key for key in source if key not in taken]:
                if key not in frame.fields:
                    frame.merged.add(key)
                frame.data[key] = source[key]
                frame.fields[key] = where.fields[key]
            taken.update(source)

    def error(self, mark: Mark, text: str) -> InputError:
        """An error at a mark of the chunk."""
        return InputError(text, "", mark.line + 1 + self._offset, mark.column + 1)


def _plainly(frame: _Frame, value: Scalar, span: Span) -> bool:
    """Takes what nearly every scalar is, in few steps: a new key of text, a key's value, or an item. Says whether it has."""
    fields, key = frame.fields, frame.key
    if fields is None:
        if frame.items is None:
            return False
        frame.data.append(value)
        frame.items.append(_new(SpanTree, (span, None, None)))
    elif key is None:
        if type(value) is not str or value in fields:
            return False
        frame.key, frame.key_span, frame.merging = value, span, False
    else:
        if frame.merging or frame.key_span is None:
            return False
        frame.data[key] = value
        fields[key] = (frame.key_span, _new(SpanTree, (span, None, None)))
        frame.key = None
    return True
