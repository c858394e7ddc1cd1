"""Compares converted objects with written ones: live members up to zero values and spelling, kept payloads by what they hold at least."""

import json
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from dynamo_webhooks.api.quantity import parse

# Zero values that mean something where they stand, so they are compared.
MEANT: Final = {"scalingAdapter", "autoApply", "enableGpuDiscovery", "enabled", "replicas", "runAsNonRoot", "emptyDir", "experimental"}
ZERO: Final[tuple[Any, ...]] = (None, "", "0", 0, False, [], {})


def plain(value: Any, *, status: bool = False) -> Any:
    """The value without the zero values that typed encoders write or leave out at will."""
    if type(value) is list:
        return [plain(item, status=status) for item in value]
    if type(value) is not dict:
        return value
    below = {key: plain(item, status=status or key == "status") for key, item in value.items() if item is not None}
    return {key: item for key, item in below.items() if _is_meant(key, status=status) or not _is_zero(item)}


def _is_meant(name: str, *, status: bool) -> bool:
    return name in MEANT and not (status and name == "replicas")


def _is_zero(value: Any) -> bool:
    return any(type(value) is type(zero) and value == zero for zero in ZERO)


def unlike(got: Any, want: Any, path: str = "") -> Iterator[str]:
    """Where two plain values say different things."""
    if type(got) is dict and type(want) is dict:
        for key in sorted(got.keys() | want.keys()):
            yield from unlike(got.get(key), want.get(key), f"{path}.{key}")
    elif type(got) is list and type(want) is list and len(got) == len(want):
        for index, (one, other) in enumerate(zip(got, want, strict=True)):
            yield from unlike(one, other, f"{path}[{index}]")
    elif not same_meaning(got, want):
        yield f"{path}: {got!r}, should be {want!r}"


def same_meaning(one: Any, other: Any) -> bool:
    """Whether two scalars are equal, or spell the same amount or the same instant."""
    if type(one) is type(other) and one == other:
        return True
    return any(read(one) is not None and read(one) == read(other) for read in (_amount, _instant))


def _amount(value: Any) -> Fraction | None:
    if type(value) is bool or type(value) not in (str, int, float):
        return None
    try:
        return Fraction(parse(value))
    except ValueError:
        return None


def _instant(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if type(value) is str and "T" in value else None
    except ValueError:
        return None


def holds(ours: Any, theirs: Any) -> bool:
    """Whether a kept payload says at least what another one says."""
    if type(ours) is dict and type(theirs) is dict:
        return all(holds(ours.get(key), below) for key, below in theirs.items())
    if type(ours) is list and type(theirs) is list:
        return len(ours) >= len(theirs) and all(any(holds(mine, item) for mine in ours) for item in theirs)
    return same_meaning(ours, theirs)


def payload(text: str) -> Any:
    """An annotation's JSON without zero values; the text itself where it is none."""
    try:
        return plain(json.loads(text))
    except ValueError:
        return text
