"""The one way in which what a user wrote goes over a default: a zero value counts as absent, lists are replaced, maps are merged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dynamo_webhooks.conversion.lens.protocol import Fields

_ZEROS: Final = (None, "", 0, False)


def is_zero(value: Any) -> bool:
    """Whether a value is its type's zero value, which the Go operator can't tell from an absent one."""
    return value in ({}, []) if isinstance(value, (dict, list)) else value in _ZEROS


def merged(default: Fields, user: Fields) -> Fields:
    """The default with the user's values over it, as a new dict; members of neither are changed.

    Where there is no default the user's value stands as it is, zero or not.
    """
    out = dict(default)
    for name, value in user.items():
        if value is None:
            continue
        before = out.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            out[name] = merged(before, value)
        elif name not in out or not is_zero(value):
            out[name] = value
    return out


def filled(wanted: Fields, fallback: Fields) -> Fields:
    """A map with the entries of another one where it has no such key."""
    return {**fallback, **wanted}


def merged_env(*layers: Iterable[Fields]) -> list[Fields]:
    """Environment entries by name, later layers stronger, sorted by name so that the order never depends on who said what."""
    by_name = {entry["name"]: entry for layer in layers for entry in layer if entry and entry.get("name")}
    return [by_name[name] for name in sorted(by_name)]


def items(value: Any) -> list[Fields]:
    """The objects of a list that may be absent, null or hold nulls."""
    return [one for one in value or () if isinstance(one, dict)]


def texts(value: Any) -> dict[str, str]:
    """A map of labels or annotations that may be absent; nulls read as empty texts, as Go reads them."""
    return {str(key): "" if one is None else str(one) for key, one in (value or {}).items()}
