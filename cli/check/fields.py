"""Fields of a schema in the sentences of `check`: where a path leads, and what an unknown field was probably meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.api.schema import Node, resolve
from dynamo_webhooks.cli.nearest import hint

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path


def field_hint(schema: Node, path: Path) -> str:
    """The end of a sentence about an unknown field, `; did you mean X?`; empty where nothing known is similar."""
    return hint(str(path[-1]), known_fields(schema, path))


def known_fields(schema: Node, path: Path) -> dict[str, object]:
    """The fields that stand beside one, by name."""
    known: dict[str, object] = (node_at(schema, path[:-1]) or {}).get("properties") or {}
    return known


def node_at(schema: Node, path: Path) -> Node | None:
    """The schema of a place; None where it has none."""
    node: Node | None = resolve(schema)
    for step in path:
        node = _child(node, step)
    return node


def field_of(schema: Node, path: Path) -> str:
    """The field at a place as `explain` is asked for it, `spec.services.*.replicas`; empty where the schema has none."""
    node: Node | None = resolve(schema)
    steps = []
    for step in path:
        steps.append(str(step) if step in ((node or {}).get("properties") or {}) else "*")
        node = _child(node, step)
    return ".".join(steps) if node is not None else ""


def _child(node: Node | None, step: str | int) -> Node | None:
    if node is None:
        return None
    properties = node.get("properties") or {}
    found = node.get("items") if isinstance(step, int) else properties.get(step) or node.get("additionalProperties")
    return resolve(found) if isinstance(found, dict) else None
