"""Loads the generated structural schemas and resolves the Kubernetes types that they embed. No pydantic, no rules, no walking."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.kinds import pairs

Node: TypeAlias = dict[str, Any]
# texts, because a command that starts often has no time to import pathlib
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - see above
GENERATED: Final = f"{_HERE}/generated"
DEFINITIONS: Final = f"{_HERE}/kubernetes/definitions.json"

_merged: dict[int, tuple[Node, Node]] = {}  # by id of the node, which is kept alive beside its result


@cache
def load_schema(kind: str, version: str) -> Node:
    """Reads the schema of a kind in a version; the same object every time, to be read only. Raises KeyError when there is none."""
    if (kind, version) not in pairs():
        raise KeyError(f"no schema for {kind} {version}")
    return _read(f"{GENERATED}/{kind}.{version}.json")


@cache
def load_definitions() -> Node:
    """Reads the schemas of Kubernetes' embedded types by name; the same object every time, to be read only."""
    return _read(DEFINITIONS)


def _read(file: str) -> Node:
    with open(file, "rb") as stream:  # noqa: PTH123 - see above
        node: Node = json.load(stream)
    return node


def resolve(node: Node) -> Node:
    """Returns what a node means: itself, or the Kubernetes type that its `$ref` names.

    Results are shared by identity, so that compilers can memoise by `id`. Keywords beside `$ref` override those of the type,
    `properties` are added to its own, an empty `required` requires nothing; a description alone changes nothing and is dropped.
    """
    name = node.get("$ref")
    if name is None:
        return node
    if all(key in ("$ref", "description") for key in node):
        return resolve(load_definitions()[name])
    known = _merged.get(id(node))
    if known is None:
        known = _merged[id(node)] = (node, _merge(resolve(load_definitions()[name]), node))
    return known[1]


def _merge(base: Node, changes: Node) -> Node:
    merged = {**base, **{key: value for key, value in changes.items() if key not in ("$ref", "properties", "description")}}
    if "properties" in changes:
        merged["properties"] = {**base.get("properties", {}), **changes["properties"]}
    if not merged.get("required", True):
        del merged["required"]
    return merged
