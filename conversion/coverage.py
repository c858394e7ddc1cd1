"""Checks declarations against the schemas: exactly one lens claims each member of a struct, in both versions."""

from __future__ import annotations

from typing import Any

from ..api.schema import resolve, whole_schema
from .kind import LEFT, RIGHT
from .lens.struct import Struct


def property_of(kind: str, version: str, *path: str) -> dict[str, Any]:
    """The schema of a property, by its path."""
    node = resolve(whole_schema(kind, version))
    for step in path:
        node = resolve(node["properties"][step])
    return node


def members(kind: str, version: str, path: tuple[str, ...]) -> set[str]:
    """The properties of the struct at a path; `*` steps into the values of a map or the elements of a list."""
    node = resolve(whole_schema(kind, version))
    for step in path:
        node = resolve(node.get("additionalProperties") or node["items"]) if step == "*" else resolve(node["properties"][step])
    return set(node["properties"])


def check_coverage(struct: Struct, kind: str, left: str, right: str, *, beside: frozenset[str] = frozenset()) -> None:
    """Check one struct, at the path `left` in v1alpha1 and `right` in v1beta1; other lenses claim the members `beside`.

    Raises: DeclarationError.
    """
    lefts = members(kind, LEFT, tuple(left.split(".")))
    rights = members(kind, RIGHT, tuple(right.split(".")))
    struct.require(f"{kind} {left}", lefts - beside, rights - beside)
