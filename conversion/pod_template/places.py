"""Chooses v1alpha1's place for values of the main container: a flat field, or the overlay (`mainContainer`).

A value returns to its saved half, entry by entry and independent of other entries: server-side apply converts parts of objects, and a
manager loses a field whose place changes. Values without a saved place are flat fields.
"""

from __future__ import annotations

from typing import Any

from ..lens.protocol import Fields
from ..reading import object_member
from . import resources
from .content import text
from .overlay import merge_env


def env_halves(live: Any, over: list[Fields]) -> tuple[Any, Any]:
    """The flat entries and those of the overlay, which had the names of `over`.

    If the halves alone would change the order, the flat one gets all entries, to hold the places of the overlay's.
    """
    if type(live) is not list or not all(type(entry) is dict for entry in live):
        return live, None
    named = {text(entry.get("name")) for entry in over}
    mine = [entry for entry in live if text(entry.get("name")) in named]
    if not mine:
        return live, None
    for flat in ([entry for entry in live if text(entry.get("name")) not in named], live):
        if merge_env(flat, mine) == live:
            return flat or None, mine
    return live, None


def resource_halves(live: Fields, flat: Fields, over: Fields) -> tuple[Fields, Fields]:
    """Flat resources and those of the overlay, by amount; a saved text of the same amount is restored."""
    mine: Fields = {}
    theirs: Fields = {}
    for part in resources.AMOUNTS:
        above: Fields = {}
        below: Fields = {}
        texts = object_member(over, part)
        known = resources.normalize_resources(over).get(part, {})
        for name, amount in object_member(live, part).items():
            if name in texts:
                above[name] = texts[name] if known.get(name) == amount else amount
            else:
                below[name] = amount
        if below:
            mine[part] = resources.flat_part(below, object_member(flat, part))
        if above:
            theirs[part] = above
    if claims := live.get("claims"):
        (theirs if over.get("claims") else mine)["claims"] = claims
    return mine, theirs


def probe_halves(live: Any, over: Any) -> tuple[Any, Any]:
    """A flat probe and the overlay's, which had the members of `over`."""
    if type(live) is not dict or type(over) is not dict or not live:
        return (live, None) if over is None else (None, live)
    mine: Fields = {}
    theirs: Fields = {}
    for name, value in live.items():
        flat, above = probe_halves(value, over[name]) if name in over else (value, None)
        if flat is not None:
            mine[name] = flat
        if above is not None:
            theirs[name] = above
    return mine or None, theirs or None
