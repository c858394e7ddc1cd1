"""Cuts an expression into tokens, in time linear in its length."""

import math
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .errors import ParseError
from .values import MAX_INT64, MAX_UINT, Uint

MAX_EXPRESSION_CHARACTERS: Final = 100_000  # as for an API server

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"{3}|'{3}|"|'))
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<int>0x[0-9a-fA-F]+[uU]?|[0-9]+[uU]?)
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |`(?P<quoted>[a-zA-Z0-9_.\-/\x20]+)`
    |(?P<sign>\.\?|\[\?|&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_BODIES: Final = {
    (quote, raw): re.compile(_body, re.DOTALL)
    for quote in ("'", '"', "'''", '"""')
    for raw in (False, True)
    for _body in [
        (rf"((?:(?!{quote})[^\\]|\\.)*){quote}" if not raw else rf"((?:(?!{quote}).)*){quote}")
        if len(quote) == 3
        else (rf"((?:[^\\\r\n{quote}]|\\.)*){quote}" if not raw else rf"([^\r\n{quote}]*){quote}")
    ]
}
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[abfnrtv\\?\"'`]|.|$)", re.DOTALL)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {char: char for char in "\\?\"'`"}


class Token(NamedTuple):
    """A piece of the text: `kind` is name, quoted, value, end, or the sign itself."""

    kind: str
    value: Any
    at: int


def wrong_at(text: str, at: int, sentence: str) -> ParseError:
    """The error of a place in the text."""
    return ParseError(sentence, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def tokens(text: str) -> Iterator[Token]:
    """Yields the tokens, and at last one of kind end."""
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        raise ParseError(f"the expression must have at most {MAX_EXPRESSION_CHARACTERS} characters, and has {len(text)}")
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise wrong_at(text, at, f"token recognition error at: {text[at]!r}")
        kind, word = str(match.lastgroup), match[0]
        end = match.end()
        if kind == "text":
            value, end = _text(text, word, end)
            yield Token("value", value, at)
        elif kind in ("float", "int"):
            yield Token("value", _number(text, word, at, kind), at)
        elif kind == "sign":
            yield Token(word, word, at)
        elif kind != "space":
            yield Token(kind, match[kind], at)
        at = end
    yield Token("end", "<EOF>", len(text))


def _number(text: str, word: str, at: int, kind: str) -> float:
    if kind == "float":
        if math.isinf(double := float(word)):
            raise wrong_at(text, at, "invalid double literal")
        return double
    unsigned = word[-1] in "uU"
    digits = word.rstrip("uU")
    base = 16 if digits.startswith("0x") else 10
    bare = digits.removeprefix("0x").lstrip("0") or "0"
    value = int(bare, base) if len(bare) <= 20 else MAX_UINT + 1
    if value > (MAX_UINT if unsigned else MAX_INT64 + 1):  # one more: a minus may precede it
        raise wrong_at(text, at, f"invalid {'uint' if unsigned else 'int'} literal")
    return Uint(value) if unsigned else value


def _text(text: str, opening: str, start: int) -> tuple[str | bytes, int]:
    prefix = opening.rstrip("\"'").lower()
    quote = opening[len(prefix) :]
    body = _BODIES[quote, "r" in prefix].match(text, start)
    if body is None:
        raise wrong_at(text, start - len(opening), f"a text that begins with {quote} must end with {quote}")
    if "b" not in prefix:
        return (body[1] if "r" in prefix else _unescaped(text, body[1], start)), body.end()
    if "r" in prefix:
        return body[1].encode("utf-8", "surrogatepass"), body.end()
    return _bytes(text, body[1], start), body.end()


def _code(match: re.Match[str], text: str, start: int) -> int | str:
    """The character of an escape, or the code that it names."""
    escape = match[1]
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    if len(escape) > 1:
        return int(escape, 8) if escape[0].isdigit() else int(escape[1:], 16)
    raise wrong_at(text, start + match.start(), f"\\{escape} must be an escape sequence such as \\n or \\u0041")


def _unescaped(text: str, body: str, start: int) -> str:
    def replace(match: re.Match[str]) -> str:
        code = _code(match, text, start)
        if isinstance(code, str):
            return code
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise wrong_at(text, start + match.start(), f"{match[0]} must name a character of Unicode")
        return chr(code)

    return _ESCAPE.sub(replace, body) if "\\" in body else body


def _bytes(text: str, body: str, start: int) -> bytes:
    made = bytearray()
    at = 0
    for match in _ESCAPE.finditer(body):
        made += body[at : match.start()].encode("utf-8", "surrogatepass")
        code = _code(match, text, start)
        if isinstance(code, int) and match[1][0] in "uU":
            raise wrong_at(text, start + match.start(), f"{match[0]} must not be in bytes")
        made += code.encode() if isinstance(code, str) else bytes([code])
        at = match.end()
    return bytes(made + body[at:].encode("utf-8", "surrogatepass"))
