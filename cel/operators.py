"""The operators between two values, and those before one."""

import math
import operator
from collections.abc import Callable
from typing import Any, Final

from .equality import contains, equal, equate
from .errors import EvaluationError, no_overload
from .frame import Frame
from .values import (
    MAX_INT64,
    MAX_UINT,
    MIN_INT64,
    NUMBERS,
    ORDERED,
    Duration,
    Timestamp,
    Uint,
    class_of,
    look_up,
)

Binary = Callable[[Any, Any], Any]

# of years 1 to 9999
_FIRST: Final = -62_135_596_800 * 10**9
_MAX_TIMESTAMP_NANOS: Final = 253_402_300_800 * 10**9 - 1


def as_int(value: int) -> int:
    """Returns a number that fits into 64 bits. Raises EvaluationError for another."""
    if MIN_INT64 <= value <= MAX_INT64:
        return value
    raise EvaluationError("integer overflow")


def as_uint(value: int) -> Uint:
    """Returns a number without a sign."""
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def as_timestamp(nanos: int, ahead: int = 0) -> Timestamp:
    """Returns a moment of the years 1 to 9999."""
    if _FIRST <= nanos <= _MAX_TIMESTAMP_NANOS:
        return Timestamp(nanos, ahead)
    raise EvaluationError("timestamp overflow")


def as_duration(nanos: int) -> Duration:
    """Returns a span of at most 292 years."""
    if MIN_INT64 <= nanos <= MAX_INT64:
        return Duration(nanos)
    raise EvaluationError("integer overflow")


def _same(act: Binary) -> dict[tuple[type, type], Binary]:
    return {
        (int, int): lambda value, other: as_int(act(value, other)),
        (Uint, Uint): lambda value, other: as_uint(act(int(value), int(other))),
        (float, float): act,
    }


def _whole_quotient(dividend: int, other: int) -> int:
    """Divides and rounds towards zero."""
    if other == 0:
        raise EvaluationError("division by zero")
    quotient = abs(dividend) // abs(other)
    return quotient if (dividend < 0) == (other < 0) else -quotient


def _modulo(dividend: int, other: int) -> int:
    if other == 0:
        raise EvaluationError("modulus by zero")
    if (dividend, other) == (MIN_INT64, -1):
        raise EvaluationError("integer overflow")
    return int(math.copysign(1, dividend)) * (abs(dividend) % abs(other))


def _quotient(dividend: float, other: float) -> float:
    try:
        return dividend / other
    except ZeroDivisionError:
        if dividend == 0 or math.isnan(dividend):
            return math.nan
        return math.copysign(math.inf, dividend) * math.copysign(1, other)


_ARITHMETIC: Final[dict[str, dict[tuple[type, type], Binary]]] = {
    "+": {
        **_same(operator.add),
        (str, str): operator.add,
        (bytes, bytes): operator.add,
        (list, list): operator.add,
        (Timestamp, Duration): lambda value, other: as_timestamp(value.nanos + other.nanos, value.ahead),
        (Duration, Timestamp): lambda value, other: as_timestamp(value.nanos + other.nanos, other.ahead),
        (Duration, Duration): lambda value, other: as_duration(value.nanos + other.nanos),
    },
    "-": {
        **_same(operator.sub),
        (Timestamp, Duration): lambda value, other: as_timestamp(value.nanos - other.nanos, value.ahead),
        (Timestamp, Timestamp): lambda value, other: as_duration(value.nanos - other.nanos),
        (Duration, Duration): lambda value, other: as_duration(value.nanos - other.nanos),
    },
    "*": _same(operator.mul),
    "/": {**_same(_whole_quotient), (float, float): _quotient},
    "%": {
        (int, int): _modulo,
        (Uint, Uint): lambda value, other: Uint(_modulo(int(value), int(other))),
    },
}


def _arithmetic(sign: str) -> Binary:
    acts = _ARITHMETIC[sign]

    def run(value: Any, other: Any) -> Any:
        act = acts.get((type(value), type(other))) or acts.get((class_of(value), class_of(other)))
        if act is None:
            raise no_overload()
        return act(value, other)

    return run


def _ordered(act: Callable[[Any, Any], Any]) -> Binary:
    def run(value: Any, other: Any) -> bool:
        first, second = type(value), type(other)
        if first is int and second is int:
            return bool(act(value, other))
        first, second = class_of(value), class_of(other)
        if first is second and first in ORDERED:
            return bool(act(value, other))
        if first in NUMBERS and second in NUMBERS:
            if value != value or other != other:  # noqa: PLR0124 - not a number
                raise EvaluationError("NaN values cannot be ordered")
            return bool(act(float(value), float(other)) if float in (first, second) else act(value, other))
        raise no_overload()

    return run


# what spends as it goes
METERED: Final[dict[str, Callable[[Frame, Any, Any], bool]]] = {
    "==": equate,
    "!=": lambda frame, value, other: not equal(frame, value, other),
    "in": contains,
}
BINARY: Final[dict[str, Binary]] = {
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "[]": look_up,
    **{sign: _arithmetic(sign) for sign in _ARITHMETIC},
}


def negate(value: Any) -> Any:
    """Returns a number with the other sign."""
    kind = class_of(value)
    if kind is int:
        return as_int(-value)
    if kind is float:
        return -value
    raise no_overload()
