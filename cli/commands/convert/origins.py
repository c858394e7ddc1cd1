"""Where the fields of a converted object were in the object that it was made of: what its text is to be taken from."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from ....api.paths import Key, Path, lookup
from ....conversion.kind import Kind
from ....conversion.translate import Translation
from ...legacy.modernise import Note
from ...rewrite.match_items import match_items

_SERVICES: Final = ("spec", "services")
_CACHE: Final = "compilationCache"

Origin: TypeAlias = Callable[["Path"], "Path | None"]


def trace_converted(kind: Kind, old: dict[str, Any], new: dict[str, Any]) -> Origin:
    """The lenses' own answer, None where the other version has no such field."""
    translation = Translation(kind, new, old["apiVersion"].partition("/")[2], old)

    def origin(path: Path) -> Path | None:
        # a step of a text is text; to the lenses the name of a service is a key, and no field
        steps = (*path[:2], Key(path[2]), *path[3:]) if path[:2] == _SERVICES and len(path) > len(_SERVICES) else path
        place = translation.of(steps)
        return place.path if place.exact and _is_sure(path, place.path, old, new) else None

    return origin


def _is_sure(path: Path, place: Path, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether the place holds something like it: of a compilation cache the lenses name the first mount, whichever it was."""
    return _CACHE not in path or match_items(lookup(new, path), lookup(old, place))


def trace_modernised(notes: Iterable[Note]) -> Origin:
    """A legacy document's fields by the notes on those that moved; others keep their places."""
    moved = {note.to: note.field for note in notes if note.to}
    return lambda path: moved.get(path, path)


def behind(one: Origin, before: Origin) -> Origin:
    """Two changes, one after the other."""

    def origin(path: Path) -> Path | None:
        between = one(path)
        return None if between is None else before(between)

    return origin
