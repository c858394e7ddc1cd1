"""Kubernetes' quantities."""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from ..errors import EvaluationError
from ..overloads import comparable, function, method
from ..values import LARGEST, SMALLEST

_NANO: Final = 10**9
_CAP: Final = (2**63 - 1) * _NANO
_TEXT: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d{1,9}))?", re.ASCII)
_FORM: Final = re.compile(r"[+-]?\d*(?:\.\d*)?[eEinumkKMGTP]*[-+]?\d*", re.ASCII)
_WRONG_FORM: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount in nanos, which are its finest grain."""

    nanos: int
    kind: ClassVar = "kubernetes.Quantity"


def _parse(text: str) -> Quantity | None:
    match = _TEXT.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, fraction, binary, decimal, power = match.groups(default="")
    digits = int((whole + fraction) or "0")
    scale = (int(power) if power else _DECIMAL.get(decimal, 0)) - len(fraction) + 9
    if scale > _LONGEST or (digits and scale < -2 * _LONGEST):
        nanos = _CAP if digits and scale > 0 else min(digits, 1)
    else:
        exact = digits << _BINARY.get(binary, 0)
        nanos = exact * 10**scale if scale >= 0 else -(-exact // 10**-scale)  # rounded away from zero
    nanos = min(nanos, _CAP)
    return Quantity(-nanos if sign == "-" else nanos)


@function("quantity", str)
def _quantity(text: str) -> Quantity:
    found = _parse(text)
    if found is None:
        raise EvaluationError("unable to parse quantity's suffix" if text and _FORM.fullmatch(text) else _WRONG_FORM)
    return found


@method("isInteger", Quantity)
def _is_integer(value: Quantity) -> bool:
    return value.nanos % _NANO == 0 and SMALLEST <= value.nanos // _NANO <= LARGEST


@method("asInteger", Quantity)
def _as_integer(value: Quantity) -> int:
    if not _is_integer(value):
        raise EvaluationError("cannot convert value to integer")
    return value.nanos // _NANO


function("isQuantity", str)(lambda text: _parse(text) is not None)
method("sign", Quantity)(lambda value: (value.nanos > 0) - (value.nanos < 0))
method("asApproximateFloat", Quantity)(lambda value: value.nanos / _NANO)
method("add", Quantity, Quantity)(lambda one, other: Quantity(one.nanos + other.nanos))
method("add", Quantity, int)(lambda one, other: Quantity(one.nanos + other * _NANO))
method("sub", Quantity, Quantity)(lambda one, other: Quantity(one.nanos - other.nanos))
method("sub", Quantity, int)(lambda one, other: Quantity(one.nanos - other * _NANO))
comparable(Quantity)
