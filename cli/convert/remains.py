"""What a converted object could not say in its fields and carries in an annotation instead, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.conversion.difference import well_formed
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.remainder import KEPT, keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path

EMPTY: Final = '{"spec":{},"version":1}'  # the mark of the version in which an object was written, and nothing more
LISTED: Final = 12  # fields of one object
_NAMED: Final = ("services", "components")
_MARK: Final = ("spec", "services", "NAME")  # with nothing in it: a mark of how the component was written


def remains(obj: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The annotations that conversion wrote on an object, each with the fields that it holds, at most a dozen and a count of the rest."""
    kind = KINDS[obj["kind"]]
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    found = []
    for key, part in zip(keys(kind), ("spec", "status"), strict=True):
        if key in annotations and annotations[key] != EMPTY:
            fields = list(dict.fromkeys(_fields(annotations[key], part)))
            more = [f"and {len(fields) - LISTED} more"] if len(fields) > LISTED else []
            found.append((key, fields[:LISTED] + more))
    return found


def _fields(text: Any, part: str) -> Iterator[str]:
    """What an annotation's text holds; texts that are nobody's remainder, and were there before, hold nothing."""
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    if not isinstance(content, dict):
        return
    for path, value in _leaves(content.get("spec") or {} if part == "spec" else content, (part,)):
        if value != {} or path[1] not in _NAMED or len(path) > len(_MARK):
            yield render(path)
    kept = content.get(KEPT) or [] if part == "spec" else []
    for entry in kept if well_formed(kept) else ():
        yield render(tuple(entry[0]))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Where the values lie, in order; elements of lists count as part of the list."""
    left = [(value, path)]
    while left:
        here, where = left.pop()
        if isinstance(here, dict) and here:
            left += [(below, (*where, key)) for key, below in reversed(here.items())]
        elif len(where) > 1:
            yield where, here
