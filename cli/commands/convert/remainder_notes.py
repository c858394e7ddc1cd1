"""What a converted object could not say in its fields and carries in an annotation instead, for people."""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from ....api.paths import Path, format_path
from ....conversion.difference import is_well_formed
from ....conversion.kinds import KINDS
from ....conversion.remainder import KEPT, annotation_keys

EMPTY: Final = '{"spec":{},"version":1}'  # the mark of the version in which an object was written, and nothing more
LISTED: Final = 12  # fields of one object
_NAMED: Final = ("services", "components")
_MARK: Final = ("spec", "services", "NAME")  # with nothing in it: a mark of how the component was written


def describe_remainder(obj: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The annotations that conversion wrote on an object, each with the fields that it holds, at most a dozen and a count of the rest."""
    kind = KINDS[obj["kind"]]
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    found = []
    for key, part in zip(annotation_keys(kind), ("spec", "status"), strict=True):
        if key in annotations and annotations[key] != EMPTY:
            fields = list(dict.fromkeys(_fields(annotations[key], part)))
            more = [f"and {len(fields) - LISTED} more"] if len(fields) > LISTED else []
            found.append((key, fields[:LISTED] + more))
    return found


def _fields(text: Any, part: str) -> Iterator[str]:
    """The values in an annotation's text; a text that was there before and is no remainder has none."""
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    if not isinstance(content, dict):
        return
    for path, value in _leaves(content.get("spec") or {} if part == "spec" else content, (part,)):
        if value != {} or path[1] not in _NAMED or len(path) > len(_MARK):
            yield format_path(path)
    kept = content.get(KEPT) or [] if part == "spec" else []
    for entry in kept if is_well_formed(kept) else ():
        yield format_path(tuple(entry[0]))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Where the values lie, in order; elements of lists count as part of the list."""
    left = [(value, path)]
    while left:
        here, where = left.pop()
        if isinstance(here, dict) and here:
            left += [(below, (*where, key)) for key, below in reversed(here.items())]
        elif len(where) > 1:
            yield where, here
