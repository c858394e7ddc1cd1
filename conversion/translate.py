"""Translates field paths between the versions, through the lenses."""

from typing import Any, Final, NamedTuple

from ..api.paths import Key, Path, lookup
from .kind import RIGHT, Kind
from .lens.protocol import Fields
from .lens.simple import Rename
from .lens.structs import object_member
from .services import Services

_PARTS: Final = ("spec", "status")


class TranslatedPath(NamedTuple):
    """A place in the other version; if that lacks the field, `exact` is false and `path` the nearest enclosing block."""

    path: Path
    exact: bool


def translate_path(kind: Kind, path: Path, obj: Fields, version: str, other: Fields) -> TranslatedPath:
    """Translate a path of `obj` into `version`, in which the same object is `other`.

    Paths outside spec and status don't change. Keys of a map become indices of a list in `other`.
    """
    return Translation(kind, obj, version, other).translate(path)


class Translation:
    """Translates paths of one object, which must not change; each list is searched for names only once."""

    __slots__ = ("_indices", "_kind", "_obj", "_other", "_rightward")

    def __init__(self, kind: Kind, obj: Fields, version: str, other: Fields) -> None:
        self._kind, self._obj, self._other = kind, obj, other
        self._rightward = version == RIGHT
        self._indices: dict[int, dict[str, int]] = {}  # by id of a list of `other`: the first index of each name

    def translate(self, path: Path) -> TranslatedPath:
        """The place of one path."""
        part = path[0] if path else ""
        if part not in _PARTS:
            return TranslatedPath(path, True)
        for length in range(len(path), 1, -1):
            translated = self._translate(path[:length])
            if translated is not None:
                # without a correspondence inside an entry, its lens returns the entry
                entry = length > len(_ENTRY) and isinstance(path[2], (Key, int)) and translated == self._translate(path[:3])
                return TranslatedPath(self._use_indices((part, *translated)), length == len(path) and not entry)
        return TranslatedPath((part,), len(path) == 1)

    def _translate(self, path: Path) -> Path | None:
        part = str(path[0])
        struct, fields = self._kind.spec if part == "spec" else self._kind.status, object_member(self._obj, part)
        return struct.to_right(path[1:], fields) if self._rightward else struct.to_left(path[1:], fields, object_member(self._other, part))

    def _use_indices(self, path: Path) -> Path:
        """Replace names of list elements by their indices, as far as the object has them."""
        steps: list[str | int] = []
        other: Any = self._other
        for step in path:
            if type(other) is list and isinstance(step, str):
                index = self._find_index(other, step)
                steps.append(step if index is None else index)
                other = other[index] if index is not None else None
                continue
            steps.append(step)
            if type(other) is list:
                other = other[step] if isinstance(step, int) and 0 <= step < len(other) else None
            else:
                other = other.get(step) if type(other) is dict else None
        return tuple(steps)

    def _find_index(self, items: list[Any], name: str) -> int | None:
        known = self._indices.get(id(items))
        if known is None:
            known = self._indices[id(items)] = {}
            for index, item in enumerate(items):
                if type(item) is dict and type(called := item.get("name") or "") is str:
                    known.setdefault(called, index)
        return known.get(name)


def find_copied_path(kind: Kind, path: Path, obj: Fields) -> Path | None:
    """The place in v1alpha1 of a field of a v1beta1 object, if a value of one is a value of the other; else None."""
    part, at = str(path[0]), 1
    if part not in _PARTS:
        return path
    struct, value, steps = kind.spec if part == "spec" else kind.status, obj.get(part), [part]
    while at < len(path):
        lens = struct.by_right.get(str(path[at]))
        if isinstance(lens, Services) and at + 2 < len(path):
            entry = lookup(value, path[at : at + 2])
            if type(entry) is not dict:
                return None
            steps += (lens.left[0], Key(entry.get("name") or ""))
            struct, value, at = lens.each, entry, at + 2
        elif isinstance(lens, Rename):
            steps.append(lens.left[0])
            if lens.via is None:
                return (*steps, *path[at + 1 :])
            struct, value, at = lens.via, lookup(value, path[at : at + 1]), at + 1
        else:
            return None
    return None


_ENTRY: Final = ("spec", "services", "NAME")
