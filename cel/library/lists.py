"""Functions of lists, and of lists as sets."""

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise
from math import isnan
from typing import Any, Final

from ..equality import equal
from ..errors import EvaluationError, no_overload
from ..frame import Frame
from ..operators import BINARY
from ..overloads import ANY, function, method
from ..values import NUMBERS, Duration, class_of

_add: Final = BINARY["+"]
_below: Final = BINARY["<"]
_SUMMED: Final = frozenset({*NUMBERS, Duration})


@method("sum", list)
def _sum(items: list[Any]) -> Any:
    if not all(class_of(item) in _SUMMED for item in items):
        raise no_overload()
    return reduce(_add, items) if items else 0


def _less(item: Any, other: Any) -> bool:
    """Returns whether a value is less than another; NaN is neither less nor greater than any value."""
    if any(type(value) is float and isnan(value) for value in (item, other)):
        return False
    return bool(_below(item, other))


def _extreme(frame: Frame, items: list[Any], name: str) -> Any:
    frame.spend_size(*items)
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    return reduce(lambda item, other: other if (_less(other, item) if name == "min" else _less(item, other)) else item, items, items[0])


@method("join", list, str, metered=True)
def _join(frame: Frame, items: list[Any], between: str) -> str:
    if not all(class_of(item) is str for item in items):
        raise no_overload()
    frame.spend((sum(map(len, items)) + len(items) * len(between)) // 10)
    return between.join(items)


@method("isSorted", list, metered=True)
def _is_sorted(frame: Frame, items: list[Any]) -> bool:
    frame.spend_size(*items)
    return not any(_less(later, before) for before, later in pairwise((*items[:1], *items)))  # the first must have an order, too


def _index(frame: Frame, items: list[Any], wanted: Any, places: Iterable[int]) -> int:
    return next((index for index in places if equal(frame, items[index], wanted)), -1)


method("min", list, metered=True)(lambda frame, items: _extreme(frame, items, "min"))
method("max", list, metered=True)(lambda frame, items: _extreme(frame, items, "max"))
method("indexOf", list, ANY, metered=True)(lambda frame, items, wanted: _index(frame, items, wanted, range(len(items))))
method("lastIndexOf", list, ANY, metered=True)(lambda frame, items, wanted: _index(frame, items, wanted, reversed(range(len(items)))))
method("join", list, metered=True)(lambda frame, items: _join(frame, items, ""))


@function("sets.contains", list, list, metered=True)
def _has_all(frame: Frame, items: list[Any], other: list[Any]) -> bool:
    frame.spend(len(items) * len(other))
    return all(any(equal(frame, item, each) for each in items) for item in other)


@function("sets.intersects", list, list, metered=True)
def _meet(frame: Frame, items: list[Any], other: list[Any]) -> bool:
    frame.spend(len(items) * len(other))
    return any(any(equal(frame, item, each) for each in items) for item in other)


function("sets.equivalent", list, list, metered=True)(
    lambda frame, items, other: _has_all(frame, items, other) and _has_all(frame, other, items)
)
