"""Reads what most manifests are written in, several times as fast as an event parser: maps and lists in block style, scalars on one line.

Whatever is more than that, or may be a mistake, is left to yaml_text.py: flow style, block scalars, anchors, tags, quotes with escapes,
texts of several lines, keys that stand twice, other than ASCII. Where things stand is left to it, too, when somebody asks: nearly nobody
does of an object without findings. What is read here means the same there; a test compares both. Costs a few steps a line.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from dynamo_webhooks.cli.yaml.scalars import ScalarError, is_word, plain

_OTHER: Final = re.compile(r"[^\n\x20-\x7e]")
# quantifiers take all or nothing, so that no line costs more than a few looks at each character
_KEY: Final = r"[A-Za-z_][A-Za-z0-9_./-]*+"
_WORD: Final = r"(?:[A-Za-z0-9_./@%+=,$()~*<>;^-]++|:(?=[^ \n]))"
_PLAIN: Final = rf"(?:[A-Za-z0-9_./+~$(]|-(?=[^ \n])){_WORD}*+(?: ++{_WORD}++)*+"
_SCALAR: Final = rf"({_PLAIN}|'[^'\n]*'|\"[^\"\\\n]*\"|\{{\}}|\[\])"
_END: Final = r"(?:\n|\Z)"
_LINE: Final = re.compile(rf"( *+)((?:- ++)*+)(?:({_KEY}):(?: +{_SCALAR})?|{_SCALAR})? *(?: #[^\n]*)?{_END}| *+#[^\n]*+{_END}")
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/$(")  # with which no number begins
_DASH: Final = re.compile("- +")
_LONGEST: Final = 1_000  # characters of a line; a key must end within so many
_DEEPEST: Final = 60  # levels


class Read(NamedTuple):
    """A document's data, and the line where it begins, from 0.

    `name` is where its metadata's name stands, if it has one: line, first and last column, from 0.
    """

    data: dict[str, Any]
    line: int
    name: tuple[int, int, int] | None


def read(text: str) -> Read | None:
    """The one document of a chunk; None where it is not written in this style alone."""
    if _OTHER.search(text) or "\n..." in text or max(map(len, text.split("\n"))) > _LONGEST:
        return None
    try:
        return _read(text)
    except ScalarError:
        return None


def _read(text: str) -> Read | None:  # noqa: C901, PLR0912, PLR0915 - one loop, whose steps a call each would double in time
    root: dict[str, Any] = {}
    indents: list[int] = [0]
    stack: list[Any] = [root]
    holder: Any = None  # of the key or item whose value is still to come
    key: str | None = None
    at = -1  # where that begins
    first, lines, name = -1, 0, None
    begin, size = (4, len(text)) if text.startswith("---\n") else (0, len(text))
    offset = 1 if begin else 0
    match = _LINE.scanner(text, begin).match  # type: ignore[attr-defined]  # of every pattern, and in no stub
    while begin < size:
        found = match()
        if found is None:
            return None
        begin, line = found.end(), offset
        offset += 1
        indent, dashes, word, value, item = found.groups()
        if indent is None or (word is None and not dashes):
            if indent is None or item is None:  # a comment, or nothing
                continue
            return None
        column = len(indent)
        if first < 0:
            if column or dashes:
                return None
            first = line
        if holder is not None and (column < at or (column == at and not dashes)):
            holder = None
        if dashes:
            for dash in _DASH.findall(dashes):
                if holder is not None:
                    made: Any = []
                    if key is None:
                        holder.append(made)
                    else:
                        holder[key] = made
                    stack.append(made)
                    indents.append(column)
                    if len(stack) > _DEEPEST:
                        return None
                else:
                    while indents[-1] > column:
                        indents.pop()
                        stack.pop()
                    if indents[-1] != column or type(stack[-1]) is not list:
                        return None
                holder, key, at = stack[-1], None, column
                column += len(dash)
        if word is not None:
            if holder is not None:
                made = {}
                if key is None:
                    holder.append(made)
                else:
                    holder[key] = made
                stack.append(made)
                indents.append(column)
                holder = None
                if len(stack) > _DEEPEST:
                    return None
            else:
                while indents[-1] > column or (indents[-1] == column and type(stack[-1]) is list):
                    indents.pop()
                    stack.pop()
                if indents[-1] != column:
                    return None
            top = stack[-1]
            if word in top or is_word(word):
                return None
            if value is None:
                top[word] = None
                holder, key, at = top, word, column
            else:
                top[word] = value if value[0] in _LETTERS and not is_word(value) else _scalar(value)
                if word == "name" and len(stack) == 2 and root.get("metadata") is top:
                    start, end = found.span(4)
                    name = (line, start - found.start(), end - found.start())
            lines += 1
        else:
            if holder is None or item is None:
                return None
            holder.append(item if item[0] in _LETTERS and not is_word(item) else _scalar(item))
            holder = None
    return Read(root, first, name) if lines > 1 else None


def _scalar(text: str) -> Any:
    """A scalar of one line, or an empty map or list."""
    begin = text[0]
    if begin in "'\"":
        return text[1:-1]
    return {} if begin == "{" else [] if begin == "[" else plain(text)
