"""`format` and `quote`."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ..errors import EvaluationError
from ..overloads import function, method
from ..values import Duration, Flag, Timestamp, Type, Uint, class_of, keys_of, type_of
from .conversions import print_double
from .times import print_duration, print_timestamp

_CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.(\d{1,9}))?(.)|$)", re.DOTALL | re.ASCII)
_MOST_DIGITS: Final = 1000
_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_WHOLE: Final = (int, Uint)


@function("strings.quote", str)
def _quote(text: str) -> str:
    return f'"{"".join(_ESCAPES.get(char, char) for char in text)}"'.encode("utf-8", "replace").decode()


def _size(text: str, arguments: list[Any]) -> int:
    """The most that printing costs: lists may hold others many times."""
    return len(text) // 10 + sum(_printed(one, {}) for one in arguments) // 10


def _printed(value: Any, known: dict[int, int]) -> int:
    kind = class_of(value)
    if kind is str or kind is bytes:
        return len(value)
    if kind not in (list, dict):
        return 10
    if id(value) not in known:
        known[id(value)] = 10 * len(value) + sum(_printed(one, known) for one in (value if kind is list else value.values()))
    return known[id(value)]


@method("format", str, list, cost=_size)
def _format(text: str, arguments: list[Any]) -> str:
    parts: list[str] = []
    used = at = 0
    for match in _CLAUSE.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[1]:
            parts.append("%")
            continue
        if match[3] is None:
            raise EvaluationError("unexpected end of string")
        form = _FORMS.get(match[3])
        if form is None:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{match[3]}"')
        if used >= len(arguments):
            raise EvaluationError(f"index {used} out of range")
        precision = 6 if match[2] is None else int(match[2])
        if precision > _MOST_DIGITS:
            raise EvaluationError(f"could not parse formatting clause: precision must be at most {_MOST_DIGITS}")
        try:
            parts.append(form(arguments[used], precision))
        except EvaluationError as wrong:
            raise EvaluationError(f"error during formatting: {wrong}, was given {type_of(arguments[used]).name}") from None
        used += 1
    return "".join((*parts, text[at:]))


def _text(value: Any, _precision: int = 0) -> str:
    kind = class_of(value)
    if kind is str:
        return str(value)
    if kind in _WHOLE:
        return str(int(value))
    if kind is list:
        return f"[{', '.join(map(_text, value))}]"
    if kind is dict:
        pairs = sorted((_text(key), _text(item)) for key, item in zip(keys_of(value), value.values(), strict=True))
        return f"{{{', '.join(f'{key}: {item}' for key, item in pairs)}}}"
    printer = _PRINTERS.get(kind)
    if printer is None:
        raise EvaluationError(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        )
    return printer(value)


def _double(value: float) -> str:
    return "Infinity" if value == math.inf else "-Infinity" if value == -math.inf else print_double(value)


_PRINTERS: Final[dict[type, Callable[[Any], str]]] = {
    bool: lambda value: "true" if value else "false",
    type(None): lambda _value: "null",
    float: _double,
    bytes: lambda value: value.decode("utf-8", "replace"),
    Type: lambda value: value.name,
    Flag: lambda value: "true" if value.value else "false",
    Timestamp: print_timestamp,
    Duration: print_duration,
}


def _decimal(value: Any, _precision: int) -> str:
    kind = class_of(value)
    if kind in _WHOLE:
        return str(int(value))
    if kind is float and not math.isfinite(value):
        return _double(value)
    raise EvaluationError("decimal clause can only be used on integers")


def _number(value: Any, precision: int, *, form: str, clause: str) -> str:
    if class_of(value) not in (*_WHOLE, float):
        raise EvaluationError(f"{clause} clause can only be used on doubles")
    number = float(value)
    return f"{number:.{precision}{form}}" if math.isfinite(number) else _double(number)


def _digits(value: Any, _precision: int, *, form: str, kinds: tuple[type, ...], wrong: str) -> str:
    if class_of(value) in kinds:
        return f"{int(value):{form}}"
    raise EvaluationError(wrong)


def _hexadecimal(value: Any, _precision: int) -> str:
    kind = class_of(value)
    if kind in _WHOLE:
        return f"{int(value):x}"
    if kind is str or kind is bytes:
        return bytes(value.encode("utf-8", "replace") if kind is str else value).hex()
    raise EvaluationError("only integers, byte buffers, and strings can be formatted as hex")


_FORMS: Final[dict[str, Callable[[Any, int], str]]] = {
    "s": _text,
    "d": _decimal,
    "f": partial(_number, form="f", clause="fixed-point"),
    "e": partial(_number, form="e", clause="scientific"),
    "b": partial(_digits, form="b", kinds=(*_WHOLE, bool), wrong="only integers and bools can be formatted as binary"),
    "o": partial(_digits, form="o", kinds=_WHOLE, wrong="octal clause can only be used on integers"),
    "x": _hexadecimal,
    "X": lambda value, precision: _hexadecimal(value, precision).upper(),
}
