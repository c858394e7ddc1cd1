"""`format` and `quote`."""

import math
import re
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, Final

from ..errors import EvaluationError, OverBudgetError
from ..frame import Frame
from ..overloads import function, method
from ..values import Duration, Timestamp, Type, Uint, class_of, keys_of, type_of
from .conversions import print_double
from .times import print_duration, print_timestamp

CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.(\d{1,9}))?(.)|$)", re.DOTALL | re.ASCII)
MAX_DIGITS: Final = 1000
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
_ENDLESS: Final = ("NaN", "Infinity", "-Infinity")  # texts that are taken for doubles
_RAISED: Final = str.maketrans(
    "0123456789-",
    "\N{SUPERSCRIPT ZERO}\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}\N{SUPERSCRIPT THREE}\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT FIVE}"
    "\N{SUPERSCRIPT SIX}\N{SUPERSCRIPT SEVEN}\N{SUPERSCRIPT EIGHT}\N{SUPERSCRIPT NINE}\N{SUPERSCRIPT MINUS}",
)


@function("strings.quote", str)
def _quote(text: str) -> str:
    return f'"{"".join(_ESCAPES.get(char, char) for char in text)}"'.encode("utf-8", "replace").decode()


@method("format", str, list, metered=True)
def _format(frame: Frame, text: str, arguments: list[Any]) -> str:
    parts: list[str] = []
    used = at = 0
    for match in CLAUSE.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[1]:
            parts.append("%")
            continue
        if match[3] is None:
            raise EvaluationError("unexpected end of string")
        form = partial(_text, frame) if match[3] == "s" else _FORMS.get(match[3])
        if form is None:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{match[3]}"')
        if used >= len(arguments):
            raise EvaluationError(f"index {used} out of range")
        precision = 6 if match[2] is None else int(match[2])
        if precision > MAX_DIGITS:
            raise EvaluationError(f"could not parse formatting clause: precision must be at most {MAX_DIGITS}")
        try:
            frame.spend(1 + precision // 10)
            frame.spend_size(arguments[used])
            parts.append(form(arguments[used], precision))
        except OverBudgetError:
            raise
        except EvaluationError as wrong:
            raise EvaluationError(f"error during formatting: {wrong}, was given {type_of(arguments[used]).name}") from None
        used += 1
    return "".join((*parts, text[at:]))


def _text(frame: Frame, value: Any, _precision: int) -> str:
    """Prints a value with all that is in it: what waits to be printed is a value, or a sign between values in a tuple."""
    if class_of(value) not in (list, dict):
        return _printed(value, _PRINTERS)
    parts: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        part = waiting.pop()
        if type(part) is tuple:
            parts += part
            continue
        frame.spend(1)
        frame.spend_size(part)
        kind = class_of(part)
        if kind is list:
            inner = [each for item in part for each in ((", ",), item)]
            waiting += [("]",), *reversed(inner[1:]), ("[",)]
        elif kind is dict:
            named = sorted(
                ((_printed(key, _INNER), item) for key, item in zip(keys_of(part), part.values(), strict=True)), key=itemgetter(0)
            )
            inner = [each for key, item in named for each in ((", ",), (key, ":"), item)]
            waiting += [("}",), *reversed(inner[1:]), ("{",)]
        else:
            parts.append(_printed(part, _INNER))
    return "".join(parts)


def _printed(value: Any, printers: dict[type, Callable[[Any], str]]) -> str:
    printer = printers.get(class_of(value))
    if printer is None:
        raise EvaluationError(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        )
    return printer(value)


def _quoted(text: str) -> str:
    """A text as Go's %q prints it."""
    return f'"{"".join(_ESCAPES.get(char) or (char if char.isprintable() else _escaped(ord(char))) for char in text)}"'


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        wrong = "invalid UTF-8 in bytes, cannot convert to string"
        raise EvaluationError(f'could not convert argument "{wrong}" to string') from None


_PRINTERS: Final[dict[type, Callable[[Any], str]]] = {
    str: str,
    int: str,
    Uint: lambda value: str(int(value)),
    bool: lambda value: "true" if value else "false",
    type(None): lambda _value: "null",
    float: print_double,
    bytes: _of_bytes,
    Type: lambda value: value.name,
    Timestamp: print_timestamp,
    Duration: print_duration,
}
# printers of values in a list or a map
_INNER: Final = {
    **_PRINTERS,
    str: _quoted,
    float: lambda value: f"{value:.6f}" if math.isfinite(value) else f'"{print_double(value)}"',
    bytes: lambda value: f"b{_quoted(_of_bytes(value))}",
    Timestamp: lambda value: f'timestamp("{print_timestamp(value)}")',
    Duration: lambda value: f'duration("{print_duration(value)}")',
}


def _decimal(value: Any, _precision: int) -> str:
    if class_of(value) in _WHOLE:
        return str(int(value))
    raise EvaluationError("decimal clause can only be used on integers")


def _double(value: Any, clause: str) -> float:
    if class_of(value) is float:
        return 0.0 if value == 0 else float(value)  # which has no sign
    if value in _ENDLESS:
        return float(value)
    raise EvaluationError(f"{clause} clause can only be used on doubles")


def _endless(value: float) -> str:
    return "NaN" if math.isnan(value) else "\N{INFINITY}" if value > 0 else "-\N{INFINITY}"


def _fixed(value: Any, precision: int) -> str:
    """The digits in groups of three, as an API server prints them in English."""
    number = _double(value, "fixed-point")
    return f"{number:,.{precision}f}" if math.isfinite(number) else _endless(number)


def _scientific(value: Any, width: int) -> str:
    """The power of ten as such, and always six decimals, as an API server prints it, which takes the precision for a width."""
    number = _double(value, "scientific")
    if not math.isfinite(number):
        return _endless(number).rjust(width)
    mantissa, _, power = f"{number:.6e}".partition("e")
    return f"{mantissa}\N{MULTIPLICATION SIGN}10{power.removeprefix('+').translate(_RAISED)}".rjust(width)


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
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": partial(_digits, form="b", kinds=(*_WHOLE, bool), wrong="only integers and bools can be formatted as binary"),
    "o": partial(_digits, form="o", kinds=_WHOLE, wrong="octal clause can only be used on integers"),
    "x": _hexadecimal,
    "X": lambda value, precision: _hexadecimal(value, precision).upper(),
}
