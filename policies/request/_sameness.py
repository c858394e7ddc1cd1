"""Whether two specs of a request say the same: by meaning (profile current), or by what the Go operator would write (1.2)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from api.quantity import canonical, is_quantity

if TYPE_CHECKING:
    from policies.review import Fields

# parts that the schema leaves free: nobody knows what an absent, null or empty value means in there, so all of it counts
_FREE: Final = frozenset({("features", "planner"), ("overrides", "dgd")})
_JOB: Final = ("overrides", "profilingJob")

# inside the job: maps of the author's own keys, where an empty text is a value; quantities by the field or the map they stand in;
# blocks that a typed writer always writes, empty or not
_AUTHORS_MAPS: Final = frozenset({"labels", "annotations", "nodeSelector", "matchLabels", "volumeAttributes"})
_QUANTITY_MAPS: Final = frozenset({"limits", "requests", "overhead"})
_QUANTITIES: Final = frozenset({"sizeLimit", "divisor"})
_ALWAYS_WRITTEN: Final = frozenset({"metadata", "resources", "spec", "template"})


def same_meaning(one: Fields, other: Fields) -> bool:
    """Whether two specs ask for the same: an empty block is an absent one, and the order of keys means nothing."""
    return _typed(one, (), by_meaning=True) == _typed(other, (), by_meaning=True)


def same_text(one: Fields, other: Fields) -> bool:
    """Whether two specs are written alike by a typed writer: an empty block is kept, and free-form parts go out as they came in."""
    return _typed(one, (), by_meaning=False) == _typed(other, (), by_meaning=False)


def _typed(block: Fields, path: tuple[str, ...], *, by_meaning: bool) -> Fields:
    """The typed part, without null and empty texts; a whole float equals the int (50.0 == 50), as it is written alike."""
    parts = {key: _part(value, (*path, key), by_meaning=by_meaning) for key, value in block.items() if value is not None and value != ""}
    return {key: part for key, part in parts.items() if part != {}} if by_meaning else parts


def _part(value: Any, place: tuple[str, ...], *, by_meaning: bool) -> Any:
    if place in _FREE:
        return _free(value, by_meaning=by_meaning)
    if place == _JOB:
        return _job(value)
    return _typed(value, place, by_meaning=by_meaning) if isinstance(value, dict) else value


def _free(value: Any, *, by_meaning: bool) -> str:
    """Free-form JSON as text, because Python takes true for 1; with sorted keys and one spelling of numbers where the meaning counts."""
    return json.dumps(_numbers(value), sort_keys=True) if by_meaning else json.dumps(value)


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _job(value: Any, key: str = "") -> Any:
    """A job's spec as a typed writer puts it: nothing that is unset, quantities in their canonical form."""
    if key in _AUTHORS_MAPS:
        return value
    if isinstance(value, list):
        return [_job(item) for item in value]
    if not isinstance(value, dict):
        return canonical(value) if key in _QUANTITIES and is_quantity(value) else value
    if key in _QUANTITY_MAPS:
        return {name: canonical(amount) if is_quantity(amount) else amount for name, amount in value.items()}
    kept = {name: _job(item, name) for name, item in value.items() if item is not None}
    return {name: item for name, item in kept.items() if item not in ("", []) and not (item == {} and name in _ALWAYS_WRITTEN)}
