"""Functions of lists, and of lists as sets."""

from functools import reduce
from itertools import pairwise
from typing import Any, Final

from ..errors import EvaluationError, no_overload
from ..operators import BINARY
from ..overloads import ANY, function, method
from ..values import NUMBERS, ORDERED, Duration, class_of, equal

_add: Final = BINARY["+"]
_below: Final = BINARY["<"]
_SUMMED: Final = frozenset({*NUMBERS, Duration})


def _square(items: list[Any], *_: Any) -> int:
    """What it costs to compare each with each."""
    return len(items) * len(items) // 10


@method("sum", list)
def _sum(items: list[Any]) -> Any:
    if not all(class_of(item) in _SUMMED for item in items):
        raise no_overload()
    return reduce(_add, items) if items else 0


def _extreme(items: list[Any], name: str) -> Any:
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    return reduce(lambda one, other: other if (_below(other, one) if name == "min" else _below(one, other)) else one, items)


def _joined(items: list[Any], between: str) -> int:
    """What joining costs, by the length of the result."""
    return sum(len(one) for one in items if type(one) is str) // 10 + len(items) * len(between) // 10


@method("join", list, str, cost=_joined)
def _join(items: list[Any], between: str) -> str:
    if not all(class_of(item) is str for item in items):
        raise no_overload()
    return between.join(items)


@method("slice", list, int, int)
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flat_size(items: list[Any], depth: int) -> int:
    """The length of a flat list; one list may stand in another many times."""
    if depth <= 0:
        return len(items)
    sizes: dict[int, int] = {}
    return sum(
        sizes[id(item)] if id(item) in sizes else sizes.setdefault(id(item), _flat_size(item, depth - 1))
        for item in items
        if type(item) is list
    ) + len(items)


@method("flatten", list, cost=lambda items: sum(len(one) for one in items if type(one) is list))
def _flatten(items: list[Any]) -> list[Any]:
    return [one for item in items for one in (item if class_of(item) is list else (item,))]


@method("flatten", list, int, cost=_flat_size)
def _flatten_deep(items: list[Any], depth: int) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    while depth > 0 and any(class_of(item) is list for item in items):
        items = _flatten(items)
        depth -= 1
    return items


@method("distinct", list, cost=_square)
def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(equal(item, one) for one in found):
            found.append(item)
    return found


def sort_by(pairs: list[tuple[Any, Any]]) -> list[Any]:
    """Sorts the second of each pair by the first, which are all of one type that has an order."""
    kinds = {class_of(key) for key, _ in pairs}
    if len(kinds) > 1:
        raise EvaluationError("list elements must have the same type")
    if kinds and not kinds <= {*ORDERED, *NUMBERS}:
        raise EvaluationError("list elements must be comparable")
    return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]


method("isSorted", list)(lambda items: not any(_below(later, before) for before, later in pairwise(items)))
method("min", list)(lambda items: _extreme(items, "min"))
method("max", list)(lambda items: _extreme(items, "max"))
method("indexOf", list, ANY)(lambda items, wanted: next((index for index, item in enumerate(items) if equal(item, wanted)), -1))
method("lastIndexOf", list, ANY)(
    lambda items, wanted: next((index for index in reversed(range(len(items))) if equal(items[index], wanted)), -1)
)
method("join", list)(lambda items: _join(items, ""))
method("reverse", list)(lambda items: items[::-1])
method("sort", list)(lambda items: sort_by([(item, item) for item in items]))
function("lists.range", int, cost=lambda count: max(count, 0))(lambda count: [*range(count)])


def _pairs(one: list[Any], other: list[Any]) -> int:
    return len(one) * len(other)


@function("sets.contains", list, list, cost=_pairs)
def _has_all(one: list[Any], other: list[Any]) -> bool:
    return all(any(equal(item, each) for each in one) for item in other)


function("sets.equivalent", list, list, cost=_pairs)(lambda one, other: _has_all(one, other) and _has_all(other, one))
function("sets.intersects", list, list, cost=_pairs)(lambda one, other: any(any(equal(item, each) for each in one) for item in other))
