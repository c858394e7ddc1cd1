"""Functions of texts. Places count characters from zero."""

import operator
from typing import Final

from ..errors import EvaluationError
from ..frame import Frame
from ..overloads import method

_SPACES: Final = " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code + 32: code for code in range(ord("A"), ord("Z") + 1)}


method("contains", str, str)(operator.contains)
method("startsWith", str, str)(str.startswith)
method("endsWith", str, str)(str.endswith)
method("charAt", str, int)(lambda text, index: text[_within(index, text) :][:1])
method("indexOf", str, str)(str.find)
method("lastIndexOf", str, str)(lambda text, part: _last(text, part))  # noqa: PLW0108 - which is defined below
method("lowerAscii", str)(lambda text: text.lower() if text.isascii() else text.translate(_LOWER))
method("upperAscii", str)(lambda text: text.upper() if text.isascii() else text.translate(_UPPER))
method("trim", str)(lambda text: text.strip(_SPACES))
method("substring", str, int)(lambda text, start: text[_within(start, text) :])


def _last(text: str, part: str) -> int:
    """The last place of a part. Python's own search from the end takes the product of the lengths, that from the beginning their sum."""
    at = text[::-1].find(part[::-1])
    return at if at < 0 else len(text) - at - len(part)


@method("indexOf", str, str, int)
def _index_from(text: str, part: str, start: int) -> int:
    if start < 0 and part:
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start) if part else start  # which may be anywhere


@method("lastIndexOf", str, str, int)
def _index_until(text: str, part: str, end: int) -> int:
    if end < 0 and part:
        raise EvaluationError(f"index out of range: {end}")
    if not part:
        return end
    return _last(text[: end + len(part)], part) if end < len(text) else -1


@method("replace", str, str, str, metered=True)
@method("replace", str, str, str, int, metered=True)
def _replace(frame: Frame, text: str, part: str, by: str, most: int = -1) -> str:
    count = text.count(part) if most < 0 else min(most, text.count(part))
    frame.spend(count * len(by) // 10)
    return text.replace(part, by, count)


@method("split", str, str)
def _split(text: str, at: str) -> list[str]:
    return text.split(at) if at else list(text)


@method("split", str, str, int)
def _split_some(text: str, at: str, most: int) -> list[str]:
    if most < 0 or most > len(text) + 1:
        return _split(text, at)
    if most == 0:
        return []
    if at:
        return text.split(at, most - 1)
    return list(text) if most >= len(text) else [*text[: most - 1], text[most - 1 :]]


@method("substring", str, int, int)
def _substring_until(text: str, start: int, end: int) -> str:
    if _within(start, text) > _within(end, text):
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _within(index: int, text: str) -> int:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return index
