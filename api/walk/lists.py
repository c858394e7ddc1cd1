"""The list-type phase: no value twice in a set, no key twice in a map-list."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from ..paths import Key, Path
from ..schema import Node, resolve
from .bearing import LISTS, below, is_relevant
from .errors import FieldError, Reason, field_error


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
