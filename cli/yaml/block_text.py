"""Reads the common form of manifests several times as fast as an event parser: block maps and lists, scalars on one line.

Flow style, block scalars, anchors, tags, quotes with escapes, texts of several lines, duplicate keys, non-ASCII text and possible mistakes
are left to yaml_text.py, and so are positions, which are rarely needed for an object without findings. Both read the same values; a test
compares them. Costs a few steps a line, and fewer for repeated lines, which most manifests have.
"""

import re
from typing import Any, Final, NamedTuple

from .scalars import WORDS, ScalarError, parse_plain_scalar

# quantifiers take all or nothing, so that no line costs more than a few looks at each character
_KEY: Final = r"[A-Za-z_][A-Za-z0-9_./-]*+"
_WORD: Final = r"(?:[A-Za-z0-9_./@%+=,$()~*<>;^-]++|:(?=[^ \n]))"
_PLAIN: Final = rf"(?:[A-Za-z0-9_./+~$(]|-(?=[^ \n])){_WORD}*+(?: ++{_WORD}++)*+"
_SCALAR: Final = rf"({_PLAIN}|'[^'\n]*'|\"[^\"\\\n]*\"|\{{\}}|\[\])"
_LINE: Final = re.compile(rf"( *+)((?:- ++)*+)(?:({_KEY}):(?: +{_SCALAR})?|{_SCALAR})? *(?: #.*)?| *+#.*+")
_DASH: Final = re.compile("- +")
_MAX_LINE_CHARACTERS: Final = 1_000  # a key must end within so many
_MAX_LEVELS: Final = 60
_MAX_CACHED_LINES: Final = 4_096  # of the longest about 5 MB
_ABSENT: Final = object()  # of a key alone on its line


class QuickDocument(NamedTuple):
    """A document's data, its first line, and, if present, where `metadata.name` is: line, first and last column; all count from 0."""

    data: dict[str, Any]
    line: int
    name: tuple[int, int, int] | None


class _Line(NamedTuple):
    """A parsed line; an empty tuple for one that is empty or holds only a comment."""

    column: int
    dashes: tuple[int, ...]  # their widths, with the blanks behind them
    word: str | None  # the key
    value: Any  # of the key, or the item itself
    empty_container: Any  # instead of a value: `dict` or `list` where it is an empty one, _ABSENT where it is still to come
    start: int  # of the value in the line
    end: int


_known: dict[str, _Line | tuple[()]] = {}  # lines that were met before


def read(text: str) -> QuickDocument | None:
    """The one document of a chunk; None where it is not written in this style alone."""
    try:
        return _read(text)
    except ScalarError:
        return None


def _read(text: str) -> QuickDocument | None:  # noqa: C901, PLR0912, PLR0915 - one loop, whose steps a call each would double in time
    root: dict[str, Any] = {}
    indents: list[int] = [0]
    stack: list[Any] = [root]
    top: Any = root  # of the stack, and its indent
    indent = 0
    holder: Any = None  # of the key or item whose value is still to come
    key: str | None = None
    at = -1  # where that begins
    first, lines, name = -1, 0, None
    known = _known
    rows = text.split("\n")
    begin = int(rows[0] == "---")
    for line in range(begin, len(rows)):
        row = rows[line]
        parsed = known.get(row)
        if parsed is None and (parsed := _parsed(row)) is None:
            return None
        if not parsed:
            continue
        column, dashes, word, value, empty_container, start, end = parsed
        if first < 0:
            if column or dashes:
                return None
            first = line
        if holder is not None and column <= at and (column < at or not dashes):
            holder = None
        if dashes:
            for dash in dashes:
                if holder is not None:
                    top, indent = [], column
                    if key is None:
                        holder.append(top)
                    else:
                        holder[key] = top
                    stack.append(top)
                    indents.append(column)
                    if len(stack) > _MAX_LEVELS:
                        return None
                elif indent != column or type(top) is not list:
                    while indent > column:
                        indents.pop()
                        stack.pop()
                        indent = indents[-1]
                    top = stack[-1]
                    if indent != column or type(top) is not list:
                        return None
                holder, key, at = top, None, column
                column += dash
        if word is not None:
            if holder is not None:
                top, indent = {}, column
                if key is None:
                    holder.append(top)
                else:
                    holder[key] = top
                stack.append(top)
                indents.append(column)
                holder = None
                if len(stack) > _MAX_LEVELS:
                    return None
            elif indent != column or type(top) is list:
                while indent > column or (indent == column and type(top) is list):
                    indents.pop()
                    stack.pop()
                    indent, top = indents[-1], stack[-1]
                if indent != column:
                    return None
            if word in top:
                return None
            if empty_container is None:
                top[word] = value
                if word == "name" and len(stack) == 2 and root.get("metadata") is top:
                    name = (line, start, end)
            elif empty_container is _ABSENT:
                top[word] = None
                holder, key, at = top, word, column
            else:
                top[word] = empty_container()
            lines += 1
        else:
            if holder is None:
                return None
            holder.append(value if empty_container is None else empty_container())
            holder = None
    return QuickDocument(root, first, name) if lines > 1 else None


def _parsed(row: str) -> _Line | tuple[()] | None:
    """Parse a line; None where it is not of this style. Raises: ScalarError for a number that no object can hold."""
    if len(row) > _MAX_LINE_CHARACTERS or not row.isascii() or not row.isprintable():
        return None
    match = _LINE.fullmatch(row)
    if match is None:
        return None
    indent, dashes, word, value, item = match.groups()
    parsed: _Line | tuple[()] = ()
    if word is not None and word not in WORDS:
        start, end = match.span(4)
        parsed = _Line(len(indent), _widths(dashes), word, *_scalar(value), start, end)
    elif word is None and item is not None and dashes:
        parsed = _Line(len(indent), _widths(dashes), None, *_scalar(item), 0, 0)
    elif word is not None or item is not None or dashes:
        return None
    if len(_known) >= _MAX_CACHED_LINES:
        _known.clear()
    _known[row] = parsed
    return parsed


def _widths(dashes: str) -> tuple[int, ...]:
    return tuple(map(len, _DASH.findall(dashes)))


def _scalar(text: str | None) -> tuple[Any, Any]:
    """Parse a scalar of one line: `value` and `empty_container` of a line."""
    if text is None:
        return None, _ABSENT
    begin = text[0]
    if begin in "'\"":
        return text[1:-1], None
    return (None, dict) if begin == "{" else (None, list) if begin == "[" else (parse_plain_scalar(text), None)
