"""Texts in log lines: times, clients' words, and a whole line as people read it."""

import time
from functools import lru_cache
from typing import Final

import orjson

from ..api.wording import escape_unprintable, shorten

_MILLISECONDS: Final = [f".{millisecond:03d}Z" for millisecond in range(1000)]  # to format one takes longer than all else of a stamp
MAX_NAME_CHARACTERS: Final = 253  # the longest that Kubernetes knows


def word(text: str, limit: int = MAX_NAME_CHARACTERS) -> str:
    """A client's text as lines hold it: at most `limit` characters, with escapes instead of those that do not print."""
    if len(text) <= limit and text.isprintable():
        return text
    return shorten(escape_unprintable(text[: limit + 1]), limit)


def readable(line: bytes) -> bytes:
    """A JSON line as text: time, level, logger, message, and the rest as key=value."""
    fields = orjson.loads(line)
    head = [str(fields.pop(key, "")) for key in ("ts", "level", "logger", "msg")]
    pairs = [f"{key}={orjson.dumps(value).decode()}" for key, value in fields.items() if value not in ("", [])]
    return (escape_unprintable(" ".join([head[0], head[1].upper(), *head[2:], *pairs])) + "\n").encode()


def stamp(now: float) -> str:
    """The time of a log line: RFC 3339 in UTC with milliseconds."""
    second, millisecond = divmod(int(now * 1000), 1000)
    return _seconds(second) + _MILLISECONDS[millisecond]


@lru_cache(maxsize=1)
def _seconds(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
