"""Moves fields that were written as the other version has them to their places in the own one, by conversion, for `check --fix`."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ....api.kinds import BY_NAME, api_version
from ....api.paths import MISSING, Key, Path, lookup
from ....conversion.kind import Kind
from ....conversion.kinds import KINDS
from ....conversion.lens.protocol import ConversionError
from ....conversion.objects import convert_object, target
from ....conversion.translate import Translation
from ...rewrite.tree import is_same_json
from ...validation.fixes import Edit
from ..convert.origins import Origin, trace_converted

Fields = dict[str, Any]
_SERVICES: Final = ("spec", "services")
_LISTS: Final = ("components", "containers")  # of the other version, through which a field is reached by an item's name


def move_fields(data: Fields, edits: Sequence[Edit]) -> tuple[Fields, Origin] | None:
    """The object with the fields of edits moved, and where its values come from; None where they can't be without a decision.

    An edit's value is the line to convert for, and the field's path in the other version, with list items by name. Costs the object's size.
    """
    kind, version = data["kind"], str(data["apiVersion"]).partition("/")[2]
    other = BY_NAME[kind].other(version)
    named, rest = {"name": _name(data.get("metadata"))}, copy.deepcopy(data)
    part: Fields = {"apiVersion": api_version(other), "kind": kind, "metadata": named, "spec": {}}
    places: list[tuple[Path, Path]] = []
    line, _ = edits[0].value
    for edit in edits:
        value, block = lookup(data, edit.path), lookup(rest, edit.path[:-1])
        if value is MISSING or not isinstance(block, dict):
            return None
        del block[edit.path[-1]]
        placed = _put(part, edit.value[1], value)
        if placed is None or lookup(part, placed) is MISSING:  # two fields say different things of one
            return None
        places.append((placed, edit.path))
    try:
        made = convert_object(part, target(api_version(version), line)).object
        home = convert_object({**made, "metadata": named}, target(api_version(other), line)).object
    except ConversionError:
        return None
    if not _is_whole(KINDS[kind], part, made, home):
        return None
    merged = _merged(rest.get("spec") or {}, made["spec"])
    if merged is MISSING:
        return None
    new, back, relocate = {**rest, "spec": merged}, trace_converted(KINDS[kind], part, made), _Relocation(made)

    def origin(path: Path) -> Path | None:
        if lookup(rest, path) is not MISSING:
            return path
        old = back(relocate(path, new))
        around = [place for place in places if old is not None and old[: len(place[0])] == place[0]]
        if old is None or not around:
            return None
        there, here = max(around, key=lambda place: len(place[0]))
        return (*here, *old[len(there) :])

    return new, origin


def _put(part: Any, path: Path, value: Any) -> Path | None:
    """Writes a value into an object, whose list items are found by name; returns the path with their indices, None without one."""
    steps: list[str | int] = []
    for step, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(part, list):
            index = next((index for index, item in enumerate(part) if _name(item) == step), len(part))
            if index == len(part):
                part.append({"name": str(step)})
            steps.append(index)
            part = part[index]
            continue
        if not isinstance(part, dict):
            return None
        steps.append(step)
        if following is None:
            part[str(step)] = _merged(part[step], value) if step in part else copy.deepcopy(value)
        else:
            part = part.setdefault(str(step), [] if step in _LISTS else {})
    return tuple(steps)


def _is_whole(kind: Kind, part: Fields, made: Fields, home: Fields) -> bool:
    """Whether conversion has a place for each value; of several that share one, all must come back."""
    translation = Translation(kind, part, made["apiVersion"].partition("/")[2], made)
    shared: dict[Path, list[Path]] = {}
    for leaf in _leaves(part["spec"], ("spec",)):
        place = translation.of(leaf)
        if not place.exact and leaf[-1:] == ("name",) and isinstance(leaf[-2], int):
            continue  # the name of a component or container is a key there
        if not place.exact:
            return False
        shared.setdefault(place.path, []).append(leaf)
    several = (leaf for leaves in shared.values() if len(leaves) > 1 for leaf in leaves)
    return all(is_same_json(lookup(part, leaf), lookup(home, leaf)) for leaf in several)


def _leaves(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict) and value:
        for name, below in value.items():
            yield from _leaves(below, (*path, Key(name) if path == _SERVICES else name))
    elif isinstance(value, list) and value:
        for index, below in enumerate(value):
            yield from _leaves(below, (*path, index))
    else:
        yield path


def _merged(one: Any, other: Any) -> Any:
    """Both values in one; MISSING where they say different things of one field."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = {**one, **other, **{name: _merged(one[name], other[name]) for name in one.keys() & other.keys()}}
        return MISSING if MISSING in both.values() else both
    if isinstance(one, list) and isinstance(other, list) and all(map(_name, (*one, *other))):
        found = {_name(item): item for item in one}
        found |= {name: _merged(found.get(name, item), item) for item in other for name in (_name(item),)}
        return MISSING if MISSING in found.values() else list(found.values())
    return one if is_same_json(one, other) else MISSING


def _name(item: Any) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else ""


class _Relocation:
    """Finds paths of the merged object in the converted part, whose lists hold some of its items."""

    def __init__(self, made: Fields) -> None:
        self._made = made
        self._found: dict[int, dict[str, int]] = {}  # by id of a list: the first index of each name

    def __call__(self, path: Path, new: Any) -> Path:
        made: Any = self._made
        steps: list[str | int] = []
        for step in path:
            new = new[step]
            at: str | int = step
            if isinstance(step, int):
                at = self._names(made).get(_name(new), step) if isinstance(made, list) else step
                made = made[at] if isinstance(made, list) and isinstance(at, int) and at < len(made) else None
            else:
                made = made.get(step) if isinstance(made, dict) else None
            steps.append(at)
        return tuple(steps)

    def _names(self, items: list[Any]) -> dict[str, int]:
        if id(items) not in self._found:
            self._found[id(items)] = {name: index for index, item in reversed([*enumerate(items)]) if (name := _name(item))}
        return self._found[id(items)]
