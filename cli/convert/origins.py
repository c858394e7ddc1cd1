"""Where the fields of a converted object were in the object that it was made of: what its text is to be taken from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dynamo_webhooks.api.paths import Key, lookup
from dynamo_webhooks.cli.rewrite.items import akin
from dynamo_webhooks.conversion.translate import Translation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.cli.legacy.rows import Row
    from dynamo_webhooks.conversion.kind import Kind

_SERVICES: Final = ("spec", "services")
_CACHE: Final = "compilationCache"

Origin: TypeAlias = Callable[["Path"], "Path | None"]


def converted_from(kind: Kind, old: dict[str, Any], new: dict[str, Any]) -> Origin:
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
    return _CACHE not in path or akin(lookup(new, path), lookup(old, place))


def modernised_from(rows: Iterable[Row]) -> Origin:
    """A legacy document's fields by what was said of each; the blocks around them keep their names."""
    moved = {row.to: row.field for row in rows if row.to and row.to != row.field}
    return lambda path: moved.get(path, path)


def behind(one: Origin, before: Origin) -> Origin:
    """Two changes, one after the other."""

    def origin(path: Path) -> Path | None:
        between = one(path)
        return None if between is None else before(between)

    return origin


class Moves:
    """What happened to the objects of one piece of text: each by its document and its place in lists."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._found: dict[tuple[int, Path], Origin] = {}

    def add(self, document: int, place: Path, origin: Origin) -> None:
        """Tells of an object; `place` is empty for one that is a document."""
        self._found[document, place] = origin

    def origin(self, document: int, path: Path) -> Path | None:
        """Where a path of a new document was in the old one; what is around objects keeps its place."""
        for length in range(0, len(path) + 1, 2):  # lists in lists: items, index, items, index
            if (found := self._found.get((document, path[:length]))) is not None:
                old = found(path[length:])
                return None if old is None else (*path[:length], *old)
        return path
