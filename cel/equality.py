"""Equality, which is charged for the values that it visits: a value may contain another many times, and at many levels."""

from collections.abc import Iterable
from typing import Any, Final

from .errors import no_overload
from .frame import Frame
from .values import NONE, NUMBERS, SCALARS, Optional, as_key, class_of

_NOTHING: Final = object()  # equal to no value
_ALIKE: Final[tuple[tuple[Any, ...], tuple[Any, ...]]] = ((), ())


def equal(frame: Frame, value: Any, other: Any) -> bool:
    """Whether two values are equal: numbers of all types by their amount, values of different types never."""
    kind = type(value)
    if kind is type(other) and kind in SCALARS:
        if kind is str or kind is bytes:
            frame.spend_compared(value)
        return bool(value == other)
    waiting: list[tuple[Iterable[Any], Iterable[Any]]] = [((value,), (other,))]
    while waiting:
        for left, right in zip(*waiting.pop(), strict=True):
            kind = type(left)
            if kind is type(right) and kind in SCALARS:
                if kind is str or kind is bytes:
                    frame.spend_compared(left)
                if left != right:
                    return False
                continue
            parts = _parts(frame, left, right)
            if parts is None:
                return False
            if parts is not _ALIKE:
                waiting.append(parts)
    return True


def equate(frame: Frame, value: Any, other: Any) -> bool:
    """The operator: addresses, versions and the like have none with another type."""
    if type(value) is not type(other) and getattr(value, "kind", "").startswith(("kubernetes.", "net.")):
        raise no_overload()
    return equal(frame, value, other)


def _parts(frame: Frame, value: Any, other: Any) -> tuple[Iterable[Any], Iterable[Any]] | None:
    """Returns the parts that must be equal, pair by pair, so that two values are; None where they can't be."""
    first, second = class_of(value), class_of(other)
    if first is not second:
        numbers = first in NUMBERS and second in NUMBERS
        return _ALIKE if numbers and (float(value) == float(other) if float in (first, second) else value == other) else None
    frame.spend(1)
    if first is Optional and value is not NONE and other is not NONE:
        return (value.value,), (other.value,)
    frame.spend_size(value)
    if first is not list and first is not dict:
        return _ALIKE if value == other else None
    if len(value) != len(other):
        return None
    if first is list:
        return value, other
    frame.spend_compared(*value)
    return value.values(), [other.get(key, _NOTHING) for key in value]


def contains(frame: Frame, value: Any, container: Any) -> bool:
    """Whether a list has a value, or a map a key."""
    kind = class_of(container)
    if kind is dict:
        if getattr(value, "kind", "") == "kubernetes.NamedFormat":  # which Go can't look up
            raise no_overload()
        return as_key(value, lenient=True) in container
    if kind is not list:
        raise no_overload()
    if type(value) is not str:
        return any(equal(frame, value, item) for item in container)
    frame.spend(len(container) * (len(value) // 1000))
    return value in container
