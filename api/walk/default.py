"""Structural defaulting and the dropping of nulls, as the API server does both before anybody sees an object. In place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.api.schema import Node, resolve
from dynamo_webhooks.api.walk.bearing import DEFAULTS, bears, below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path


def default(obj: dict[str, Any], schema: Node) -> tuple[Path, ...]:
    """Sets the schema's defaults in the object itself and returns the paths that were set.

    A default never creates its parent. An explicit null counts as absent where the schema has a default; elsewhere `drop_nulls` removes it.
    """
    done: list[Path] = []
    if bears(schema, DEFAULTS):
        _default(done, (), obj, resolve(schema))
    return tuple(done)


def drop_nulls(obj: dict[str, Any], schema: Node) -> tuple[Path, ...]:
    """Removes explicit nulls from the object itself where the schema allows none, and returns their paths.

    Call it after `default`. Nulls in lists stay, and so do those in free-form parts.
    """
    return tuple(_drop_nulls((), obj, resolve(schema))) if _holds_null(obj) else ()


_defaults: dict[int, tuple[Node, list[tuple[str, Node]]]] = {}  # by id of the node, which is kept alive beside the answer


def _holds_null(value: Any) -> bool:
    """Whether there is a null anywhere inside, which is rare and found in a fraction of the time that the schema takes."""
    todo = [value]
    while todo:
        parent = todo.pop()
        for item in parent.values() if type(parent) is dict else parent:
            if item is None:
                return True
            if type(item) is dict or type(item) is list:
                todo.append(item)
    return False


def _default(done: list[Path], path: Path, value: Any, node: Node) -> None:
    if isinstance(value, dict):
        for name, child_node in _with_default(node):
            if value.get(name) is None and not (name in value and child_node.get("nullable")):
                value[name] = _copy(child_node["default"])
                done.append((*path, name))
        fields = below(node, DEFAULTS)
        for name, item in value.items():
            if isinstance(item, (dict, list)) and (child := fields.of(name)) is not None:
                _default(done, (*path, name if name in fields.known else Key(name)), item, child)
    elif isinstance(value, list) and "items" in node and bears(node["items"], DEFAULTS):
        items = resolve(node["items"])
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                _default(done, (*path, index), item, items)


def _with_default(node: Node) -> list[tuple[str, Node]]:
    """The fields of a node that have a default, with their schemas."""
    found = _defaults.get(id(node))
    if found is None:
        children = [(name, resolve(child)) for name, child in (node.get("properties") or {}).items()]
        found = _defaults[id(node)] = (node, [(name, child) for name, child in children if "default" in child])
    return found[1]


def _drop_nulls(path: Path, value: Any, node: Node) -> Iterator[Path]:
    if isinstance(value, dict):
        for name, child_node, is_key in _children(value, node):
            place = (*path, Key(name) if is_key else name)
            if value[name] is None and not child_node.get("nullable"):
                del value[name]
                yield place
            else:
                yield from _drop_nulls(place, value[name], child_node)
    elif isinstance(value, list) and "items" in node:
        items = resolve(node["items"])
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                yield from _drop_nulls((*path, index), item, items)


def _children(value: dict[str, Any], node: Node) -> Iterator[tuple[str, Node, bool]]:
    """Yields the fields that may hold something to do, with their schema, and whether they're keys of a map."""
    properties: dict[str, Node] = node.get("properties") or {}
    extra = node.get("additionalProperties")
    for name in list(value):
        item = value[name]
        if item is not None and not isinstance(item, (dict, list)):
            continue
        child = properties.get(name)
        if child is not None:
            yield name, resolve(child), False
        elif isinstance(extra, dict):
            yield name, resolve(extra), True


def _copy(value: Any) -> Any:
    """Copies a default, so that no two objects share it; defaults are small."""
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
