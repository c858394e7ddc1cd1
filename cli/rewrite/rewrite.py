"""A text that reads as other values, changed as little as possible. It is read back: the values are law, comments are not."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from ...api.paths import Path
from ..yaml.errors import InputError
from .align import Sources
from .block import Block
from .build import Parsed, UnsureError, parse, trees
from .comments import Comment, Used, comments, find_lost_comments, restore
from .emit import emit_json, emit_yaml
from .flow import Flow, style_of
from .tree import Entry, Form, is_same_json, line_start

_Attempt = tuple[str, list[Used]]
Origin = Callable[[int, Path], Path | None]

__all__ = ["Comment", "NotWrittenError", "Rewritten", "rewrite"]

_ONLY_CRLF: Final = re.compile(r"(?:[^\r\n]|\r\n)*")
_SHARING: Final = re.compile(r"(?:^|[\s\[{,:-])\*[^\s,\[\]{}]")  # a possible alias, outside of quoted text
_HEAD: Final = re.compile(r"(?:\ufeff?---[ \t]*(?:#.*)?\r?\n|[ \t\ufeff]*(?:[#%].*)?\r?\n)*(?:---[ \t]+)?")


class NotWrittenError(ValueError):
    """Values that YAML can't represent; the object must stay unchanged."""


class Rewritten(NamedTuple):
    """The new text, and the comments of the old one that it no longer has, with their lines in the old text."""

    text: str
    lost: list[Comment]


def rewrite(text: str, values: Sequence[Any], origin: Origin | None = None, *, expands: bool = True) -> Rewritten:
    """Rewrite the text, one piece between `---` lines, so that its documents have the values; unchanged values stay byte for byte.

    `origin` maps a path in the new value of a document to its old path, None for new values; by default paths are the same. Aliases are
    expanded if their values differ from the anchor's and `expands` is set. Raises: InputError, NotWrittenError.
    """
    crlf = "\r\n" in text and _ONLY_CRLF.fullmatch(text) is not None
    plain = text.replace("\r\n", "\n") if crlf else text
    parsed = parse(plain)
    if len(parsed.values) != len(values):
        raise NotWrittenError(f"the text holds {len(parsed.values)} documents, not {len(values)}")
    if all(map(is_same_json, parsed.values, values)):
        return Rewritten(text, [])
    shared = not expands and not parsed.is_json and _SHARING.search(plain) is not None
    for attempt, used in _attempts(plain, parsed, values, origin or (lambda _, path: path), shared=shared):
        read = _read_as(attempt, values)
        if read is not None:
            done = Rewritten(attempt, []) if parsed.is_json else _with_comments(plain, parsed, attempt, read, used, values)
            return done._replace(text=done.text.replace("\n", "\r\n")) if crlf else done
    if shared:
        raise NotWrittenError("the edits would write out what its anchors and aliases share; make them by hand")
    raise NotWrittenError("the changed object can't be written as text")


def _attempts(text: str, parsed: Parsed, values: Sequence[Any], origin: Origin, *, shared: bool) -> Iterator[_Attempt]:
    """Texts to be tried: that which keeps most first; only that where nothing `shared` may be written out."""
    try:
        if shared:
            yield _changed(text, parsed, values, origin, shared=True)
            return
        for keeps_aliases, checks in ((True, False), (False, False), (False, True)):
            yield _changed(text, parsed, values, origin, shared=False, keeps_aliases=keeps_aliases, checks=checks)
    except UnsureError:
        pass
    if not shared:
        yield _anew(text, values, is_json=parsed.is_json), []


def _changed(
    text: str, parsed: Parsed, values: Sequence[Any], origin: Origin, *, shared: bool, keeps_aliases: bool = True, checks: bool = False
) -> _Attempt:
    parts, cursor, used = [], 0, []
    for index, (root, value) in enumerate(zip(trees(text, parsed), values, strict=True)):
        if is_same_json(root.node.data, value):
            continue
        sources = Sources(root, value, partial(origin, index), keeps_aliases=keeps_aliases, trusts_aliases=shared)
        used.append(Used(index, root, sources))
        style = style_of(text, root, is_json=parsed.is_json)
        if root.node.form is not Form.BLOCK:
            parts += [text[cursor : root.node.start], Flow(text, style, sources).written(value, (), root.node, "")]
            cursor = root.node.end
            continue
        if not (isinstance(value, (dict, list)) and value and root.last):
            raise UnsureError
        first = line_start(text, root.node.entries[0].start)
        lines = Block(text, style, sources, _value if checks else None).children(value, (), root.node.column)
        parts += [text[cursor:first], "\n".join(lines)]
        cursor = root.last
    return "".join([*parts, text[cursor:]]), used


def _value(text: str) -> Any:
    """What a text says, for comparing; a text that says nothing or can't be read says something that no value is."""
    found = _read(text)
    return found.values[0] if found is not None and len(found.values) == 1 else NotWrittenError


def _anew(text: str, values: Sequence[Any], *, is_json: bool) -> str:
    """Keep only the text above the document."""
    found = _HEAD.match(text)
    head = found[0] if found else ""
    if is_json:
        return head + "".join(emit_json(value) for value in values)
    if head and not head.endswith("\n"):
        head = head.rstrip(" \t") + "\n"
    return head + "---\n".join(emit_yaml(value) for value in values)


def _read(text: str) -> Parsed | None:
    try:
        return parse(text)
    except InputError:
        return None


def _with_comments(text: str, parsed: Parsed, done: str, read: Parsed, used: list[Used], values: Sequence[Any]) -> Rewritten:
    """A new text with comments that it lost, as far as they have a place, and the others."""
    roots, before = _roots(done, read), comments(text, _roots(text, parsed))
    lost = find_lost_comments(before, comments(done, roots))
    if not lost or not used:
        return Rewritten(done, lost)
    more = restore(text, done, lost, used, roots)
    again = _read_as(more, values)
    return Rewritten(done, lost) if again is None else Rewritten(more, find_lost_comments(before, comments(more, _roots(more, again))))


def _read_as(text: str, values: Sequence[Any]) -> Parsed | None:
    """A text as it was read; None unless it has the values."""
    read = _read(text)
    return read if read is not None and len(read.values) == len(values) and all(map(is_same_json, read.values, values)) else None


def _roots(text: str, parsed: Parsed) -> list[Entry]:
    try:
        return list(trees(text, parsed))
    except UnsureError:
        return []
