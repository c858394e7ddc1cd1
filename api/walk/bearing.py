"""Which parts of a schema have something to do for a walk, so that it need not enter the others; found out once for each node."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..schema import Node, resolve

# what a walk may have to do at a node, as bits of one number: one look at a schema serves all walks
DEFAULTS: Final = 1
RULES: Final = 2
EMBEDDED: Final = 4
LISTS: Final = 8

_below: dict[tuple[int, int], tuple[Node, Below]] = {}  # likewise
_known: dict[int, tuple[Node, int]] = {}  # by id of the node, which is kept alive beside the answer


def is_relevant(node: Node, what: int) -> bool:
    """Whether a node, or any node below it, has such a thing to do."""
    return bool(_all(node) & what)


class Below(NamedTuple):
    """The fields of a node that bear something, and what all other names mean where that does, each as it resolves."""

    fields: dict[str, Node]
    known: frozenset[str]
    extra: Node | None

    def of(self, name: str) -> Node | None:
        """The node of a field that bears something; None for every other name."""
        node = self.fields.get(name)
        return node if node is not None or self.extra is None or name in self.known else self.extra


def below(node: Node, what: int) -> Below:
    """Finds those of an object's fields that a walk need look at; `node` is resolved."""
    known = _below.get((id(node), what))
    if known is None:
        properties, extra = node.get("properties") or {}, node.get("additionalProperties")
        fields = {name: resolve(child) for name, child in properties.items() if is_relevant(child, what)}
        rest = resolve(extra) if isinstance(extra, dict) and is_relevant(extra, what) else None
        known = _below[id(node), what] = (node, Below(fields, frozenset(properties), rest))
    return known[1]


def _all(node: Node) -> int:
    known = _known.get(id(node))
    if known is None:
        meant = resolve(node)
        bits = _own(meant)
        for child in (meant.get("properties") or {}).values():
            bits |= _all(child)
        for keyword in ("items", "additionalProperties"):
            child = meant.get(keyword)
            if isinstance(child, dict):
                bits |= _all(child)
        known = _known[id(node)] = (node, bits)
    return known[1]


def _own(node: Node) -> int:
    """The work at the node itself."""
    bits = DEFAULTS if "default" in node else 0
    if "x-kubernetes-validations" in node:
        bits |= RULES
    if "x-kubernetes-embedded-resource" in node:
        bits |= EMBEDDED
    return bits | LISTS if node.get("x-kubernetes-list-type") in ("set", "map") else bits
