"""Where a field of one version stands in the other: paths through the lenses. Values and sentences are translated elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from api.paths import Key
from conversion.kind import RIGHT

if TYPE_CHECKING:
    from api.paths import Path
    from conversion.kind import Kind
    from conversion.lens.protocol import Fields

_PARTS: Final = ("spec", "status")


class Place(NamedTuple):
    """A place in the other version; not `exact` where that version has no such field, and `path` is the nearest block around it."""

    path: Path
    exact: bool


def translated(kind: Kind, path: Path, obj: Fields, version: str, other: Fields) -> Place:
    """Translates a path of `obj` into `version`, in which the same object is `other`.

    What lies outside of spec and status is the same in both. Keys of a map become places in a list as `other` has it.
    """
    part = path[0] if path else ""
    if part not in _PARTS:
        return Place(path, True)
    struct = kind.spec if part == "spec" else kind.status
    translate = struct.to_right if version == RIGHT else struct.to_left
    below = obj.get(str(part))
    fields = below if type(below) is dict else {}
    for length in range(len(path), 1, -1):
        found = translate(path[1:length], fields)
        if found is not None:
            # a lens of entries answers with the entry where nothing in it corresponds
            entry = length > len(_ENTRY) and isinstance(path[2], (Key, int)) and found == translate(path[1:3], fields)
            return Place(_placed((part, *found), other), length == len(path) and not entry)
    return Place((part,), len(path) == 1)


_ENTRY: Final = ("spec", "services", "NAME")


def _placed(path: Path, other: Any) -> Path:
    """Replaces names of list elements by their indices, as far as the object goes."""
    steps: list[str | int] = []
    for step in path:
        if type(other) is list and isinstance(step, str):
            index = next((i for i, item in enumerate(other) if type(item) is dict and (item.get("name") or "") == step), None)
            steps.append(step if index is None else index)
            other = other[index] if index is not None else None
            continue
        steps.append(step)
        if type(other) is list:
            other = other[step] if isinstance(step, int) and 0 <= step < len(other) else None
        else:
            other = other.get(step) if type(other) is dict else None
    return tuple(steps)
