"""Reads and writes JSON of any depth without recursion: values below the levels that the decoder reads stay text.

An API server sends objects of up to 10,000 levels, in managedFields even if a webhook refuses such specs; the decoder stops at 1,024.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from .paths import Path

MAX_DECODED_LEVELS: Final = 200  # of a text which is too deep; typed fields have about 20, and the encoder writes 254
# of a new object; those that were stored before may be as deep as they are. What decodes 1,024 levels reads such an object in a list, too
MAX_OBJECT_LEVELS: Final = 1_022
_TOKENS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)


_MANAGED: Final = ("metadata", "managedFields")  # writes of any client make them longer
_MAX_SHOWN_STEPS: Final = 8  # of a path in a message


class Deep:
    """A map or list that stayed text, which has been read and is right. Equal to one of the same text."""

    __slots__ = ("levels", "text")

    def __init__(self, text: bytes, levels: int) -> None:
        self.text, self.levels = text, levels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Deep) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def load(text: bytes | bytearray | memoryview | str) -> Any:
    """Decode JSON; maps and lists that are too deep for the decoder become `Deep`. Linear in the length. Raises: orjson.JSONDecodeError."""
    return load_deep(text)[0]


def load_deep(text: bytes | bytearray | memoryview | str) -> tuple[Any, bool]:
    """As `load`; and whether anything was too deep for the decoder. Raises: orjson.JSONDecodeError."""
    import orjson

    try:
        return orjson.loads(text), False
    except orjson.JSONDecodeError as error:
        if "depth" not in error.msg:
            raise
    return _load_deep(text.encode() if isinstance(text, str) else bytes(text)), True


def _load_deep(text: bytes) -> Any:
    """Cut the text at each multiple of `MAX_DECODED_LEVELS`, and decode all pieces, so that all is read; only the first is returned."""
    from hashlib import blake2b  # few texts are deep, and commands start faster without it

    import orjson

    mark = blake2b(text, digest_size=16).hexdigest()  # no text can contain its own digest
    deep: list[Deep] = []
    outer: list[tuple[list[bytes], int]] = []  # pieces of the enclosing texts, and the start of the part that is cut out of each
    pieces, kept, depth, deepest = list[bytes](), 0, 0, 0
    for token in _TOKENS.finditer(text):
        sign = token[0]
        if sign in b"{[":
            if depth and depth % MAX_DECODED_LEVELS == 0:
                pieces.append(text[kept : token.start()])
                outer.append((pieces, token.start()))
                pieces, kept = [], token.start()
            depth += 1
            deepest = max(deepest, depth)
        elif sign in b"}]":
            depth -= 1
            if depth and depth % MAX_DECODED_LEVELS == 0 and outer:
                orjson.loads(b"".join((*pieces, text[kept : token.end()])))
                pieces, start = outer.pop()
                kept = token.end()
                if outer:
                    pieces.append(b"0")
                else:
                    pieces.append(f'"{mark}{len(deep)}"'.encode())
                    deep.append(Deep(text[start:kept], deepest - MAX_DECODED_LEVELS))
                    deepest = 0
    if outer:
        raise orjson.JSONDecodeError("unexpected end of data", text.decode(errors="replace"), len(text))
    return _placed(orjson.loads(b"".join((*pieces, text[kept:]))), mark, deep)


def _placed(root: Any, mark: str, deep: list[Deep]) -> Any:
    """The decoded root with the texts in their places."""
    todo = [root]
    while todo:
        node = todo.pop()
        for step, value in node.items() if type(node) is dict else enumerate(node):
            if type(value) is dict or type(value) is list:
                todo.append(value)
            elif type(value) is str and value.startswith(mark):
                node[step] = deep[int(value.removeprefix(mark))]
    return root


def dump(value: Any, *, ordered: bool = False) -> bytes:
    """Encode as compact JSON, with sorted keys if `ordered`."""
    import orjson

    option = orjson.OPT_SORT_KEYS if ordered else 0
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # `Deep`, nested deeper than the encoder goes, or an integer beyond 64 bits (from YAML, on the command line)
        return b"".join(_pieces(value, ordered=ordered))


def _pieces(root: Any, *, ordered: bool) -> Iterator[bytes]:
    import orjson

    todo: list[Any] = [root]
    while todo:
        value = todo.pop()
        if isinstance(value, _Raw):
            yield value.text
        elif type(value) is dict:
            below: list[Any] = [_OPEN_MAP]
            for name, member in sorted(value.items()) if ordered else value.items():
                below += (_COMMA,) if len(below) > 1 else ()
                below += (_Raw(json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass") + b":"), member)
            todo += reversed((*below, _CLOSE_MAP))
        elif type(value) is list or type(value) is tuple:
            below = [_OPEN_LIST]
            for member in value:
                below += (_COMMA,) if len(below) > 1 else ()
                below.append(member)
            todo += reversed((*below, _CLOSE_LIST))
        elif type(value) is str or type(value) is int:
            yield json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
        else:
            yield value.text if isinstance(value, Deep) else orjson.dumps(value)


def too_deep(obj: Any) -> Path | None:
    """Finds where an object, managedFields apart, has more than `MAX_OBJECT_LEVELS`; only the first steps of the path."""
    todo: list[tuple[Any, int, Path]] = [(obj, 1, ())]
    while todo:
        node, level, path = todo.pop()
        if level + (node.levels - 1 if isinstance(node, Deep) else 0) > MAX_OBJECT_LEVELS:
            return path
        steps = node.items() if type(node) is dict else enumerate(node) if type(node) is list else ()
        for step, value in steps:
            if (type(value) is dict or type(value) is list or isinstance(value, Deep)) and (*path, step) != _MANAGED:
                todo.append((value, level + 1, (*path, step) if level < _MAX_SHOWN_STEPS else path))
    return None


class _Raw:
    """A part of the text that is written."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text


_OPEN_MAP, _CLOSE_MAP, _OPEN_LIST, _CLOSE_LIST, _COMMA = map(_Raw, (b"{", b"}", b"[", b"]", b","))
