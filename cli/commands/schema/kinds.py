"""Whole JSON schemas: of one kind and version, and of files that hold many kinds. How a node is translated, nodes.py says."""

from typing import Final

from ....api.kinds import GROUP, KINDS, Kind, api_version, list_kind_versions
from ....api.line import USUAL, Line
from ....api.schema import Node, load_schema
from .nodes import Translation, metadata

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
MIXED: Final = "all"  # the name of the schema that chooses by apiVersion and kind


def schema_of(kind: str, version: str, line: Line = USUAL) -> Node:
    """The schema of objects of one kind and version, as a line has it. Raises: KeyError when there is none."""
    translation = Translation()
    root = _root(translation, kind, version, line)
    return {"$schema": DRAFT, "title": f"{kind} {version}", **root, "definitions": translation.definitions()}


def mixed_schema(line: Line = USUAL) -> Node:
    """One schema for arbitrary files: a Dynamo object must match its apiVersion and kind, other objects are not checked."""
    translation = Translation()
    roots = {f"{kind}.{version}": _root(translation, kind, version, line) for kind, version in list_kind_versions()}
    cases = [
        {"if": _is(kind, api_version(version)), "then": {"$ref": f"#/definitions/{kind}.{version}"}}
        for kind, version in list_kind_versions()
    ]
    listed: Node = {"if": _is("List", "v1"), "then": {"properties": {"items": {"type": "array", "items": {"$ref": "#"}}}}}
    return {
        "$schema": DRAFT,
        "title": "Kinds of NVIDIA Dynamo",
        "allOf": [*(_exists(kind) for kind in KINDS), *cases, listed],
        "definitions": {**roots, **translation.definitions()},
    }


def _root(translation: Translation, kind: str, version: str, line: Line) -> Node:
    root = translation.node(load_schema(kind, version, line))
    properties = root["properties"]
    properties["apiVersion"] = {**_without_null(properties["apiVersion"]), "const": api_version(version)}
    properties["kind"] = {**_without_null(properties["kind"]), "const": kind}
    properties["metadata"] = metadata()
    return {**root, "required": ["apiVersion", "kind", *(name for name in root.get("required", ()) if name not in ("apiVersion", "kind"))]}


def _without_null(node: Node) -> Node:
    return {**node, "type": "string"}


def _is(kind: str, version: str) -> Node:
    """What an object's two first fields are."""
    return {"type": "object", "properties": {"apiVersion": {"const": version}, "kind": {"const": kind}}, "required": ["apiVersion", "kind"]}


def _exists(kind: Kind) -> Node:
    """Our kind in our group is in a version that there is."""
    ours = _is(kind.name, "")
    ours["properties"]["apiVersion"] = {"type": "string", "pattern": f"^{GROUP.replace('.', '[.]')}/"}
    return {"if": ours, "then": {"properties": {"apiVersion": {"enum": [api_version(version.name) for version in kind.versions]}}}}
