"""Loads the generated structural schemas and resolves the Kubernetes types that they embed. No pydantic, no rules, no walking.

A file has the fields of all lines of the operator, as the newest declares them; marks say what the lines below have instead.
"""

import json
import os
from functools import cache
from typing import Any, Final, TypeAlias

from .kinds import list_kind_versions
from .line import NEWEST, Line
from .paths import Path

Node: TypeAlias = dict[str, Any]
# texts, because a command that starts often has no time to import pathlib
_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - see above
GENERATED: Final = f"{_HERE}/generated"
DEFINITIONS: Final = f"{_HERE}/kubernetes/definitions.json"

SINCE: Final = "x-since"  # on a field: the first line that has it
BELOW: Final = "x-below"  # by line: the keywords that the lines below it have instead; null is none
BY_LINE: Final = "x-by-line"  # on a Kubernetes type: the first line that has it as it is here
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
BRIEF: Final = "x-brief"  # written into definitions without the members of its longest parts, which keep what they are given
MARKS: Final = frozenset((SINCE, BELOW, BY_LINE, BRIEF))
OLDER: Final = "x-line"  # beside a `$ref`: the line whose type it is, if that is another one
_OF_REFERENCES: Final = frozenset(("$ref", "description", OLDER))

_merged: dict[int, tuple[Node, Node]] = {}  # by id of the node, which is kept alive beside its result


@cache
def load_schema(kind: str, version: str, line: Line) -> Node:
    """The schema of a kind in a version, as a line has it; the same object every time, to be read only.

    A view costs one walk over our own fields, and over those of each Kubernetes type that differs when it is met.
    Raises KeyError when there is none.
    """
    whole = whole_schema(kind, version)
    return whole if line is NEWEST else _view(whole, line)


@cache
def whole_schema(kind: str, version: str) -> Node:
    """The schema with the fields of all lines, by which objects are decoded and converted. Raises KeyError when there is none."""
    if (kind, version) not in list_kind_versions():
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
    target = _older(name, node[OLDER]) if OLDER in node else load_definitions()[name]
    if node.keys() <= _OF_REFERENCES:
        return resolve(target)
    known = _merged.get(id(node))
    if known is None:
        known = _merged[id(node)] = (node, _merge(resolve(target), node))
    return known[1]


@cache
def _older(name: str, line: Line) -> Node:
    """A Kubernetes type on a line that has another one than the newest."""
    return _view(load_definitions()[name], line)


def _view(node: Node, line: Line) -> Node:
    """A schema as a line has it."""
    out = {key: value for key, value in node.items() if key not in MARKS or key == BRIEF}
    if "properties" in out:
        out["properties"] = {name: _view(member, line) for name, member in out["properties"].items() if member.get(SINCE, line) <= line}
    if "required" in out and "properties" in out and "$ref" not in out:
        out["required"] = [name for name in out["required"] if name in out["properties"]]
        if not out["required"]:
            del out["required"]
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = _view(out[key], line)
    if load_definitions().get(out.get("$ref", ""), {}).get(BY_LINE, line) > line:
        out[OLDER] = line
    changes = node.get(BELOW, {})
    for later in sorted((each for each in changes if line < each), reverse=True):
        out |= changes[later]
    return {key: value for key, value in sorted(out.items()) if value is not None} if changes else out


def _merge(base: Node, changes: Node) -> Node:
    merged = {**base, **{key: value for key, value in changes.items() if key not in _OF_REFERENCES and key != "properties"}}
    if "properties" in changes:
        merged["properties"] = {**base.get("properties", {}), **changes["properties"]}
    if not merged.get("required", True):
        del merged["required"]
    return merged


def find_node(schema: Node, path: Path) -> Node | None:
    """The schema of a place; None where it has none."""
    node: Node | None = resolve(schema)
    for step in path:
        node = child_node(node, step)
    return node


def child_node(node: Node | None, step: str | int) -> Node | None:
    """The schema of a field or key, or of a list's items, whatever the step there; None where it has none."""
    if node is None:
        return None
    child = (node.get("properties") or {}).get(step) or node.get("items") or node.get("additionalProperties")
    return resolve(child) if isinstance(child, dict) else None
