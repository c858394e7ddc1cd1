"""Whether two specs of a request say the same: by meaning (profile current), or by what the Go operator would write (1.2)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.quantity import canonical, is_quantity
from dynamo_webhooks.api.scalars import scalar_form
from dynamo_webhooks.api.schema import Node, load_schema, resolve

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.policies.review import Fields

_JOB: Final = ("overrides", "profilingJob")

# Fields that a typed writer can't tell from absent ones when they hold false, 0 or nothing (in the
# Go types these are neither pointers nor always written). All have that form wherever they occur below a request's spec, or nearly so:
# `readOnly` is a pointer in two volume sources, and `resources` is one in the pod itself.
_PLAIN: Final = frozenset(
    {"enabled", "hostIPC", "hostNetwork", "hostPID", "readOnly", "stdin", "stdinOnce", "tty"}
    | {"failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds"}
    | {"chapAuthDiscovery", "chapAuthSession", "containerPort", "divisor", "hostPort", "maxSkew", "partition", "port", "sslEnabled"}
    | {"metadata", "podAffinityTerm", "preference", "resources", "seconds", "spec", "template", "weight"}
)


def same_meaning(one: Fields, other: Fields, line: Line) -> bool:
    """Whether two specs ask a line's operator for the same: an empty block is an absent one, and the order of keys means nothing."""
    return _same(one, other, line, by_meaning=True)


def same_text(one: Fields, other: Fields, line: Line) -> bool:
    """Whether two specs are written alike by a typed writer: an empty block is kept, and free-form parts go out as they came in."""
    return _same(one, other, line, by_meaning=False)


def _same(one: Fields, other: Fields, line: Line, *, by_meaning: bool) -> bool:
    node = load_schema("DynamoGraphDeploymentRequest", "v1beta1", line)["properties"]["spec"]
    return bool(_block(one, node, (), by_meaning=by_meaning) == _block(other, node, (), by_meaning=by_meaning))


def _block(block: Fields, node: Node, path: tuple[str, ...], *, by_meaning: bool) -> Fields:
    """An object's known fields without those that say nothing; a whole float equals the int (50.0 == 50), as it is written alike."""
    fields: dict[str, Node] = node.get("properties") or {}
    if not fields:  # metadata inside: its schema lists nothing, but typed readers know what is in there
        return {name: item for name, item in block.items() if item not in (None, "", [], {})}
    out: Fields = {}
    for name, item in block.items():
        if name not in fields or item is None:
            continue
        child = resolve(fields[name])
        part = _part(item, child, (*path, name), by_meaning=by_meaning)
        if not _says_nothing(name, part, child, empty_block=by_meaning and (*path, name)[:2] != _JOB):
            out[name] = part
    return out


def _says_nothing(name: str, part: Any, node: Node, *, empty_block: bool) -> bool:
    """Whether a field is as good as absent; `empty_block`: an object without fields is, too."""
    if part == {}:
        return empty_block or name in _PLAIN or "additionalProperties" in node
    return part in ("", []) or (name in _PLAIN and part in (False, 0, "0"))


def _part(value: Any, node: Node, path: tuple[str, ...], *, by_meaning: bool) -> Any:
    if node.get("x-kubernetes-preserve-unknown-fields"):
        return _free(value, by_meaning=by_meaning)
    if isinstance(value, list):
        items = resolve(node["items"])
        return [_part(item, items, path, by_meaning=by_meaning) for item in value]
    if not isinstance(value, dict):
        return canonical(value) if scalar_form(node) == "quantity" and is_quantity(value) else value
    if isinstance(extra := node.get("additionalProperties"), dict):
        return {key: "" if item is None else _part(item, resolve(extra), path, by_meaning=by_meaning) for key, item in value.items()}
    return _block(value, node, path, by_meaning=by_meaning)


def _free(value: Any, *, by_meaning: bool) -> str:
    """Free-form JSON as text, because Python takes true for 1; with sorted keys and one spelling of numbers where the meaning counts."""
    return json.dumps(_numbers(value), sort_keys=True) if by_meaning else json.dumps(value)


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
