"""Which part of the old object a part of the new one is to be compared with, and ratcheting by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.cel import twin_of
from api.paths import MISSING
from api.schema import Node, resolve
from api.walk.lists import map_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from api.paths import Path
    from api.walk.errors import FieldError


def old_child(old: object, node: Node, step: str | int, item: Any) -> object:
    """Returns what stood in the old object where `item` stands in the new one, or MISSING.

    Fields and map keys correlate by name, items of a map-list by their keys. Items of other lists don't correlate, because an index says
    nothing once an item was put in front.
    """
    if isinstance(step, str):
        return old.get(step, MISSING) if isinstance(old, dict) else MISSING
    if not isinstance(old, list) or node.get("x-kubernetes-list-type") != "map" or not isinstance(item, dict):
        return MISSING
    names = tuple(node.get("x-kubernetes-list-map-keys") or ())
    wanted = map_key(item, names)
    return next((one for one in old if isinstance(one, dict) and map_key(one, names) == wanted), MISSING)


def without_unchanged(errors: Iterable[FieldError], obj: dict[str, Any], old: dict[str, Any], schema: Node) -> Iterator[FieldError]:
    """Drops the errors of parts that stand unchanged in the old object: the API server's ratcheting of stored objects.

    An error stays when its rule speaks of the old value, or when its place, and everything that holds it, changed or is new.
    """
    for error in errors:
        if (error.rule and _is_transition(error.rule, error.path, schema)) or not _is_unchanged(error.path, obj, old, schema):
            yield error


def _is_unchanged(path: Path, obj: Any, old: object, schema: Node) -> bool:
    """Follows the path in both objects, down to the first part that is equal in both."""
    node = resolve(schema)
    for step in path:
        item = _step(obj, step)
        if item is MISSING:
            return False
        old, node, obj = old_child(old, node, step, item), _below(node, step), item
        if old is MISSING:
            return False
        if old == obj:
            return True
    return False


def _step(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else MISSING
    return value.get(step, MISSING) if isinstance(value, dict) else MISSING


def _below(node: Node, step: str | int) -> Node:
    """Returns the schema of a child, or of nothing."""
    if isinstance(step, int):
        return resolve(node["items"]) if "items" in node else {}
    child = (node.get("properties") or {}).get(step) or node.get("additionalProperties")
    return resolve(child) if isinstance(child, dict) else {}


def _is_transition(rule: str, path: Path, schema: Node) -> bool:
    """Looks the rule's twin up where it was broken."""
    node = resolve(schema)
    for step in path:
        node = _below(node, step)
    twins = [twin_of(entry["rule"]) for entry in node.get("x-kubernetes-validations") or ()]
    return any(twin.id == rule and twin.transition for twin in twins)
