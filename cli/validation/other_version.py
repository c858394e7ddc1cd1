"""Fields that an author wrote by their names in the other version of a kind, found by the lenses of conversion."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from ...api.kinds import BY_NAME
from ...api.paths import Key, Path, format_path
from ...api.schema import Node, child_node, find_node, resolve, whole_schema
from ...conversion.kinds import KINDS, field_rows
from ...conversion.translate import TranslatedPath, translate_path

_NAME: Final = "NAME"  # of an item without one, and of any component
_ANY: Final = re.compile(r"\{\}|\[\]")
_MAX_LEVELS: Final = 2  # fields below a row of the field map that may have another name: `limits.gpu` of `resources`


class ForeignField(NamedTuple):
    """A field of the other version, its path there, and in the own one, None where that lacks it; list items are by their names."""

    version: str
    there: Path
    here: Path | None
    name: str  # of the own field, from the block that holds the foreign one
    is_sure: bool  # whether its value can be moved: it has a place, and each list item on the way there has a name


def find_foreign(kind: str, version: str, path: Path, data: Any) -> ForeignField | None:
    """Translate a field that the kind's version lacks to the other one; None where that lacks it too. Costs the path's length."""
    other = BY_NAME[kind].other(version)
    if kind not in KINDS or not other or path[0] != "spec" or not isinstance(path[-1], str):
        return None
    parent = _named(path[:-1], data)
    place = _translated(kind, parent, version, other)
    there = (*place.path, str(path[-1]))
    if not place.exact or find_node(whole_schema(kind, other), there) is None:
        return None
    back = _translated(kind, there, other, version)
    here = back.path if back.exact else None
    within = here[len(parent) :] if here is not None and here[: len(parent)] == parent else here or ()
    return ForeignField(other, there, here, format_path(within), here is not None and _NAME not in there)


def find_foreign_keys(kind: str, version: str, data: Any) -> Iterator[tuple[Path, str]]:
    """Keys of maps, such as `gpu` in limits, that are fields of the other version, with their names in this one."""
    for pattern, names in _free_maps(kind, version).items():
        for path, block in _at(data, pattern, ()):
            yield from (((*path, Key(key)), names[key]) for key in block if key in names and names[key] not in block)


@cache
def _free_maps(kind: str, version: str) -> Mapping[tuple[str, ...], Mapping[str, str]]:
    """Maps with any keys by their paths, and the other version's names of such keys with the own ones. Costs a walk over the field map."""
    other = BY_NAME[kind].other(version)
    maps: dict[tuple[str, ...], dict[str, str]] = {}
    side = BY_NAME[kind].versions[0].name == version
    for row in field_rows(KINDS[kind]) if kind in KINDS and other else ():
        theirs, ours = (_steps(row[column].partition(", ")[0]) for column in (side, not side))
        there, here = find_node(whole_schema(kind, other), theirs), find_node(whole_schema(kind, version), ours)
        for path in _below(there, here, theirs, _MAX_LEVELS) if theirs[:1] == ours[:1] == ("spec",) else ():
            place = _translated(kind, path, other, version)
            above = find_node(whole_schema(kind, version), place.path[:-1]) or {}
            if place.exact and place.path[-1] != path[-1] and "properties" not in above:
                maps.setdefault(tuple(map(str, place.path[:-1])), {}).setdefault(str(path[-1]), str(place.path[-1]))
    return maps


def _steps(name: str) -> tuple[str, ...]:
    """A path of the field map, such as `spec.components[].podTemplate.spec.containers[main]`, with `NAME` for any name."""
    return tuple(_ANY.sub(f".{_NAME}", name).replace("[", ".").replace("]", "").split("."))


def _below(there: Node | None, here: Node | None, path: Path, depth: int) -> Iterator[Path]:
    """The fields of the other version's node that are keys of any name in the own one, some levels deep."""
    if there is None or here is None:
        return
    names, known = there.get("properties") or {}, here.get("properties") or {}
    if names and not known and isinstance(here.get("additionalProperties"), dict):
        yield from ((*path, name) for name in names)
    for name in sorted(names.keys() & known.keys()) if depth else ():
        yield from _below(resolve(names[name]), resolve(known[name]), (*path, name), depth - 1)


def _at(value: Any, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The maps at a pattern, whose step in a list is an item's name, and `NAME` any."""
    if not pattern:
        if isinstance(value, dict):
            yield path, value
    elif isinstance(value, dict):
        for name in value if pattern[0] == _NAME else pattern[:1]:
            if name in value:
                yield from _at(value[name], pattern[1:], (*path, Key(name) if pattern[0] == _NAME else name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict) and pattern[0] in (_NAME, item.get("name")):
                yield from _at(item, pattern[1:], (*path, index))


def _translated(kind: str, path: Path, version: str, other: str) -> TranslatedPath:
    """A path in the other version; list items are in both by their names."""
    schema = whole_schema(kind, version)
    steps = tuple(0 if is_item else step for step, is_item in zip(path, _items(schema, path), strict=True))
    place = translate_path(KINDS[kind], steps, _example(schema, path), other, {})
    marks = _items(whole_schema(kind, other), place.path)
    return TranslatedPath(tuple(Key(step) if is_item else step for step, is_item in zip(place.path, marks, strict=True)), place.exact)


def _items(schema: Node, path: Path) -> Iterator[bool]:
    """For each step of a path, whether it is a list's item."""
    node: Node = resolve(schema)
    for step in path:
        yield "items" in node
        node = child_node(node, step) or {}


def _named(path: Path, data: Any) -> Path:
    """A path with the names of list items instead of their indices."""
    steps: list[str | int] = []
    for step in path:
        if isinstance(step, int):
            data = data[step] if isinstance(data, list) and 0 <= step < len(data) else None
            name = data.get("name") if isinstance(data, dict) else None
            steps.append(Key(name if isinstance(name, str) and name else _NAME))
        else:
            data = data.get(step) if isinstance(data, dict) else None
            steps.append(step)
    return tuple(steps)


def _example(schema: Node, path: Path) -> Any:
    """The smallest object with a path, with names in lists, by which lenses identify components and containers."""
    if not path:
        return {}
    below = _example(child_node(resolve(schema), path[0]) or {}, path[1:])
    if "items" in resolve(schema):
        return [{"name": str(path[0]), **below}] if isinstance(below, dict) else [below]
    return {str(path[0]): below}
