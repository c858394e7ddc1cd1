"""What server-side apply does with values of a type: merge, compare, remove fields, list fields, validate.

Kubernetes: structured-merge-diff's `typed` (merge.go, compare.go, remove.go, tofieldset.go, validate.go), walker for function.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import orjson

from tests.laws.managers.fields import Fields, Path
from tests.laws.managers.types import List, Map, Type

Value = Any


class Absent:
    """The type of what isn't there, which is not the same as null."""


ABSENT: Final = Absent()


class InvalidError(Exception):
    """A value that doesn't fit its type: the API server answers such a write with an error."""


class Changes(NamedTuple):
    """How one value differs from another."""

    added: Fields
    removed: Fields
    modified: Fields


def _shape(kind: Type, value: Value) -> Type | List | Map:
    """Which of a type's forms is meant: that of the value, and for nulls and what isn't there the first of map, scalar, list."""
    if kind.map and type(value) is dict:
        return kind.map
    if kind.list and type(value) is list:
        return kind.list
    if kind.scalar and value is not None and value is not ABSENT and type(value) not in (dict, list):
        return kind
    return kind.map or (kind if kind.scalar else kind.list) or kind


def element_of(form: List, item: Value) -> str:
    """The path element of an item of a set, or of a list with keys."""
    if not form.keys:
        if item is None or type(item) in (dict, list):
            raise InvalidError("an item of a set must be a scalar")
        return "v:" + orjson.dumps(item).decode()
    if type(item) is not dict:
        raise InvalidError("an item of a list with keys must be an object")
    fields = form.items.map.fields if form.items.map else {}
    values = {}
    for key in sorted(form.keys):
        if key in item:
            values[key] = item[key]
        elif key in fields and fields[key].default is not None:
            values[key] = fields[key].default
    if not values:
        raise InvalidError(f"an item must have {', '.join(form.keys)}")
    return "k:" + orjson.dumps(values).decode()


def validate(kind: Type, value: Value, *, duplicates: bool = False) -> None:
    """Raises InvalidError where the value isn't of the type: unknown fields, wrong forms, and items twice unless they are allowed."""
    form = _shape(kind, value)
    if value is None:
        return
    if isinstance(form, Map):
        if type(value) is not dict:
            raise InvalidError(f"expected an object, got {value!r}")
        for name, below in value.items():
            member = form.fields.get(name, form.extra)
            if member is None:
                raise InvalidError(f".{name}: field not declared in schema")
            validate(member, below, duplicates=duplicates)
    elif isinstance(form, List):
        if type(value) is not list:
            raise InvalidError(f"expected a list, got {value!r}")
        if not form.atomic:
            elements = [element_of(form, item) for item in value]
            if not duplicates and len(set(elements)) < len(elements):
                raise InvalidError(f"duplicate entries in {elements}")
        for item in value:
            validate(form.items, item, duplicates=duplicates)
    elif type(value) in (dict, list):
        raise InvalidError(f"expected a scalar, got {value!r}")


def merge(kind: Type, old: Value, new: Value) -> Value:
    """The old value with the new one laid over it: nothing is removed, leaves are the new ones."""
    form = _shape(kind, old if new is ABSENT else new)
    if isinstance(form, Map):
        olds, news = _members(old), _members(new)
        if form.atomic or not (olds or news):
            return old if new is ABSENT else new
        out: Value = {}
        for name in {**olds, **news}:
            member = form.fields.get(name, form.extra)
            assert member is not None
            merged = merge(member, olds.get(name, ABSENT), news.get(name, ABSENT))
            if merged is not ABSENT:
                out[name] = merged
        return out or ABSENT
    if isinstance(form, List) and not form.atomic and (_items(old) or _items(new)):
        return _merged_items(form, _items(old), _items(new)) or ABSENT
    return old if new is ABSENT else new


def _members(value: Value) -> dict[str, Value]:
    return value if type(value) is dict else {}


def _items(value: Value) -> list[Value]:
    return value if type(value) is list else []


def _merged_items(form: List, old: list[Value], new: list[Value]) -> list[Value]:
    """Items of both, in the order of the new ones, the old ones that are gone there at their places (`visitListItems`)."""
    olds = [element_of(form, item) for item in old]
    news = [element_of(form, item) for item in new]
    if len(set(news)) < len(news):
        raise InvalidError("duplicate entries")
    by_old: dict[str, Value] = {}
    for element, item in zip(olds, old, strict=True):
        by_old[element] = None if element in by_old else item  # items twice are merged with nothing
    by_new = dict(zip(news, new, strict=True))
    pairs = (
        (old[index], ABSENT) if index >= 0 else (by_old.get(element, ABSENT), by_new[element]) for index, element in _order(olds, news)
    )
    merged = [merge(form.items, before, after) for before, after in pairs]
    return [item for item in merged if item is not ABSENT]


def _order(olds: list[str], news: list[str]) -> Iterator[tuple[int, str]]:
    """The order in which items are merged: the index of an item of the old list alone, or -1 for one of the new list."""
    before, after = set(olds), set(news)
    shared = iter([element for element in news if element in before])
    wanted = next(shared, None)
    merged: set[str] = set()
    at, to = 0, 0
    while at < len(olds) or to < len(news):
        both = at < len(olds) and to < len(news)
        if both and olds[at] != news[to] and olds[at] in after and wanted is not None and wanted != olds[at]:
            at += 1
            continue
        if at < len(olds) and olds[at] not in after:
            yield at, olds[at]
            at += 1
            continue
        if at < len(olds) and (olds[at] in merged or (both and olds[at] == news[to])):
            at += 1
        if to < len(news):
            merged.add(news[to])
            yield -1, news[to]
            wanted = next(shared, None) if wanted == news[to] else wanted
            to += 1


def fields_of(kind: Type, value: Value) -> Fields:
    """Every leaf and item that the value says (`ToFieldSet`)."""
    fields = Fields()
    _list_fields(kind, value, fields, ())
    return fields


def _list_fields(kind: Type, value: Value, into: Fields, path: Path) -> None:
    form = _shape(kind, value)
    if form is kind or getattr(form, "atomic", False):
        into.insert(path)
    elif isinstance(form, Map):
        for name, below in _members(value).items():
            member, here = form.fields.get(name, form.extra), (*path, f"f:{name}")
            assert member is not None
            _list_fields(member, below, into, here)
            if below is None or below == {} or name not in form.fields:
                into.insert(here)
    elif isinstance(form, List):
        elements = [element_of(form, item) for item in _items(value)]
        for element, item in zip(elements, _items(value), strict=True):
            if elements.count(element) == 1:
                _list_fields(form.items, item, into, (*path, element))
            into.insert((*path, element))


def compare(kind: Type, old: Value, new: Value) -> Changes:
    """Which fields the new value adds, removes and modifies."""
    changes = Changes(Fields(), Fields(), Fields())
    _compare(kind, old, new, changes, ())
    return changes


def _compare(kind: Type, old: Value, new: Value, into: Changes, path: Path) -> None:
    before, after = _shape(kind, old), _shape(kind, new)
    if old is not ABSENT and new is not ABSENT and before is not after:
        _compare_as(before, old, new, into, path)
    form = before if new is ABSENT else after
    leaf = _compare_as(form, old, new, into, path)
    if not leaf and old is ABSENT:
        into.added.insert(path)
    elif not leaf and new is ABSENT:
        into.removed.insert(path)


def _compare_as(form: Type | List | Map, old: Value, new: Value, into: Changes, path: Path) -> bool:
    """Compares as one of a type's forms; says whether it is a leaf as such."""
    if isinstance(form, Map) and not form.atomic and (_members(old) or _members(new)):
        olds, news = _members(old), _members(new)
        for name in {**olds, **news}:
            member = form.fields.get(name, form.extra)
            assert member is not None
            _compare(member, olds.get(name, ABSENT), news.get(name, ABSENT), into, (*path, f"f:{name}"))
        return False
    if isinstance(form, List) and not form.atomic and (_items(old) or _items(new)):
        _compare_items(form, _items(old), _items(new), into, path)
        return False
    if old is ABSENT:
        into.added.insert(path)
    elif new is ABSENT:
        into.removed.insert(path)
    elif old != new:
        into.modified.insert(path)
    return True


def _compare_items(form: List, old: list[Value], new: list[Value], into: Changes, path: Path) -> None:
    olds: dict[str, list[Value]] = {}
    news: dict[str, list[Value]] = {}
    for items, by in ((old, olds), (new, news)):
        for item in items:
            by.setdefault(element_of(form, item), []).append(item)
    for element in {**olds, **news}:
        before, after, here = olds.get(element, []), news.get(element, []), (*path, element)
        if len(before) < 2 and len(after) < 2:
            _compare(form.items, before[0] if before else ABSENT, after[0] if after else ABSENT, into, here)
        elif len(before) > 1 and len(after) > 1:
            if before != after:
                into.modified.insert(here)
        elif len(before) > 1:
            if after:
                _compare(form.items, ABSENT, after[0], into, here)
            into.removed.insert(here)
        else:
            if before:
                _compare(form.items, before[0], ABSENT, into, here)
            into.added.insert(here)


def remove(kind: Type, value: Value, gone: Fields) -> Value:
    """The value without some fields; what is left empty becomes null (`RemoveItems`)."""
    form = _shape(kind, value)
    if isinstance(form, Map):
        if not _members(value) or form.atomic:
            return None
        out = {}
        for name, below in value.items():
            element = f"f:{name}"
            if element in gone.members:
                continue
            subset = gone.children.get(element)
            member = form.fields.get(name, form.extra)
            out[name] = remove(member, below, subset) if subset and member else below
        return out or None
    if isinstance(form, List):
        if not _items(value) or form.atomic:
            return None
        return _remove_items(form, value, gone) or None
    return value


def _remove_items(form: List, items: list[Value], gone: Fields) -> list[Value]:
    out = []
    for item in items:
        element = element_of(form, item)
        if element not in gone.members:
            subset = gone.children.get(element)
            out.append(remove(form.items, item, subset) if subset else item)
    return out
