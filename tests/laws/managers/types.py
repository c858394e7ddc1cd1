"""The types that server-side apply merges by, read from a structural schema: scalars, lists that are atomic, sets or maps, and maps.

Kubernetes derives them in kube-openapi's `schemaconv`; names there: Atom, List, Map, `__untyped_deduced_`, `__untyped_atomic_`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema, resolve


@dataclass(slots=True, eq=False)
class Type:
    """What may stand at one place; more than one of the three for places without a declared type."""

    scalar: bool = False
    list: List | None = None
    map: Map | None = None
    default: Any = None


@dataclass(slots=True, eq=False)
class List:
    """A list: atomic, or merged by the keys of its items, or as a set when it has no keys."""

    items: Type
    atomic: bool = True
    keys: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Map:
    """An object or a map; `extra` is the type of members that `fields` doesn't name, None where there may be none."""

    fields: dict[str, Type] = field(default_factory=dict)
    extra: Type | None = None
    atomic: bool = False


SCALAR: Final = Type(scalar=True)
UNTYPED: Final = Type(scalar=True)  # atomic as a whole
UNTYPED.list, UNTYPED.map = List(UNTYPED), Map(extra=UNTYPED, atomic=True)
DEDUCED: Final = Type(scalar=True, list=List(UNTYPED))  # objects are merged member by member, lists are not
DEDUCED.map = Map(extra=DEDUCED)

_TEXTS: Final = Type(map=Map(extra=SCALAR))
METADATA: Final = Type(
    map=Map(
        {
            "labels": _TEXTS,
            "annotations": _TEXTS,
            "finalizers": Type(list=List(SCALAR, atomic=False)),
            **dict.fromkeys(("name", "namespace", "generateName", "uid", "creationTimestamp", "generation", "resourceVersion"), SCALAR),
        }
    )
)


@cache
def type_of(kind: str, version: str, line: Line = Line.V1_2) -> Type:
    """The type of whole objects of a kind in a version, on a line; the same object every time."""
    parts = {name: _type(node, keep=False) for name, node in load_schema(kind, version, line)["properties"].items()}
    return Type(map=Map({**parts, "apiVersion": SCALAR, "kind": SCALAR, "metadata": METADATA}))


def _type(node: Node, *, keep: bool) -> Type:
    """`keep` is whether a place above keeps unknown fields, which holds for everything below it."""
    node = resolve(node)
    keep = keep or bool(node.get("x-kubernetes-preserve-unknown-fields"))
    match node.get("type"):
        case "object":
            kind = Type(map=_map(node, keep=keep))
        case "array":
            kind = Type(list=_list(node, keep=keep))
        case None:
            kind = Type(scalar=True, list=List(UNTYPED), map=_map(node, keep=keep))
        case _:
            kind = Type(scalar=True)
    kind.default = node.get("default")
    return kind


def _map(node: Node, *, keep: bool) -> Map:
    fields = {name: _type(member, keep=keep) for name, member in node.get("properties", {}).items()}
    extra = node.get("additionalProperties")
    if isinstance(extra, dict):
        element: Type | None = _type(extra, keep=keep)
    elif extra is None:
        element = DEDUCED if keep or not fields else None
    else:
        element = DEDUCED if extra else None
    return Map(fields, element, atomic=node.get("x-kubernetes-map-type") == "atomic")


def _list(node: Node, *, keep: bool) -> List:
    atomic = node.get("x-kubernetes-list-type", "atomic") == "atomic"
    return List(_type(node["items"], keep=keep), atomic, tuple(node.get("x-kubernetes-list-map-keys", ())))
