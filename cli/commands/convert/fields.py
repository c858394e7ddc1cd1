"""Origins of a converted object's fields in the object that it was made of, and which of those it carries in an annotation instead."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from ....api.paths import Key, Path, format_path, lookup
from ....conversion.difference import is_well_formed
from ....conversion.kind import Kind
from ....conversion.kinds import KINDS
from ....conversion.remainder import KEPT, annotation_keys
from ....conversion.translate import Translation
from ...legacy.modernise import FieldNote
from ...rewrite.align import Origin, match_items

_SERVICES: Final = ("spec", "services")
_MAX_LISTED_FIELDS: Final = 12  # of one object
_NAMED: Final = ("services", "components")
_MARK: Final = ("spec", "services", "NAME")  # with nothing in it but names: a mark of how the component was written


def trace_converted(kind: Kind, old: dict[str, Any], new: dict[str, Any]) -> Origin:
    """The lenses' own answer, None where the other version has no such field."""
    translation = Translation(kind, new, old["apiVersion"].partition("/")[2], old)

    def origin(path: Path) -> Path | None:
        # a step of a text is text; to the lenses the name of a service is a key, and no field
        steps = (*path[:2], Key(path[2]), *path[3:]) if path[:2] == _SERVICES and len(path) > len(_SERVICES) else path
        place = translation.translate(steps)
        # of a compilation cache the lenses name the first mount, whichever it was
        sure = place.exact and ("compilationCache" not in path or match_items(lookup(new, path), lookup(old, place.path)))
        return place.path if sure else None

    return origin


def trace_modernised(notes: Iterable[FieldNote]) -> Origin:
    """A legacy document's fields by the notes on those that moved; others keep their places."""
    moved = {note.to: note.field for note in notes if note.to}
    return lambda path: moved.get(path, path)


def chain_origins(after: Origin, before: Origin) -> Origin:
    """Two changes, one after the other."""

    def origin(path: Path) -> Path | None:
        between = after(path)
        return None if between is None else before(between)

    return origin


def describe_remainder(obj: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The annotations that conversion wrote on an object, each with the fields that it holds, at most a dozen and a count of the rest."""
    remainders = []
    for key, fields in _remainders(obj):
        more = [f"and {len(fields) - _MAX_LISTED_FIELDS} more"] if len(fields) > _MAX_LISTED_FIELDS else []
        remainders.append((key, fields[:_MAX_LISTED_FIELDS] + more))
    return remainders


def list_marks(obj: dict[str, Any]) -> list[str]:
    """The annotations of conversion that hold no field: marks of the version in which an object was written, and of how."""
    return [key for key, fields in _remainders(obj) if not fields]


def _remainders(obj: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    for key, part in zip(annotation_keys(KINDS[obj["kind"]]), ("spec", "status"), strict=True):
        if key in annotations:
            yield key, list(dict.fromkeys(_fields(annotations[key], part)))


def _fields(text: Any, part: str) -> Iterator[str]:
    """The values in an annotation's text; a text that was there before and is no remainder has none."""
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    if not isinstance(content, dict):
        return
    for path, value in _leaves(content.get("spec") or {} if part == "spec" else content, (part,)):
        if path[1] not in _NAMED or len(path) > len(_MARK) or not _is_mark(value):
            yield format_path(path)
    kept = content.get(KEPT) or [] if part == "spec" else []
    for entry in kept if is_well_formed(kept) else ():
        yield format_path(tuple(entry[0]))


def _is_mark(value: Any) -> bool:
    return value == {} or (isinstance(value, list) and all(isinstance(item, dict) and item.keys() <= {"name"} for item in value))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yields the paths of the values, in order, each with its value; elements of lists count as part of the list."""
    left = [(value, path)]
    while left:
        here, where = left.pop()
        if isinstance(here, dict) and here:
            left += [(below, (*where, key)) for key, below in reversed(here.items())]
        elif len(where) > 1:
            yield where, here
