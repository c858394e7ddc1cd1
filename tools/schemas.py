"""Writes `api/generated/*.json` from the models: `python -m tools.schemas`, or `--check` to fail when a file is stale."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from dynamo_webhooks.api import schema
from dynamo_webhooks.api.kinds import pairs
from dynamo_webhooks.api.models.facets import ALSO_REQUIRED, EMBEDDED, STATED_TWICE

if TYPE_CHECKING:
    from pydantic import BaseModel

Node: TypeAlias = dict[str, Any]
GENERATED: Final = Path(schema.GENERATED)
MODULES: Final = {
    "DynamoGraphDeployment": "graph",
    "DynamoComponentDeployment": "component",
    "DynamoGraphDeploymentRequest": "request",
    "DynamoGraphDeploymentScalingAdapter": "scaling_adapter",
    "DynamoCheckpoint": "checkpoint",
    "DynamoModel": "model",
    "DynamoWorkerMetadata": "worker_metadata",
}
_NOT_OURS: Final = ("title", "$defs")
_ROOT: Final[Node] = {
    "apiVersion": {"type": "string", "description": "Version of the API that this object is written in."},
    "kind": {"type": "string", "description": "Kind of the object."},
    "metadata": {"type": "object"},
}


def model_of(kind: str, version: str) -> type[BaseModel]:
    """Finds the root model of a kind in a version."""
    module = importlib.import_module(f"dynamo_webhooks.api.models.{version}.{MODULES[kind]}")
    model: type[BaseModel] = getattr(module, kind)
    return model


def structural(kind: str, version: str) -> Node:
    """Turns the root model into the structural schema of a CustomResourceDefinition; Kubernetes types stay `$ref`s by name."""
    raw = model_of(kind, version).model_json_schema(by_alias=True)
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
        return {**_flat(target, definitions), **own}
    choices = [choice for choice in own.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del own["anyOf"]
        return {**_flat(choices[0], definitions), **own}
    return own


def _rewrite_properties(node: Node, definitions: Node) -> None:
    """Rewrites the members of an object and moves the marks of required ones with a default into `required`."""
    required = set(node.get("required", ()))
    members: Node = {}
    for name, raw in node["properties"].items():
        member = _node(raw, definitions)
        if member.pop(ALSO_REQUIRED, False):
            required.add(name)
        members[name] = member
    node["properties"] = members
    if required or "required" in node:  # an empty one beside a reference requires nothing
        node["required"] = sorted(required)


def rendered(kind: str, version: str) -> bytes:
    """The bytes of one generated file: sorted keys, two spaces, a newline at the end."""
    return orjson.dumps(structural(kind, version), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def stale() -> list[Path]:
    """Lists the generated files that differ from what the models say now, or should not exist."""
    wanted = {GENERATED / f"{kind}.{version}.json": (kind, version) for kind, version in pairs()}
    wrong = [path for path, pair in wanted.items() if not path.is_file() or path.read_bytes() != rendered(*pair)]
    return wrong + sorted(set(GENERATED.glob("*.json")) - set(wanted))


def main(arguments: list[str] | None = None) -> int:
    """Writes the files, or says which are stale; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a file is stale")
    if parser.parse_args(arguments).check:
        wrong = stale()
        for path in wrong:
            sys.stderr.write(f"{path.name} is stale: run python -m tools.schemas\n")
        return 1 if wrong else 0
    GENERATED.mkdir(exist_ok=True)
    for path in set(GENERATED.glob("*.json")):
        path.unlink()
    for kind, version in pairs():
        (GENERATED / f"{kind}.{version}.json").write_bytes(rendered(kind, version))
    return 0


if __name__ == "__main__":
    sys.exit(main())
