"""Applies structural defaults and drops nulls in place, as the API server does before it calls webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..paths import Key, Path
from ..schema import Node, resolve
from .bearing import DEFAULTS, below, is_relevant


def default(obj: dict[str, Any], schema: Node) -> tuple[Path, ...]:
    """Sets the schema's defaults in the object itself and returns the paths that were set.

    A default never creates its parent. An explicit null counts as absent where the schema has a default; elsewhere `drop_nulls` removes it.
    """
    done: list[Path] = []
    if is_relevant(schema, DEFAULTS):
        _default(done, (), obj, _plan(schema))
    return tuple(done)


def drop_nulls(obj: dict[str, Any], schema: Node) -> tuple[Path, ...]:
    """Removes explicit nulls from the object itself where the schema allows none, and returns their paths.

    Call it after `default`. Nulls in lists stay, and so do those in free-form parts.
    """
    return tuple(_drop_nulls((), obj, resolve(schema)))


def without_nulls(value: Any, schema: Node) -> Any:
    """The object without what `drop_nulls` removes; the object itself stays as it is, and shares its free-form parts."""
    node = resolve(schema)
    if isinstance(value, dict):
        properties: dict[str, Node] = node.get("properties") or {}
        extra = node.get("additionalProperties")
        made: dict[str, Any] = {}
        for name, item in value.items():
            child = properties.get(name, extra)
            if not isinstance(child, dict):
                made[name] = item
            elif item is not None:
                made[name] = without_nulls(item, child)
            elif resolve(child).get("nullable"):
                made[name] = None
        return made
    if isinstance(value, list) and "items" in node:
        return [without_nulls(item, node["items"]) for item in value]
    return value


_plans: dict[int, tuple[Node, _Plan]] = {}  # by id of the node, which is kept alive beside the answer


class _Plan(NamedTuple):
    """The work of defaulting at a node: `fields` and `extra` are entered, `known` are the names that `extra` does not mean."""

    defaults: tuple[tuple[str, bool, Any], ...]  # name, whether it may be null, and the default
    fields: dict[str, _Plan]
    known: frozenset[str]
    extra: _Plan | None
    items: _Plan | None


def _plan(node: Node) -> _Plan:
    known = _plans.get(id(node))
    if known is None:
        meant = resolve(node)
        children = [(name, resolve(child)) for name, child in (meant.get("properties") or {}).items()]
        fields = below(meant, DEFAULTS)
        items = meant.get("items")
        plan = _Plan(
            tuple((name, bool(child.get("nullable")), child["default"]) for name, child in children if "default" in child),
            {name: _plan(child) for name, child in fields.fields.items()},
            fields.known,
            None if fields.extra is None else _plan(fields.extra),
            _plan(items) if items is not None and is_relevant(items, DEFAULTS) else None,
        )
        known = _plans[id(node)] = (node, plan)
    return known[1]


def _default(done: list[Path], path: Path, value: Any, plan: _Plan) -> None:
    defaults, fields, known, extra, items = plan
    if type(value) is list:
        if items is not None:
            for index, item in enumerate(value):
                if type(item) is dict or type(item) is list:
                    _default(done, (*path, index), item, items)
        return
    for name, nullable, default in defaults:
        if value.get(name) is None and not (nullable and name in value):
            value[name] = _copy(default)
            done.append((*path, name))
    if not fields and extra is None:
        return
    for name, item in value.items():
        if type(item) is dict or type(item) is list:
            child = fields.get(name)
            if child is not None:
                _default(done, (*path, name), item, child)
            elif extra is not None and name not in known:
                _default(done, (*path, Key(name)), item, extra)


def _drop_nulls(path: Path, value: Any, node: Node) -> Iterator[Path]:
    if isinstance(value, dict):
        properties: dict[str, Node] = node.get("properties") or {}
        extra = node.get("additionalProperties")
        for name in list(value):
            item = value[name]
            child = properties.get(name, extra)
            if not isinstance(child, dict) or not (item is None or isinstance(item, (dict, list))):
                continue
            place, child = (*path, name if name in properties else Key(name)), resolve(child)
            if item is None and not child.get("nullable"):
                del value[name]
                yield place
            else:
                yield from _drop_nulls(place, item, child)
    elif isinstance(value, list) and "items" in node:
        items = resolve(node["items"])
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                yield from _drop_nulls((*path, index), item, items)


def _copy(value: Any) -> Any:
    """Copies a default, so that no two objects share it; defaults are small."""
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
