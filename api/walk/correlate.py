"""Which part of the old object a part of the new one is compared with, and the forgiving of errors in parts that did not change."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from ..paths import MISSING, Key, Path, lookup
from ..schema import Node, child_node, resolve
from .bearing import LISTS, below, is_relevant
from .errors import FieldError, Reason, field_error


class Correlation:
    """A new object, the old one, and cached pairs of their parts, for one validation.

    Fields and map keys correlate by name, items of a map-list by their keys. Items of other lists don't correlate, because an index says
    nothing once an item was put in front.
    """

    def __init__(self, new: dict[str, Any], old: dict[str, Any], schema: Node) -> None:
        """Both objects must not change meanwhile: results are cached by identity."""
        self._new = new
        self._old = old
        self._schema = resolve(schema)
        self._unchanged: dict[tuple[int, int], bool] = {}
        self._by_key: dict[int, dict[Hashable, Any]] = {}

    def old_child(self, old: object, node: Node, step: str | int, item: Any) -> object:
        """Returns the old value at the path of `item`, or MISSING."""
        if isinstance(step, str):
            return old.get(step, MISSING) if isinstance(old, dict) else MISSING
        if not isinstance(old, list) or not _is_map_list(node) or not isinstance(item, dict):
            return MISSING
        names = tuple(node.get("x-kubernetes-list-map-keys") or ())
        if id(old) not in self._by_key:
            self._by_key[id(old)] = {map_key(entry, names): entry for entry in old if _has_keys(entry, names)}
        return self._by_key[id(old)].get(map_key(item, names), MISSING) if _has_keys(item, names) else MISSING

    def is_within_unchanged(self, path: Path) -> bool:
        """Whether a place, or an ancestor of it, is the same in both objects."""
        new: Any = self._new
        old: object = self._old
        node = self._schema
        for step in path:
            item = lookup(new, (step,))
            old = MISSING if item is MISSING else self.old_child(old, node, step, item)
            if old is MISSING:
                return False
            new, node = item, child_node(node, step) or {}
            if self._is_unchanged(new, old, node):
                return True
        return False

    def _is_unchanged(self, new: Any, old: Any, node: Node) -> bool:
        if not isinstance(new, (dict, list)):
            return type(new) is type(old) and bool(new == old)
        known = self._unchanged.get((id(new), id(old)))
        if known is None:
            known = self._unchanged[id(new), id(old)] = self._compare(new, old, node)
        return known

    def _compare(self, new: Any, old: Any, node: Node) -> bool:
        """Compares as the API server does: a part without a schema, or a map-list item without its keys, counts as changed always."""
        if type(new) is not type(old) or len(new) != len(old):
            return False
        if isinstance(new, list):
            if not _is_map_list(node):
                return _equal(new, old)
            below = child_node(node, 0) or {}
            pairs = ((item, self.old_child(old, node, index, item)) for index, item in enumerate(new))
            return all(old_item is not MISSING and self._is_unchanged(item, old_item, below) for item, old_item in pairs)
        for name, item in new.items():
            child = child_node(node, name)
            if child is None or name not in old or not self._is_unchanged(item, old[name], child):
                return False
        return True


def _equal(new: list[Any], old: list[Any]) -> bool:
    """Compare lists whose items don't correlate; true differs from 1, and lists too deep to compare count as changed."""
    try:
        return new == old and identity(new) == identity(old)
    except RecursionError:
        return False


def _has_keys(item: Any, names: tuple[str, ...]) -> bool:
    """An item that lacks a key, or has something other than a scalar for it, correlates with none."""
    return isinstance(item, dict) and all(isinstance(item.get(name), (str, int, float)) for name in names)


def _is_map_list(node: Node) -> bool:
    return node.get("x-kubernetes-list-type") == "map"


def list_errors(obj: dict[str, Any], schema: Node) -> Iterator[FieldError]:
    """Yields one Duplicate for each value, or key, that a list holds more than once, at its second place; the first is not at fault."""
    return _check((), obj, resolve(schema))


def _check(path: Path, value: Any, node: Node) -> Iterator[FieldError]:
    if isinstance(value, dict):
        fields = below(node, LISTS)
        for name, item in value.items():
            if isinstance(item, (dict, list)) and (child := fields.of(name)) is not None:
                yield from _check((*path, name if name in fields.known else Key(name)), item, child)
    elif isinstance(value, list):
        yield from _check_list(path, value, node)


def _check_list(path: Path, value: list[Any], node: Node) -> Iterator[FieldError]:
    kind = node.get("x-kubernetes-list-type")
    items = resolve(node["items"]) if "items" in node else {}
    if kind == "set":
        yield from _repeated(path, [(index, identity(item)) for index, item in enumerate(value)])
    elif kind == "map":
        names = tuple(node.get("x-kubernetes-list-map-keys") or ())
        stranger = next((index for index, item in enumerate(value) if item is not None and not isinstance(item, dict)), None)
        if stranger is None:
            yield from _repeated(path, [(index, map_key(item or {}, names)) for index, item in enumerate(value)])
        else:  # the API server gives up on the list at the first item that has no keys
            yield field_error((*path, stranger), Reason.INVALID, "Invalid value: must be an object for an array of list-type map")
    for index, item in enumerate(value if items and is_relevant(items, LISTS) else ()):
        if isinstance(item, (dict, list)):
            yield from _check((*path, index), item, items)


def _repeated(path: Path, keyed: Iterable[tuple[int, Hashable]]) -> Iterator[FieldError]:
    keyed = list(keyed)
    if len({key for _, key in keyed}) == len(keyed):  # as nearly every list
        return
    seen: Counter[Hashable] = Counter()
    for index, key in keyed:
        seen[key] += 1
        if seen[key] == 2:
            yield field_error((*path, index), Reason.DUPLICATE, "Duplicate value")


def map_key(item: dict[str, Any], names: tuple[str, ...]) -> tuple[Hashable, ...]:
    """The key values of a map-list's item; an absent key is a value of its own."""
    return tuple(identity(item[name]) if name in item else None for name in names)


def identity(value: Any) -> Hashable:
    """Returns something hashable that is the same for equal JSON values only; true is not 1. Absurdly deep values equal nothing else."""
    if type(value) is str:
        return value
    try:
        return json.dumps(value, sort_keys=True).encode()
    except RecursionError:
        return id(value)
