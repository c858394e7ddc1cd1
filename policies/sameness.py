"""Whether two parts of objects mean the same, however they are written."""

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..api.quantity import canonical, is_quantity
from ..api.scalars import scalar_form
from ..api.schema import PRESERVE, Node, resolve
from .review import Fields

Blocks: TypeAlias = Callable[[tuple[str, ...]], bool]  # whether an empty object at a path is as good as absent

# Fields that a typed client can't distinguish from absent ones when they are false, 0 or empty (in the
# Go types these are neither pointers nor always written). All have that form wherever they occur below a request's spec, or nearly so:
# `readOnly` is a pointer in two volume sources, and `resources` is one in the pod itself.
_PLAIN: Final = frozenset(
    {"enabled", "hostIPC", "hostNetwork", "hostPID", "readOnly", "stdin", "stdinOnce", "tty"}
    | {"failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds"}
    | {"chapAuthDiscovery", "chapAuthSession", "containerPort", "divisor", "hostPort", "maxSkew", "partition", "port", "sslEnabled"}
    | {"metadata", "podAffinityTerm", "preference", "resources", "seconds", "spec", "template", "weight"}
)


def has_same_meaning(block: Fields, other: Fields, node: Node, empty: Blocks) -> bool:
    """Whether two values of a schema say the same; the order of keys means nothing."""
    return bool(_block(block, node, (), empty) == _block(other, node, (), empty))


def _block(block: Fields, node: Node, path: tuple[str, ...], empty: Blocks) -> Fields:
    """An object's known fields without those that say nothing; a whole float equals the int (50.0 == 50), as it is written alike."""
    fields: dict[str, Node] = node.get("properties") or {}
    if not fields:  # embedded metadata: its schema lists no fields, but typed clients know them
        return {name: item for name, item in block.items() if item not in (None, "", [], {})}
    out: Fields = {}
    for name, item in block.items():
        if name not in fields or item is None:
            continue
        child = resolve(fields[name])
        part = _part(item, child, (*path, name), empty)
        if not _is_empty(name, part, child, empty_block=empty((*path, name))):
            out[name] = part
    return out


def _is_empty(name: str, part: Any, node: Node, *, empty_block: bool) -> bool:
    """Whether a field is as good as absent; `empty_block`: an object without fields is, too."""
    if part == {}:
        return empty_block or name in _PLAIN or "additionalProperties" in node
    return part in ("", []) or (name in _PLAIN and part in (False, 0, "0"))


def _part(value: Any, node: Node, path: tuple[str, ...], empty: Blocks) -> Any:
    if node.get(PRESERVE):
        return _free(value)
    if isinstance(value, list):
        items = resolve(node["items"])
        return [_part(item, items, path, empty) for item in value]
    if not isinstance(value, dict):
        return canonical(value) if scalar_form(node) == "quantity" and is_quantity(value) else value
    if isinstance(extra := node.get("additionalProperties"), dict):
        return {key: "" if item is None else _part(item, resolve(extra), path, empty) for key, item in value.items()}
    return _block(value, node, path, empty)


def _free(value: Any) -> str:
    """Free-form JSON as text, because Python takes true for 1; with sorted keys and one spelling of numbers."""
    return json.dumps(_numbers(value), sort_keys=True)


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
