"""What a converted object could not say in its fields and carries in an annotation instead, for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from api.paths import render
from conversion.kinds import KINDS
from conversion.remainder import keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from api.paths import Path

LISTED: Final = 12  # fields of one object


def remains(obj: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The annotations that conversion wrote on an object, each with the fields that it holds, at most a dozen and a count of the rest."""
    kind = KINDS[obj["kind"]]
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    found = []
    for key, part in zip(keys(kind), ("spec", "status"), strict=True):
        if key in annotations:
            fields = list(dict.fromkeys(_fields(annotations[key], part)))
            more = [f"and {len(fields) - LISTED} more"] if len(fields) > LISTED else []
            found.append((key, fields[:LISTED] + more))
    return found


def _fields(text: str, part: str) -> Iterator[str]:
    content = json.loads(text)
    payload = content.get("spec") or {} if part == "spec" else content
    for path in _leaves(payload, (part,)):
        yield render(path)
    for entry in content.get("kept") or [] if part == "spec" else []:
        yield render(tuple(entry[0]))


def _leaves(value: Any, path: Path) -> Iterator[Path]:
    """Where the values lie; elements of lists count as part of the list."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _leaves(below, (*path, key))
    elif len(path) > 1:
        yield path
