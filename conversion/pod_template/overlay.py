"""Overrides flat fields by the overlay (`extraPodSpec.mainContainer`): env by name, probes by member, lists as a whole."""

from __future__ import annotations

from typing import Any

from ..lens.protocol import Fields
from .content import text


def merge_env(flat: list[Fields], over: list[Fields]) -> list[Fields]:
    """Flat entries in order; each overlay entry replaces the last one of its name, or is appended."""
    if not over:
        return flat
    if not flat:  # a shortcut; without repeated names it is the overlay's list
        last = {name if type(name := entry.get("name")) is str else text(name): entry for entry in over}
        return over if len(last) == len(over) else list(last.values())
    out = list(flat)
    place = {text(entry.get("name")): index for index, entry in enumerate(out)}
    for entry in over:
        name = text(entry.get("name"))
        index = place.get(name)
        if index is None:
            place[name] = len(out)
            out.append(entry)
        else:
            out[index] = entry
    return out


def merge_override(base: Any, over: Any) -> Any:
    """An object overridden by another: zero values don't override, a named port hides a number."""
    if type(base) is not dict or type(over) is not dict:
        return base if over is None else over
    out = {name: value for name, value in base.items() if value is not None}
    for name, value in over.items():
        mine = out.get(name)
        if value is None or (mine is not None and _yields(name, mine, value)):
            continue
        out[name] = merge_override(mine, value) if type(mine) is dict and type(value) is dict else value
    return out


def _yields(name: str, mine: Any, value: Any) -> bool:
    """Whether the overlay's value doesn't override the one below."""
    return (not value and type(value) is not dict) or (name == "port" and type(mine) is str and type(value) is int)


def secret_source(secret: Any) -> list[Fields]:
    """The `envFrom` of a flat secret name."""
    return [{"secretRef": {"name": secret}}] if type(secret) is str and secret else []


def read_plain_secret(sources: list[Fields]) -> str | None:
    """The secret's name if the sources are one plain reference to it."""
    if len(sources) != 1 or len(sources[0]) != 1:
        return None
    reference = sources[0].get("secretRef")
    if type(reference) is not dict or len(reference) != 1:
        return None
    name = reference.get("name")
    return name if type(name) is str and name else None
