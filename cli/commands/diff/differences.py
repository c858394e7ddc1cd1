"""The differences of two objects in one version, and those that only the kind's other version has fields for."""

from __future__ import annotations

from typing import Final, NamedTuple

from ....api.line import Line
from ....api.paths import MISSING, Key, Path, lookup
from ....api.schema import whole_schema
from ....conversion.difference import are_identical
from ....conversion.kinds import KINDS
from ....conversion.translate import translate_path
from ....policies.review import Fields
from ...objects.forms import in_version
from .compare import Change, compare_objects
from .form import other_version, strip_server_fields

_NO_FIELD: Final = object()  # what a version holds that has no such field


class Difference(NamedTuple):
    """A change, and the version of its fields."""

    change: Change
    version: str


class _View(NamedTuple):
    """Both objects in one version."""

    kind: str
    version: str
    sides: tuple[Fields, Fields]

    def differences(self) -> list[Difference]:
        old, new = (strip_server_fields(side, self.kind) for side in self.sides)
        return [Difference(change, self.version) for change in compare_objects(old, new, whole_schema(self.kind, self.version))]

    def seen_in(self, path: Path, other: _View) -> list[object]:
        """What the other version holds at a field of this one, for each side; `_NO_FIELD` where none corresponds exactly."""
        found: list[object] = []
        for mine, theirs in zip(self.sides, other.sides, strict=True):
            place = translate_path(KINDS[self.kind], _by_index(path, mine), mine, other.version, theirs)
            found.append(lookup(theirs, place.path) if place.exact else _NO_FIELD)
        return found


def differences(old: Fields, new: Fields, kind: str, version: str, line: Line) -> list[Difference]:
    """The differences, those of the asked version first. Raises: FormError.

    What differs in one version and is the same field with the same value in the other is a matter of spelling.
    """
    here = _View(kind, version, (in_version(old, version, line), in_version(new, version, line)))
    other = other_version(kind, version)
    if not other:
        return here.differences()
    there = _View(kind, other, (in_version(old, other, line), in_version(new, other, line)))
    told = [_weighed(one, here.seen_in(one.change.path, there)) for one in here.differences()]
    rest = [(one, there.seen_in(one.change.path, here)) for one in there.differences()]
    told += [one for one, seen in rest if all(value is _NO_FIELD for value in seen)]
    if all(one.change.spelling for one in told):
        # if two fields have one meaning, the corresponding one may be absent: its value must not get lost
        told += [one for one, seen in rest if one not in told and all(value in (MISSING, _NO_FIELD) for value in seen)]
    return told


def _weighed(one: Difference, seen: list[object]) -> Difference:
    old, new = seen
    said = old not in (MISSING, _NO_FIELD) and new not in (MISSING, _NO_FIELD)
    return one._replace(change=one.change._replace(spelling=True)) if said and are_identical(old, new) else one


def _by_index(path: Path, obj: object) -> Path:
    """A path by keys of lists as one by their indices, as far as the object goes."""
    steps: list[str | int] = []
    for name in path:
        step = name
        if isinstance(obj, list) and isinstance(name, Key):
            step = next((i for i, item in enumerate(obj) if isinstance(item, dict) and item.get("name") == name), name)
        steps.append(step)
        if isinstance(obj, list):
            obj = obj[step] if isinstance(step, int) and step < len(obj) else None
        else:
            obj = obj.get(step) if isinstance(obj, dict) else None
    return tuple(steps)
