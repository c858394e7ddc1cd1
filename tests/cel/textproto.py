"""Reads the text form of protocol buffers, as the conformance cases of cel-spec use it."""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

# a field may come often: each name has the list of its values
Message: TypeAlias = dict[str, list[Any]]

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<any>\[[\w./]+\])|(?P<word>[-+\w.]+)|(?P<sign>[{}:<>,;\[\]])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def read(text: str) -> Message:
    """Returns a message; texts are bytes, numbers and words are text."""
    words = list(_words(text))
    words.reverse()
    return _message(words, "")


def _words(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, text[at : at + 40]
        at = match.end()
        if match.lastgroup != "space":
            yield str(match.lastgroup), match[0]


def _message(words: list[tuple[str, str]], end: str) -> Message:
    found: Message = {}
    while words:
        _, name = words.pop()
        if name == end:
            return found
        if name in ",;":
            continue
        if words[-1][1] == ":":
            words.pop()
        values = found.setdefault(name, [])
        if words[-1][1] == "[":
            words.pop()
            while words[-1][1] != "]":
                if words[-1][1] == ",":
                    words.pop()
                values.append(_value(words))
            words.pop()
        else:
            values.append(_value(words))
    assert not end
    return found


def _value(words: list[tuple[str, str]]) -> Any:
    kind, word = words.pop()
    if word in ("{", "<"):
        return _message(words, "}" if word == "{" else ">")
    if kind != "text":
        return word
    parts = [word]
    while words and words[-1][0] == "text":
        parts.append(words.pop()[1])
    return b"".join(_ESCAPE.sub(_unescaped, part[1:-1].encode()) for part in parts)


def _unescaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, simple = match.groups()
    if octal or hexadecimal:
        return bytes([int(octal, 8) if octal else int(hexadecimal, 16)])
    if short or long:
        return chr(int(short or long, 16)).encode()
    return _SIMPLE.get(simple, simple)
