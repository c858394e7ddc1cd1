"""Walking a schema in tests."""

from collections.abc import Iterator
from typing import Any


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields a node and all below it, without entering embedded types."""
    yield node
    for member in node.get("properties", {}).values():
        yield from nodes(member)
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from nodes(node[key])
