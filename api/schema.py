"""Loads the generated structural schemas and resolves the Kubernetes types that they embed. No pydantic, no rules, no walking.

A file has the fields of all lines of the operator; marks tell what lines below 1.5 lack or say otherwise.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.kinds import pairs
from dynamo_webhooks.api.line import INSTALLED, Line

Node: TypeAlias = dict[str, Any]
# texts, because a command that starts often has no time to import pathlib
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - see above
GENERATED: Final = f"{_HERE}/generated"
DEFINITIONS: Final = f"{_HERE}/kubernetes/definitions.json"

SINCE: Final = "x-since"  # on a field: the first line that has it
BELOW_1_5: Final = "x-below-1.5"  # the keywords that lines below 1.5 have instead; null is none
BY_LINE: Final = "x-by-line"  # on a Kubernetes type: below line 1.5 it is another one
MARKS: Final = frozenset((SINCE, BELOW_1_5, BY_LINE))
OLDER: Final = "x-line-1.2"  # beside a `$ref`: the type of lines below 1.5
_OF_REFERENCES: Final = frozenset(("$ref", "description", OLDER))

_merged: dict[int, tuple[Node, Node]] = {}  # by id of the node, which is kept alive beside its result


@cache
def load_schema(kind: str, version: str, line: Line = INSTALLED) -> Node:
    """The schema of a kind in a version, as a line has it; the same object every time, to be read only.

    A view costs one walk over our own fields, and over those of each Kubernetes type that differs when it is met.
    Raises KeyError when there is none.
    """
    whole = whole_schema(kind, version)
    return whole if line >= Line.V1_5 else _below_1_5(whole)


@cache
def whole_schema(kind: str, version: str) -> Node:
    """The schema with the fields of all lines, by which objects are decoded and converted. Raises KeyError when there is none."""
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
    target = _older(name) if OLDER in node else load_definitions()[name]
    if node.keys() <= _OF_REFERENCES:
        return resolve(target)
    known = _merged.get(id(node))
    if known is None:
        known = _merged[id(node)] = (node, _merge(resolve(target), node))
    return known[1]


@cache
def _older(name: str) -> Node:
    """A Kubernetes type as lines below 1.5 have it."""
    return _below_1_5(load_definitions()[name])


def _below_1_5(node: Node) -> Node:
    out = {key: value for key, value in node.items() if key not in MARKS}
    if "properties" in out:
        out["properties"] = {name: _below_1_5(member) for name, member in out["properties"].items() if SINCE not in member}
    if "required" in out and "properties" in out and "$ref" not in out:
        out["required"] = [name for name in out["required"] if name in out["properties"]]
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = _below_1_5(out[key])
    if BY_LINE in load_definitions().get(out.get("$ref", ""), ()):
        out[OLDER] = True
    changes = node.get(BELOW_1_5)
    return out if changes is None else {key: value for key, value in sorted({**out, **changes}.items()) if value is not None}


def _merge(base: Node, changes: Node) -> Node:
    merged = {**base, **{key: value for key, value in changes.items() if key not in _OF_REFERENCES and key != "properties"}}
    if "properties" in changes:
        merged["properties"] = {**base.get("properties", {}), **changes["properties"]}
    if not merged.get("required", True):
        del merged["required"]
    return merged
