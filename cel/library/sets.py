"""Lists as sets."""

from __future__ import annotations

from typing import Any

from ..overloads import function
from ..values import equal


def _pairs(one: list[Any], other: list[Any]) -> int:
    return len(one) * len(other)


@function("sets.contains", list, list, cost=_pairs)
def _contains(one: list[Any], other: list[Any]) -> bool:
    return all(any(equal(item, each) for each in one) for item in other)


@function("sets.equivalent", list, list, cost=_pairs)
def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


@function("sets.intersects", list, list, cost=_pairs)
def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(any(equal(item, each) for each in one) for item in other)
