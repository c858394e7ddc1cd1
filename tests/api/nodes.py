"""Walking a schema in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields a node and all below it, without entering embedded types."""
    yield node
    for member in node.get("properties", {}).values():
        yield from nodes(member)
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from nodes(node[key])
