"""Saved values of fields that both versions have today, in objects that this project converted before it knew them.

New conversions leave no such entry, because a lens carries the field: an entry is the value itself, unless the live object has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..api.paths import MISSING, lookup
from .difference import Entry, apply_differences
from .lens.protocol import Fields

# Fields of operator 1.5 that earlier conversions did not carry. The switch of a checkpoint was carried as true, whatever it was.
FIELDS: Final = frozenset(
    {
        "minAvailable",
        "runtimeVersionOverride",
        "providerOverride",
        "startupPolicy",
        "deletionPolicy",
        "scheduledReplicas",
        "runtimeNamespace",
        "placement",
    }
)
_SWITCH: Final = ["checkpoint", "enabled"]


def came_home(parts: Fields, kept: list[Entry], names: Fields, usable: Callable[[Fields], bool]) -> Fields:
    """The parts with the saved values of such fields, as far as the live object has none and they are `usable`.

    `names` is the remainder of the spec, by which the position of an entry's component is compared. Costs one look-up an entry.
    """
    own = [entry for entry in kept if len(entry) == 2 and _is_formerly(entry) and _is_free(parts, entry) and _is_there(parts, entry, names)]
    if not own:
        return parts
    made: Fields = apply_differences(parts, own)
    return made if usable(made) else parts


def _is_formerly(entry: Entry) -> bool:
    path: list[Any] = entry[0]
    return path[-1] in FIELDS or (path[-2:] == _SWITCH and entry[1] is False)


def _is_free(parts: Fields, entry: Entry) -> bool:
    return entry[0][-2:] == _SWITCH or lookup(parts, tuple(entry[0])) is MISSING


def _is_there(parts: Fields, entry: Entry, names: Fields) -> bool:
    """Whether the object that holds the field is there, and is the same component as when the value was saved."""
    path = entry[0]
    if not isinstance(lookup(parts, tuple(path[:-1])), dict):
        return False
    order, live = names.get("components"), lookup(parts, ("spec", "components"))
    # fewer names than components are no order: it was that of the names, and still is
    if path[:2] != ["spec", "components"] or not isinstance(order, list) or not isinstance(live, list) or len(order) < len(live):
        return True
    return bool(_name(live, path[2]) == _name(order, path[2]))


def _name(components: list[Any], index: Any) -> Any:
    return lookup(components, (index, "name"))
