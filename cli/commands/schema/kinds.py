"""Whole JSON schemas: of one kind and version, and of files that hold many kinds; draft-07, which is what editors of YAML read.

Structural schemas are another dialect: nulls that the API server drops are allowed here, fields that it prunes are errors here, so that
typos show, and Kubernetes' types stay references. What only the server enforces (CEL rules, keys of lists, names in metadata) is left out.
"""

from collections.abc import Iterable
from typing import Any, Final

from ....api.kinds import GROUP, KINDS, Kind, api_version, list_kind_versions
from ....api.line import DEFAULT_LINE, Line
from ....api.schema import OLDER, PRESERVE, Node, load_schema, resolve
from ....api.walk.metadata import METADATA, Shape

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
MIXED: Final = "all"  # the name of the schema that chooses by apiVersion and kind
# taken over as they are
SAME: Final = (
    *("description", "default", "pattern", "minLength", "maxLength", "minimum", "maximum"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
)
NULL: Final[Node] = {"type": "null"}
_SCALARS: Final[dict[str, Node]] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int64": {"type": "integer"},
    "time": {"type": "string", "format": "date-time"},
    "any": {},
}


class Translation:
    """Translates nodes, and remembers which of Kubernetes' types they mention."""

    def __init__(self) -> None:
        self._mentioned: dict[str, Node] = {}

    def definitions(self) -> Node:
        """Every type that was referenced, also by another type; sorted."""
        done: Node = {}
        while waiting := [name for name in self._mentioned if name not in done]:
            for name in waiting:
                done[name] = self.node(resolve(self._mentioned[name]))
        return dict(sorted(done.items()))

    def node(self, node: Node) -> Node:
        """One node; null is allowed only if the schema allows it."""
        name = node.get("$ref")
        if name is None or any(key not in ("$ref", "description", OLDER) for key in node):
            return self._plain({**resolve(node), **({"description": node["description"]} if "description" in node else {})})
        if name not in self._mentioned:
            self._mentioned[name] = {key: node[key] for key in ("$ref", OLDER) if key in node}
        there: Node = {"$ref": f"#/definitions/{name}"}
        # beside a reference nothing counts in draft-07
        return {"description": node["description"], "allOf": [there]} if "description" in node else there

    def _plain(self, node: Node) -> Node:
        out: Node = {key: node[key] for key in SAME if key in node}
        if node.get("exclusiveMinimum"):
            out["exclusiveMinimum"] = out.pop("minimum")
        if node.get("x-kubernetes-int-or-string"):
            out["type"] = ["integer", "string"]
        elif "type" in node:
            out["type"] = node["type"]
            out |= {"anyOf": [self.node(option) for option in node["anyOf"]]} if "anyOf" in node else {}
        if node.get("format") == "date-time":  # the others are about numbers of typed decoders, and editors don't know them
            out["format"] = "date-time"
        enums = [part["enum"] for part in (node, *node.get("allOf", ())) if "enum" in part]
        if enums:
            out["enum"] = [value for value in enums[0] if all(value in others for others in enums)]
        if "items" in node:
            out["items"] = self.node(node["items"])
        if node.get("type") == "object":
            out |= self._object(node)
        return allow_null(out) if node.get("nullable") else out

    def _object(self, node: Node) -> Node:
        properties: dict[str, Node] = node.get("properties") or {}
        required = [name for name in node.get("required") or () if "default" not in resolve(properties.get(name, {}))]
        members = {name: self.node(child) if name in required else allow_null(self.node(child)) for name, child in properties.items()}
        if node.get("x-kubernetes-embedded-resource"):
            text: Node = {"type": "string", "minLength": 1}
            members |= {"apiVersion": text, "kind": text, "metadata": _shaped(METADATA)}
            required = list(dict.fromkeys((*required, "apiVersion", "kind")))
        out: Node = {"properties": members} if members else {}
        out |= {"required": required} if required else {}
        extra = node.get("additionalProperties")
        if isinstance(extra, dict):
            out["additionalProperties"] = allow_null(self.node(extra))
        elif not extra and not node.get(PRESERVE):
            out["additionalProperties"] = False
        return out


def allow_null(node: Node) -> Node:
    """Allow null beside a schema, in the form that editors explain best."""
    if not node or "$ref" in node or "allOf" in node or "anyOf" in node:
        described = {"description": node["description"]} if "description" in node else {}
        rest = {key: value for key, value in node.items() if key != "description"}
        meant = rest["allOf"][0] if set(rest) == {"allOf"} and len(rest["allOf"]) == 1 else rest
        return {**described, "anyOf": [meant, NULL]} if node else {}
    if "type" not in node:
        return node
    types = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return {**node, "type": [*types, "null"], **({"enum": [*node["enum"], None]} if "enum" in node else {})}


def _shaped(shape: Shape) -> Node:
    """A schema of metadata, where the API server drops unknown fields."""
    if isinstance(shape, str):
        return allow_null(_SCALARS[shape])
    if isinstance(shape, list):
        return {"type": ["array", "null"], "items": _shaped(shape[0])}
    if "*" in shape:
        return {"type": ["object", "null"], "additionalProperties": _shaped(shape["*"])}
    members: dict[str, Any] = {name: _shaped(member) for name, member in shape.items()}
    return {"type": ["object", "null"], "properties": members, "additionalProperties": False}


def make_schema(kind: str, version: str, line: Line = DEFAULT_LINE) -> Node:
    """The schema of objects of one kind and version, as a line has it. Raises: KeyError when there is none."""
    translation = Translation()
    root = _root(translation, kind, version, line)
    return {"$schema": DRAFT, "title": f"{kind} {version}", **root, "definitions": translation.definitions()}


def make_mixed_schema(line: Line = DEFAULT_LINE) -> Node:
    """One schema for arbitrary files: a Dynamo object must match its apiVersion and kind, other objects are not checked."""
    translation, pairs = Translation(), list_kind_versions(line)
    roots = {f"{kind}.{version}": _root(translation, kind, version, line) for kind, version in pairs}
    cases = [{"if": _is(kind, api_version(version)), "then": {"$ref": f"#/definitions/{kind}.{version}"}} for kind, version in pairs]
    listed: Node = {"if": _is("List", "v1"), "then": {"properties": {"items": {"type": "array", "items": {"$ref": "#"}}}}}
    return {
        "$schema": DRAFT,
        "title": "Kinds of NVIDIA Dynamo",
        "allOf": [*(_exists(kind, [version for name, version in pairs if name == kind.name]) for kind in KINDS), *cases, listed],
        "definitions": {**roots, **translation.definitions()},
    }


def _root(translation: Translation, kind: str, version: str, line: Line = DEFAULT_LINE) -> Node:
    root = translation.node(load_schema(kind, version, line))
    properties = root["properties"]
    properties["apiVersion"] = {**properties["apiVersion"], "type": "string", "const": api_version(version)}
    properties["kind"] = {**properties["kind"], "type": "string", "const": kind}
    properties["metadata"] = _shaped(METADATA)
    return {**root, "required": ["apiVersion", "kind", *(name for name in root.get("required", ()) if name not in ("apiVersion", "kind"))]}


def _is(kind: str, version: str) -> Node:
    """The schema of an object's apiVersion and kind."""
    return {"type": "object", "properties": {"apiVersion": {"const": version}, "kind": {"const": kind}}, "required": ["apiVersion", "kind"]}


def _exists(kind: Kind, versions: Iterable[str]) -> Node:
    """Our kind in our group is in a version that there is."""
    ours = _is(kind.name, "")
    ours["properties"]["apiVersion"] = {"type": "string", "pattern": f"^{GROUP.replace('.', '[.]')}/"}
    return {"if": ours, "then": {"properties": {"apiVersion": {"enum": [*map(api_version, versions)]}}}}
