"""A text that reads as other values, changed as little as possible. It is read back: the values are law, comments are not."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.cli.rewrite.block import Block
from dynamo_webhooks.cli.rewrite.build import UnsureError, parse, trees
from dynamo_webhooks.cli.rewrite.comments import Comment, comments, lost
from dynamo_webhooks.cli.rewrite.flow import Flow
from dynamo_webhooks.cli.rewrite.fresh import json_text, yaml_text
from dynamo_webhooks.cli.rewrite.lines import line_start
from dynamo_webhooks.cli.rewrite.sources import Sources
from dynamo_webhooks.cli.rewrite.style import style_of
from dynamo_webhooks.cli.rewrite.tree import Form, same
from dynamo_webhooks.cli.yaml.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.cli.rewrite.build import Parsed

    Origin = Callable[[int, Path], Path | None]

__all__ = ["Comment", "NotWrittenError", "Rewritten", "rewritten"]

_ONLY_CRLF: Final = re.compile(r"(?:[^\r\n]|\r\n)*")
_SHARING: Final = re.compile(r"(?:^|[\s\[{,:-])\*[^\s,\[\]{}]")  # where an alias may stand, if not in a text
_HEAD: Final = re.compile(r"(?:\ufeff?---[ \t]*(?:#.*)?\r?\n|[ \t\ufeff]*(?:[#%].*)?\r?\n)*(?:---[ \t]+)?")


class NotWrittenError(ValueError):
    """Values that no text says; what was to be changed must stay as it is."""


class Rewritten(NamedTuple):
    """The new text, and the comments of the old one that it no longer has, with their lines in the old text."""

    text: str
    lost: list[Comment]


def rewritten(text: str, values: Sequence[Any], origin: Origin | None = None, *, expands: bool = True) -> Rewritten:
    """The text, one piece between `---` lines, changed so that its documents read as the values; equal ones stay byte for byte.

    `origin` says where a path in the new value of a document was in the old one, None for what is new; by default paths are the same.
    Aliases are written out where their values are no longer the anchor's, unless nothing `expands` them.

    Raises: InputError for a text that can't be read, NotWrittenError for values that can't be written.
    """
    crlf = "\r\n" in text and _ONLY_CRLF.fullmatch(text) is not None
    plain = text.replace("\r\n", "\n") if crlf else text
    parsed = parse(plain)
    if len(parsed.values) != len(values):
        raise NotWrittenError(f"the text holds {len(parsed.values)} documents, not {len(values)}")
    if all(map(same, parsed.values, values)):
        return Rewritten(text, [])
    shared = not expands and not parsed.is_json and _SHARING.search(plain) is not None
    for attempt in _attempts(plain, parsed, values, origin or _same_path, shared=shared):
        read = _read(attempt)
        if read is not None and len(read.values) == len(values) and all(map(same, read.values, values)):
            gone = [] if parsed.is_json else lost(_comments(plain, parsed), _comments(attempt, read))
            return Rewritten(attempt.replace("\n", "\r\n") if crlf else attempt, gone)
    if shared:
        raise NotWrittenError("the edits would write out what its anchors and aliases share; make them by hand")
    raise NotWrittenError("the changed object can't be written as text")


def _same_path(_: int, path: Path) -> Path:
    return path


def _attempts(text: str, parsed: Parsed, values: Sequence[Any], origin: Origin, *, shared: bool) -> Iterator[str]:
    """Texts to be tried: that which keeps most first; only that where nothing `shared` may be written out."""
    try:
        if shared:
            yield _changed(text, parsed, values, origin, trusts_aliases=True)
            return
        for keeps_aliases, checks in ((True, False), (False, False), (False, True)):
            yield _changed(text, parsed, values, origin, keeps_aliases=keeps_aliases, checks=checks)
    except UnsureError:
        pass
    if not shared:
        yield _anew(text, values, is_json=parsed.is_json)


def _changed(
    text: str,
    parsed: Parsed,
    values: Sequence[Any],
    origin: Origin,
    *,
    keeps_aliases: bool = True,
    trusts_aliases: bool = False,
    checks: bool = False,
) -> str:
    parts, cursor = [], 0
    for index, (root, value) in enumerate(zip(trees(text, parsed), values, strict=True)):
        if same(root.node.data, value):
            continue
        sources = Sources(root, value, partial(origin, index), keeps_aliases=keeps_aliases, trusts_aliases=trusts_aliases)
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
    return "".join([*parts, text[cursor:]])


def _value(text: str) -> Any:
    """What a text says, for comparing; a text that says nothing or can't be read says something that no value is."""
    found = _read(text)
    return found.values[0] if found is not None and len(found.values) == 1 else NotWrittenError


def _anew(text: str, values: Sequence[Any], *, is_json: bool) -> str:
    """Only what stands above the document is kept."""
    found = _HEAD.match(text)
    head = found[0] if found else ""
    if is_json:
        return head + "".join(json_text(value) for value in values)
    if head and not head.endswith("\n"):
        head = head.rstrip(" \t") + "\n"
    return head + "---\n".join(yaml_text(value) for value in values)


def _read(text: str) -> Parsed | None:
    try:
        return parse(text)
    except InputError:
        return None


def _comments(text: str, parsed: Parsed) -> list[Comment]:
    try:
        return comments(text, trees(text, parsed))
    except UnsureError:
        return []
