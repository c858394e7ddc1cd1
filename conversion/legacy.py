"""Annotations of older operators in a conversion: which ones the converted object gets, and how the original ones are restored.

Kinds define keys and contents; this module saves how an object's annotations differed from those that would be written.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from .kind import PREFIX, Legacy
from .lens.protocol import Fields

# Holds the differences on stored objects, apart from the remainder, which depends only on their spec: server-side apply keeps an annotation
# as a whole.
RECORD: Final = PREFIX + "dynamo-webhooks-legacy"
MEMBER: Final = "legacy"  # format of its content, and of the remainder's in other objects

# [key, the object's text or null, the digest of what would be written on the way back]
Had: TypeAlias = list[Any]


def due(fresh: dict[str, str], remembered: list[Had], keys: tuple[str, ...]) -> dict[str, str]:
    """The annotations for the converted object: `fresh` ones, or the original ones if nothing changed since."""
    out = dict(fresh)
    for key, had, mark in remembered:
        if key in keys and _mark(fresh.get(key)) == mark:
            out.pop(key, None)
            if had is not None:
                out[key] = had
    return out


def unlike(legacy: Legacy, annotations: Fields, parts: Fields, rightward: bool) -> list[Had]:
    """How an object's annotations differ from those that its converted `parts` would get on the way back."""
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
