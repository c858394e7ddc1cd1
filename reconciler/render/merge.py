"""Overrides defaults by users' values: zero values count as absent, lists are replaced, maps are merged."""

from collections.abc import Iterable
from typing import Any

from ...conversion.lens.protocol import Fields


def _is_zero(value: Any) -> bool:
    """Whether a value is its type's zero value, equal to an absent one in the Go operator."""
    return value in ({}, []) if isinstance(value, (dict, list)) else value in (None, "", 0, False)


def merge_override(default: Fields, user: Fields) -> Fields:
    """A copy of the default, overridden by the user's values. Without a default the user's value counts, even zero."""
    out = dict(default)
    for name, value in user.items():
        if value is None:
            continue
        before = out.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            out[name] = merge_override(before, value)
        elif name not in out or not _is_zero(value):
            out[name] = value
    return out


def merge_env(*layers: Iterable[Fields]) -> list[Fields]:
    """Environment entries by name, sorted; later layers override."""
    by_name = {entry["name"]: entry for layer in layers for entry in layer if entry and entry.get("name")}
    return [by_name[name] for name in sorted(by_name)]


def object_items(value: Any) -> list[Fields]:
    """The objects of a list that may be absent, null or contain nulls."""
    return [item for item in value or () if isinstance(item, dict)]


def put_named(holder: Fields, part: str, *entries: Fields) -> None:
    """Put entries at the end of a list, in place: none of their names stays in it twice."""
    names = {entry["name"] for entry in entries}
    holder[part] = [*(entry for entry in object_items(holder.get(part)) if entry.get("name") not in names), *entries]


def as_map(value: object) -> Fields:
    """A value that must be a map, or an empty one."""
    return value if isinstance(value, dict) else {}


def string_map(value: Any) -> dict[str, str]:
    """A map of labels or annotations that may be absent; nulls are empty strings, as in Go."""
    return {str(key): "" if item is None else str(item) for key, item in (value or {}).items()}
