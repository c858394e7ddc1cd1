"""Which parts of a schema have something to do for a walk, so that it need not enter the others; found out once for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from api.schema import Node, resolve

if TYPE_CHECKING:
    from collections.abc import Callable


def bearing(test: Callable[[Node], bool]) -> Callable[[Node], bool]:
    """Returns a function that says whether a node, or any node below it, passes the test."""
    known: dict[int, tuple[Node, bool]] = {}  # by id of the node, which is kept alive beside the answer

    def bears(node: Node) -> bool:
        found = known.get(id(node))
        if found is None:
            meant = resolve(node)
            children = [*(meant.get("properties") or {}).values(), meant.get("items"), meant.get("additionalProperties")]
            found = (node, test(meant) or any(bears(child) for child in children if isinstance(child, dict)))
            known[id(node)] = found
        return found[1]

    return bears
