"""Functions of numbers."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from ..errors import EvaluationError, no_overload
from ..operators import as_int
from ..overloads import function
from ..values import LARGEST_UINT, NUMBERS, Uint, class_of

_FIELD = 64


@function("math.greatest", *NUMBERS, ...)
def _greatest(*values: Any) -> Any:
    return reduce(lambda one, other: other if other > one else one, values)


@function("math.least", *NUMBERS, ...)
def _least(*values: Any) -> Any:
    return reduce(lambda one, other: other if other < one else one, values)


def _checked(items: list[Any]) -> list[Any]:
    if not items or not all(class_of(item) in NUMBERS for item in items):
        raise no_overload()
    return items


@function("math.greatest", list)
def _greatest_of(items: list[Any]) -> Any:
    return _greatest(*_checked(items))


@function("math.least", list)
def _least_of(items: list[Any]) -> Any:
    return _least(*_checked(items))


def _rounded(value: float, whole: float) -> float:
    return math.copysign(whole, value)


@function("math.ceil", float)
def _ceil(value: float) -> float:
    return _rounded(value, math.ceil(value)) if math.isfinite(value) else value


@function("math.floor", float)
def _floor(value: float) -> float:
    return _rounded(value, math.floor(value)) if math.isfinite(value) else value


@function("math.trunc", float)
def _trunc(value: float) -> float:
    return _rounded(value, math.trunc(value)) if math.isfinite(value) else value


@function("math.round", float)
def _round(value: float) -> float:
    """Rounds a half away from zero."""
    if not math.isfinite(value):
        return value
    whole = math.trunc(value)
    return _rounded(value, whole + (math.copysign(1, value) if abs(value - whole) >= 0.5 else 0))


@function("math.abs", int)
def _abs(value: int) -> int:
    return as_int(abs(value))


@function("math.abs", Uint)
@function("math.abs", float)
def _abs_of(value: Any) -> Any:
    return value if class_of(value) is Uint else abs(value)


@function("math.sign", int)
@function("math.sign", Uint)
@function("math.sign", float)
def _sign(value: Any) -> Any:
    sign = (value > 0) - (value < 0)
    return value if value != value else class_of(value)(sign)  # noqa: PLR0124 - not a number


@function("math.isNaN", float)
def _is_nan(value: float) -> bool:
    return math.isnan(value)


@function("math.isInf", float)
def _is_inf(value: float) -> bool:
    return math.isinf(value)


@function("math.isFinite", float)
def _is_finite(value: float) -> bool:
    return math.isfinite(value)


@function("math.sqrt", int)
@function("math.sqrt", Uint)
@function("math.sqrt", float)
def _sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


@function("math.bitAnd", int, int)
@function("math.bitAnd", Uint, Uint)
def _and(one: int, other: int) -> int:
    return type(one)(int(one) & int(other))


@function("math.bitOr", int, int)
@function("math.bitOr", Uint, Uint)
def _or(one: int, other: int) -> int:
    return type(one)(int(one) | int(other))


@function("math.bitXor", int, int)
@function("math.bitXor", Uint, Uint)
def _xor(one: int, other: int) -> int:
    return type(one)(int(one) ^ int(other))


@function("math.bitNot", int)
def _not(value: int) -> int:
    return ~value


@function("math.bitNot", Uint)
def _not_uint(value: Uint) -> Uint:
    return Uint(LARGEST_UINT - value)


def _shift(count: int, way: str) -> int:
    if count < 0:
        raise EvaluationError(f"math.bitShift{way}() negative offset: {count}")
    return min(count, _FIELD)


@function("math.bitShiftLeft", int, int)
def _left(value: int, count: int) -> int:
    bits = (value << _shift(count, "Left")) & LARGEST_UINT
    return bits - (1 << _FIELD) if bits >> (_FIELD - 1) else bits


@function("math.bitShiftLeft", Uint, int)
def _left_uint(value: Uint, count: int) -> Uint:
    return Uint((value << _shift(count, "Left")) & LARGEST_UINT)


@function("math.bitShiftRight", int, int)
def _right(value: int, count: int) -> int:
    """Shifts the bits of a negative number, too, without its sign."""
    return (value & LARGEST_UINT) >> _shift(count, "Right") if count else value


@function("math.bitShiftRight", Uint, int)
def _right_uint(value: Uint, count: int) -> Uint:
    return Uint(value >> _shift(count, "Right"))
