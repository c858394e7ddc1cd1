"""From one type to another, and sizes."""

import contextlib
import math
import re
from typing import Final

from ..errors import EvaluationError
from ..operators import as_int, as_uint
from ..overloads import ANY, function, method
from ..values import MAX_INT64, MAX_UINT, MIN_INT64, Uint, type_of

_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")
# numbers as Go's strconv.ParseFloat reads them
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX](?:(?:_?[\da-f])+\.?[\da-f]*|\.[\da-f]+)[pP][+-]?\d+", re.ASCII | re.IGNORECASE)
_ENDLESS: Final = re.compile(r"[+-]?inf(?:inity)?|nan", re.ASCII | re.IGNORECASE)


function("type", ANY)(type_of)
for _name, _type in (("bool", bool), ("int", int), ("uint", Uint), ("double", float), ("string", str), ("bytes", bytes), ("dyn", ANY)):
    function(_name, _type)(lambda value: value)
for _type in (str, bytes, list, dict):
    function("size", _type)(len)
    method("size", _type)(len)


@function("bool", str)
def _bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise EvaluationError("type conversion error from 'string' to 'bool'")


@function("int", float)
def _int_of_double(value: float) -> int:
    # a double next to the ends of the range may be either side of it
    if not math.isfinite(value) or not MIN_INT64 < value < MAX_INT64:
        raise EvaluationError("integer overflow")
    return int(value)


@function("uint", float)
def _uint_of_double(value: float) -> Uint:
    if not math.isfinite(value) or not 0 <= value < MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(value))


def _whole(text: str, wanted: str, *, sign: str) -> int:
    digits = text[1:] if text[:1] and text[0] in sign else text
    whole = digits.lstrip("0") or "0"
    if digits.isascii() and digits.isdigit() and len(whole) <= 20:
        number = -int(whole) if text[0] == "-" else int(whole)
        if (MIN_INT64 <= number <= MAX_INT64) if sign else number <= MAX_UINT:
            return number
    raise EvaluationError(f"type conversion error from 'string' to '{wanted}'")


function("int", Uint)(lambda value: as_int(int(value)))
function("int", str)(lambda text: _whole(text, "int", sign="+-"))
function("uint", int)(as_uint)
function("uint", str)(lambda text: Uint(_whole(text, "uint", sign="")))
function("double", int)(float)
function("double", Uint)(float)
function("string", bool)(lambda value: "true" if value else "false")
function("string", int)(lambda value: str(int(value)))
function("string", Uint)(lambda value: str(int(value)))
function("bytes", str)(lambda text: text.encode("utf-8", "surrogatepass"))


@function("double", str)
def _double_of_string(text: str) -> float:
    if _ENDLESS.fullmatch(text):
        return float(text)
    number = math.inf
    with contextlib.suppress(OverflowError):
        if _DECIMAL.fullmatch(text):
            number = float(text)
        elif match := _HEXADECIMAL.fullmatch(text):
            number = float.fromhex(match[0].replace("_", ""))
    if math.isinf(number):
        raise EvaluationError("type conversion error from 'string' to 'double'")
    return number


@function("string", float)
def print_double(value: float) -> str:
    """Prints a double with the fewest digits that distinguish it from its neighbours; from a million on with a power of ten, as Go's %g."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) + len(whole)
    digits = (whole + fraction).lstrip("0")
    exponent -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0") or "0"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return sign + "0"
    if not -4 < exponent <= 6:
        return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{exponent - 1:+03d}"
    if exponent <= 0:
        return f"{sign}0.{'0' * -exponent}{digits}"
    return sign + digits[:exponent].ljust(exponent, "0") + ("." + digits[exponent:] if digits[exponent:] else "")


@function("string", bytes)
def _string_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
