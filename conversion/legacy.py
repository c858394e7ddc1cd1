"""Annotations of older operators around a conversion: which ones the converted object gets, and how it comes home with those that it had.

Which keys there are and what they say is the kind's business; remembering how an object differed from what would be written is this one's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dynamo_webhooks.conversion.kind import PREFIX

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.kind import Legacy
    from dynamo_webhooks.conversion.lens.protocol import Fields

# The annotation that remembers it on stored objects, apart from the remainder, which depends on their spec alone: server-side apply keeps
# an annotation as a whole.
RECORD: Final = PREFIX + "dynamo-webhooks-legacy"
MEMBER: Final = "legacy"  # of what it holds, and of the remainder of other objects

# [key, the text that the object had there or null, the mark of what would be written there when it comes home]
Had: TypeAlias = list[Any]


def due(fresh: dict[str, str], remembered: list[Had], keys: tuple[str, ...]) -> dict[str, str]:
    """The annotations for the converted object: `fresh` ones, and where nothing changed since it left home, those that it had then."""
    out = dict(fresh)
    for key, had, mark in remembered:
        if key in keys and _mark(fresh.get(key)) == mark:
            out.pop(key, None)
            if had is not None:
                out[key] = had
    return out


def unlike(legacy: Legacy, annotations: Fields, parts: Fields, rightward: bool) -> list[Had]:
    """How the annotations of an object differ from those that it would get when its converted `parts` come home."""
    written = legacy.write(parts, not rightward)
    return [[key, annotations.get(key), _mark(written.get(key))] for key in legacy.keys if annotations.get(key) != written.get(key)]


def well_formed(value: Any) -> bool:
    """Whether decoded JSON has the shape of such a list."""
    return type(value) is list and all(
        type(had) is list and len(had) == 3 and type(had[0]) is str and type(had[1]) in (str, type(None)) and type(had[2]) is str
        for had in value
    )


def _mark(text: str | None) -> str:
    if text is None:
        return ""
    from hashlib import blake2s  # here: few objects have such annotations, and a command that starts often would wait for it

    return blake2s(text.encode(), digest_size=6).hexdigest()
