"""Writes `api/generated/*.json` from the models: `python -m tools.schemas`, or `--check` to fail when a file is stale."""

import importlib
import sys
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson
from pydantic import BaseModel

from dynamo_webhooks.api import schema
from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.models.facets import ALSO_REQUIRED, EMBEDDED, STATED_TWICE
from tools.written import update

Node: TypeAlias = dict[str, Any]
GENERATED: Final = Path(schema.GENERATED)
MODULES: Final = {  # of the others it is component
    "DynamoGraphDeploymentRequest": "request",
    **dict.fromkeys(("DynamoCheckpoint", "DynamoModel", "DynamoWorkerMetadata"), "alone"),
    **dict.fromkeys(("DynamoGraphDeploymentRun", "DynamoGraphDeploymentCandidate"), "search"),
}
_NOT_OURS: Final = ("title", "$defs")
_ROOT: Final[Node] = {
    "apiVersion": {"type": "string", "description": "Version of the API that this object is written in."},
    "kind": {"type": "string", "description": "Kind of the object."},
    "metadata": {"type": "object"},
}


def find_model(kind: str, version: str) -> type[BaseModel]:
    """Finds the root model of a kind in a version."""
    module = importlib.import_module(f"dynamo_webhooks.api.models.{version}.{MODULES.get(kind, 'component')}")
    model: type[BaseModel] = getattr(module, kind)
    return model


def make_structural_schema(kind: str, version: str) -> Node:
    """Turns the root model into the structural schema of a CustomResourceDefinition; Kubernetes types stay `$ref`s by name."""
    raw = find_model(kind, version).model_json_schema(by_alias=True)
    root = _node(raw, raw.get("$defs", {}))
    root["properties"] = {**_ROOT, **root["properties"]}
    return root


def _node(raw: Node, definitions: Node) -> Node:
    """Rewrites one node: references to models inlined, `or null` and titles dropped, children rewritten."""
    node = _flat(raw, definitions)
    if EMBEDDED in node:
        node["$ref"] = node.pop(EMBEDDED)
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if node.pop(STATED_TWICE, False):
        values = node.pop("enum")
        node["allOf"] = [{"enum": values}, {"enum": values}]
    if "properties" in node:
        _rewrite_properties(node, definitions)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _node(node[key], definitions)
    if isinstance(node.get("additionalProperties"), bool):
        del node["additionalProperties"]
    if isinstance(node.get("description"), str):
        node["description"] = " ".join(node["description"].split())
    return node


def _flat(raw: Node, definitions: Node) -> Node:
    """Merges a reference to a model, or the one alternative beside null, into the node that holds it; the holder's own words win."""
    own = {key: value for key, value in raw.items() if key not in _NOT_OURS}
    if own.get("default", ...) is None:
        del own["default"]
    if "$ref" in own:
        target = definitions[own.pop("$ref").rsplit("/", 1)[-1]]
        return _merge_nodes(_flat(target, definitions), own)
    choices = [choice for choice in own.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del own["anyOf"]
        return _merge_nodes(_flat(choices[0], definitions), own)
    return own


def _merge_nodes(inner: Node, own: Node) -> Node:
    """A node beside its holder's words; what both say of older lines adds up."""
    below = [each[schema.BELOW] for each in (inner, own) if schema.BELOW in each]
    both: Node = {line: {} for each in below for line in each}
    for line, changes in ((line, changes) for each in below for line, changes in each.items()):
        both[line] |= changes
    return {**inner, **own, **({schema.BELOW: both} if both else {})}


def _rewrite_properties(node: Node, definitions: Node) -> None:
    """Rewrites the members of an object and moves the marks of required ones with a default into `required`."""
    members: Node = {name: _node(raw, definitions) for name, raw in node["properties"].items()}
    marked = [name for name, member in members.items() if member.pop(ALSO_REQUIRED, False)]
    node["properties"] = members
    if marked or "required" in node:  # an empty one beside a reference requires nothing
        node["required"] = sorted({*node.get("required", ()), *marked})


def render_schema(kind: str, version: str) -> bytes:
    """The bytes of one generated file: sorted keys, two spaces, a newline at the end."""
    return orjson.dumps(
        make_structural_schema(kind, version), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def main(arguments: list[str]) -> int:
    """Writes the files and removes others, or with `--check` names the stale ones; returns the exit code."""
    wanted = {GENERATED / f"{kind}.{version}.json": render_schema(kind, version) for kind, version in list_kind_versions()}
    return update(wanted, arguments, GENERATED.glob("*.json"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
