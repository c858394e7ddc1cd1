"""Leftovers of earlier operators and conversions in objects: annotations, and saved values of fields that both versions have today.

Of annotations, kinds define keys and contents; this module saves how an object's differed from those that would be written. New conversions
save no such value, because a lens carries the field: an entry is the value itself, unless the live object has one.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..api.paths import MISSING, lookup
from .difference import Entry, apply_differences
from .kind import PREFIX, Legacy
from .lens.protocol import Fields

# Holds the differences on stored objects, apart from the remainder, which depends only on their spec: server-side apply keeps an annotation
# as a whole.
RECORD: Final = PREFIX + "dynamo-webhooks-legacy"
MEMBER: Final = "legacy"  # format of its content, and of the remainder's in other objects

# [key, the object's text or null, the digest of what would be written on the way back]
LegacyEntry: TypeAlias = list[Any]


def choose_annotations(fresh: dict[str, str], remembered: list[LegacyEntry], keys: tuple[str, ...]) -> dict[str, str]:
    """The annotations for the converted object: `fresh` ones, or the original ones if nothing changed since."""
    out = dict(fresh)
    for key, had, mark in remembered:
        if key in keys and _mark(fresh.get(key)) == mark:
            out.pop(key, None)
            if had is not None:
                out[key] = had
    return out


def list_legacy_differences(legacy: Legacy, annotations: Fields, parts: Fields, rightward: bool) -> list[LegacyEntry]:
    """Lists how an object's annotations differ from those that its converted `parts` would get on the way back."""
    written = legacy.write(parts, not rightward)
    return [[key, annotations.get(key), _mark(written.get(key))] for key in legacy.keys if annotations.get(key) != written.get(key)]


def is_well_formed(value: Any) -> bool:
    """Whether decoded JSON has the shape of such a list."""
    return type(value) is list and all(
        type(had) is list and len(had) == 3 and type(had[0]) is str and type(had[1]) in (str, type(None)) and type(had[2]) is str
        for had in value
    )


def _mark(text: str | None) -> str:
    if text is None:
        return ""
    from hashlib import blake2s  # imported here for fast starts: few objects need it

    return blake2s(text.encode(), digest_size=6).hexdigest()


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


def restore_fields(parts: Fields, entries: list[Entry], names: Fields, usable: Callable[[Fields], bool]) -> Fields:
    """The parts with the saved values of such fields, as far as the live object has none and they are `usable`.

    `names` is the remainder of the spec, by which the position of an entry's component is compared. Costs one look-up an entry.
    """
    own = [
        entry for entry in entries if len(entry) == 2 and _is_formerly(entry) and _is_free(parts, entry) and _is_there(parts, entry, names)
    ]
    if not own:
        return parts
    restored: Fields = apply_differences(parts, own)
    return restored if usable(restored) else parts


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
