"""The types of objects by the schema of their kind, as an API server's `status.typeChecking` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from ...api.line import Line
from ...api.schema import PRESERVE, Node, load_definitions, load_schema, resolve
from ...cel.types import DYN, StaticType, make_type, read_type

_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_STRINGS: Final = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}  # by format
_PLAIN: Final = {"boolean": "bool", "number": "double", "integer": "int"}
_ROOT: Final = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
_CONFIG_MAP: Final[Node] = {
    "type": "object",
    "properties": {
        "immutable": {"type": "boolean"},
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
        "binaryData": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
    },
}


@cache
def type_of_kind(kind: str, version: str, line: Line) -> StaticType:
    """The type of a kind's objects on an operator release. Raises: KeyError for a version that the release lacks."""
    return _type_of(_with_metadata(load_schema(kind, version, line)), kind)


@cache
def type_of_config_map() -> StaticType:
    """The type of ConfigMaps."""
    return _type_of(_with_metadata(_CONFIG_MAP), "ConfigMap")


def _with_metadata(node: Node) -> Node:
    return {**node, "properties": {**(node.get("properties") or {}), **_ROOT, "metadata": load_definitions()[_METADATA]}}


class SchemaFields(Mapping[str, StaticType]):
    """The fields of a structure; each type is made when it is asked for."""

    def __init__(self, properties: Node, name: str) -> None:
        self._properties, self._name = properties, name
        self._known: dict[str, StaticType] = {}

    def __getitem__(self, field: str) -> StaticType:
        if field not in self._known:
            self._known[field] = _type_of(self._properties[field], f"{self._name}.{field}")
        return self._known[field]

    def describe(self, field: str) -> str:
        """The description of a field; empty where the schema has none."""
        return str(resolve(self._properties.get(field) or {}).get("description") or "")

    def __iter__(self) -> Iterator[str]:
        return iter(self._properties)

    def __len__(self) -> int:
        return len(self._properties)


def _type_of(node: Node, name: str) -> StaticType:
    """The type of a node; `name` is that of its structure. What a schema leaves open may be anything."""
    node = resolve(node)
    kind = node.get("type")
    if node.get("x-kubernetes-int-or-string") or (node.get(PRESERVE) and not node.get("properties")):
        return DYN
    if kind == "array" and "items" in node:
        return make_type("list", _type_of(node["items"], name))
    if kind == "object" and isinstance(node.get("additionalProperties"), dict):
        return make_type("map", make_type("string"), _type_of(node["additionalProperties"], name))
    if kind == "object":
        return StaticType(name, (), SchemaFields(node.get("properties") or {}, name))
    if kind == "string":
        return read_type(_STRINGS.get(str(node.get("format")), "string"))
    return make_type(_PLAIN[kind]) if kind in _PLAIN else DYN
