"""Kubernetes' quantities."""

import math
import re
from dataclasses import dataclass, field
from typing import ClassVar, Final

from ..errors import EvaluationError
from ..overloads import comparable, function, method
from ..values import MAX_INT64, MIN_INT64

_NANO: Final = 10**9
_CAP: Final = (2**63 - 1) * _NANO
_TEXT: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d{1,9}))?", re.ASCII)
_FORM: Final = re.compile(r"[+-]?\d*(?:\.\d*)?[eEinumkKMGTP]*[-+]?\d*", re.ASCII)
_WRONG_FORM: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MAX_QUANTITY_CHARACTERS: Final = 400


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount in nanos, which are its finest grain."""

    nanos: int
    small: tuple[int, int] | None = field(default=None, compare=False)  # a number of 64 bits and its power of ten, where it was written so
    kind: ClassVar = "kubernetes.Quantity"


def _parse(text: str) -> Quantity | None:
    match = _TEXT.fullmatch(text) if len(text) <= _MAX_QUANTITY_CHARACTERS else None
    if match is None or not (match[2] or match[3] is not None):
        return None
    sign, whole, fraction, binary, decimal, power = match.groups(default="")
    digits = int((whole + fraction) or "0")
    scale = (int(power) if power else _DECIMAL.get(decimal, 0)) - len(fraction) + 9
    if scale > _MAX_QUANTITY_CHARACTERS or (digits and scale < -2 * _MAX_QUANTITY_CHARACTERS):
        nanos = _CAP if digits and scale > 0 else min(digits, 1)
    else:
        exact = digits << _BINARY.get(binary, 0)
        nanos = exact * 10**scale if scale >= 0 else -(-exact // 10**-scale)  # rounded away from zero
    factor = -1 if sign == "-" else 1
    small = _small(whole.lstrip("0") or "0", fraction, _BINARY.get(binary, 0), scale - 9) if scale <= _MAX_QUANTITY_CHARACTERS else None
    if small is None:
        return Quantity(factor * (min(nanos, _CAP) if binary else nanos))
    return Quantity(factor * nanos, (factor * small[0], small[1]))


def _small(whole: str, fraction: str, bits: int, power: int) -> tuple[int, int] | None:
    """Returns an amount as Kubernetes keeps one that it reads fast; None where it takes a decimal number of any size instead."""
    room = 15 - len(whole) - bits * 3 // 10 - 1 if bits else 18 - len(whole) - len(fraction)
    if room < 0 or power < -9 or (bits and fraction):
        return None
    value = int(whole + fraction) << bits
    return (value, power) if value <= MAX_INT64 else None


def _sum(quantity: Quantity, other: Quantity, sign: int = 1) -> Quantity:
    nanos = quantity.nanos + sign * other.nanos
    if quantity.small is None or other.small is None:
        return Quantity(nanos)
    (value, power), (more, of_more) = quantity.small, other.small
    if not more or not value:
        return Quantity(nanos, quantity.small if not more else (sign * more, of_more))
    least = min(power, of_more)
    if max(power, of_more) - least > 18:
        return Quantity(nanos)
    left, right = value * 10 ** (power - least), sign * more * 10 ** (of_more - least)
    fits = all(MIN_INT64 <= each <= MAX_INT64 for each in (left, right, left + right))
    return Quantity(nanos, (left + right, least) if fits else None)


def _whole(value: int) -> Quantity:
    return Quantity(value * _NANO, (value, 0))


@function("quantity", str)
def _quantity(text: str) -> Quantity:
    quantity = _parse(text)
    if quantity is None:
        raise EvaluationError("unable to parse quantity's suffix" if text and _FORM.fullmatch(text) else _WRONG_FORM)
    return quantity


@method("isInteger", Quantity)
def _is_integer(value: Quantity) -> bool:
    """Returns whether a quantity is kept as a whole number: `1.0` and `1000m` are not, nor are those too long to be read fast."""
    return value.small is not None and value.small[1] >= 0 and MIN_INT64 <= value.nanos // _NANO <= MAX_INT64


@method("asInteger", Quantity)
def _as_integer(value: Quantity) -> int:
    if not _is_integer(value):
        raise EvaluationError("cannot convert value to integer")
    return value.nanos // _NANO


function("isQuantity", str)(lambda text: _parse(text) is not None)
function("sign", Quantity)(lambda value: (value.nanos > 0) - (value.nanos < 0))
method("add", Quantity, Quantity)(_sum)
method("add", Quantity, int)(lambda quantity, other: _sum(quantity, _whole(other)))
method("sub", Quantity, Quantity)(lambda quantity, other: _sum(quantity, other, -1))
method("sub", Quantity, int)(lambda quantity, other: _sum(quantity, _whole(other), -1))


@method("asApproximateFloat", Quantity)
def _as_float(value: Quantity) -> float:
    try:
        return value.small[0] * float(f"1e{value.small[1]}") if value.small else float(value.nanos) * 1e-9
    except OverflowError:
        return math.copysign(math.inf, value.nanos)


comparable(Quantity)
