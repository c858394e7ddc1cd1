"""Functions of numbers."""

import math
import operator
from collections.abc import Callable
from typing import Any

from ..errors import EvaluationError, no_overload
from ..operators import as_int
from ..overloads import function
from ..values import LARGEST_UINT, NUMBERS, Uint, class_of

_FIELD = 64


def _checked(items: list[Any]) -> list[Any]:
    if not items or not all(class_of(item) in NUMBERS for item in items):
        raise no_overload()
    return items


function("math.greatest", *NUMBERS, ...)(lambda *values: max(values))
function("math.least", *NUMBERS, ...)(lambda *values: min(values))
function("math.greatest", list)(lambda items: max(_checked(items)))
function("math.least", list)(lambda items: min(_checked(items)))


def _half_up(value: float) -> float:
    """Rounds a half away from zero."""
    whole = math.trunc(value)
    return whole + (math.copysign(1, value) if abs(value - whole) >= 0.5 else 0)


def _rounding(name: str, whole: Callable[[float], float]) -> None:
    """A function of finite numbers that keeps their sign."""
    function(name, float)(lambda value: math.copysign(whole(value), value) if math.isfinite(value) else value)


_rounding("math.ceil", math.ceil)
_rounding("math.floor", math.floor)
_rounding("math.trunc", math.trunc)
_rounding("math.round", _half_up)
function("math.isNaN", float)(math.isnan)
function("math.isInf", float)(math.isinf)
function("math.isFinite", float)(math.isfinite)
function("math.abs", int)(lambda value: as_int(abs(value)))
function("math.abs", float)(abs)
function("math.abs", Uint)(lambda value: value)


@function("math.sign", int)
@function("math.sign", Uint)
@function("math.sign", float)
def _sign(value: Any) -> Any:
    sign = (value > 0) - (value < 0)
    return value if value != value else class_of(value)(sign)  # noqa: PLR0124 - not a number


@function("math.sqrt", int)
@function("math.sqrt", Uint)
@function("math.sqrt", float)
def _sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def _bitwise(name: str, act: Callable[[int, int], int]) -> None:
    for kind in (int, Uint):
        function(name, kind, kind)(lambda one, other: type(one)(act(int(one), int(other))))


_bitwise("math.bitAnd", operator.and_)
_bitwise("math.bitOr", operator.or_)
_bitwise("math.bitXor", operator.xor)
function("math.bitNot", int)(operator.invert)
function("math.bitNot", Uint)(lambda value: Uint(LARGEST_UINT - value))


def _shift(count: int, way: str) -> int:
    if count < 0:
        raise EvaluationError(f"math.bitShift{way}() negative offset: {count}")
    return min(count, _FIELD)


@function("math.bitShiftLeft", int, int)
def _left(value: int, count: int) -> int:
    bits = (value << _shift(count, "Left")) & LARGEST_UINT
    return bits - (1 << _FIELD) if bits >> (_FIELD - 1) else bits


@function("math.bitShiftRight", int, int)
def _right(value: int, count: int) -> int:
    """Shifts the bits of a negative number, too, without its sign."""
    return (value & LARGEST_UINT) >> _shift(count, "Right") if count else value


function("math.bitShiftLeft", Uint, int)(lambda value, count: Uint((value << _shift(count, "Left")) & LARGEST_UINT))
function("math.bitShiftRight", Uint, int)(lambda value, count: Uint(value >> _shift(count, "Right")))
