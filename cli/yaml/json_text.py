"""Reads JSON into a builder, including several values in a row: YAML parsers refuse surrogate pairs, JSON parsers give no positions."""

import re
from bisect import bisect_right
from typing import Final

import orjson

from .build import Builder
from .errors import InputError
from .positions import Point
from .scalars import INT64, Scalar, normalize_double

_TOKEN: Final = re.compile(
    r'(?P<punctuation>[{}\[\],:])|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)'
    r"(?![\w.+-])|(?:true|false|null)\b"
)
_BLANK: Final = re.compile(r"[ \t\r\n]*")


class JsonSyntaxError(InputError):
    """A text that isn't JSON; it may still be YAML, which also begins maps with a brace."""


class _Reader:
    """A tokeniser with one token of state, and the list of open brackets instead of recursion."""

    def __init__(self, text: str, builder: Builder) -> None:
        self.text = text
        self.builder = builder
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.open: list[str] = []

    def mark(self, index: int) -> Point:
        line = bisect_right(self.starts, index) - 1
        return Point(line, index - self.starts[line])

    def error(self, index: int, text: str) -> JsonSyntaxError:
        error = self.builder.error(self.mark(index), text)
        return JsonSyntaxError(text, "", error.line, error.column)

    def read(self) -> None:
        """One loop over all tokens; `due` says what may come: a value, a key, the colon behind it, or what follows a value."""
        position, due, first = 0, "value", False
        while True:
            blank = _BLANK.match(self.text, position)
            position = blank.end() if blank else position
            if position == len(self.text):
                if self.open:
                    raise self.error(position, f"is not JSON: a {'map' if self.open[-1] == '}' else 'list'} is never closed")
                return
            token = _TOKEN.match(self.text, position)
            if token is None:
                raise self.error(position, "is not JSON: this can't begin a value")
            due, first = self._step(token, due, first)
            position = token.end()

    def _step(self, token: re.Match[str], due: str, first: bool) -> tuple[str, bool]:
        text = token.group()
        if text in "}]":
            if not self.open or self.open[-1] != text or not (due == "next" or first):
                raise self.error(token.start(), f"is not JSON: {text} is not allowed here")
            self.open.pop()
            self.builder.close(self.mark(token.end()))
            return ("next" if self.open else "value"), False
        if due not in ("next", "colon"):
            return self._value(token, due)
        if text != ("," if due == "next" else ":"):
            raise self.error(token.start(), f"is not JSON: expected {f', or {self.open[-1]}' if due == 'next' else ':'}")
        return ("key" if due == "next" and self.open[-1] == "}" else "value"), False

    def _value(self, token: re.Match[str], due: str) -> tuple[str, bool]:
        text, start, end = token.group(), self.mark(token.start()), self.mark(token.end())
        if due == "key" and token["string"] is None:
            raise self.error(token.start(), "is not JSON: a key must be a string in double quotes")
        if text in "{[":
            self.builder.open({} if text == "{" else [], start)
            self.open.append("}" if text == "{" else "]")
            return ("key" if text == "{" else "value"), True
        if token["punctuation"]:
            raise self.error(token.start(), f"is not JSON: {text} is not allowed here")
        self.builder.scalar(self._scalar(token), start, end)
        return ("colon" if due == "key" else "next" if self.open else "value"), False

    def _scalar(self, token: re.Match[str]) -> Scalar:
        try:
            value: Scalar = orjson.loads(token.group())
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            if token["string"] is None:
                raise self.builder.error(self.mark(token.start()), "a number must fit a double") from None
            raise self.error(
                token.start(), "a string may contain only known escapes and complete characters, not half of a surrogate pair"
            ) from None
        return normalize_double(float(value)) if isinstance(value, float) or (isinstance(value, int) and value not in INT64) else value


def feed(text: str, builder: Builder) -> None:
    """Feeds a chunk's values. Raises: JsonSyntaxError, and InputError for JSON that is refused, such as duplicate keys."""
    _Reader(text, builder).read()
