"""Objects that are deep in one place: each free field of each kind and version, and managedFields, which anybody's writes make longer."""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from dynamo_webhooks.api.kinds import BY_NAME, GAMMA, GROUP
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema, resolve, whole_schema
from dynamo_webhooks.conversion.kinds import KINDS

Path = tuple[str, ...]
MANAGED: Final[Path] = ("metadata", "managedFields", "[]", "fieldsV1", "f:spec")
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_NAME: Final = "worker"
_HOLE: Final = "the deep value"


def places(line: Line | None = None) -> list[tuple[str, str, Path]]:
    """Kind, version and path of all, or of those that the definitions of a line have."""

    def schema(kind: str, version: str) -> Node:
        return whole_schema(kind, version) if line is None else load_schema(kind, version, line)

    return [
        (kind, version.name, path)
        for kind in KINDS
        for version in BY_NAME[kind].versions
        for path in (MANAGED, *dict.fromkeys(_free(schema(kind, version.name)["properties"]["spec"], ("spec",), ())))
    ]


def _free(node: Node, path: Path, above: tuple[int, ...]) -> Iterator[Path]:
    node = resolve(node)
    if id(node) in above:
        return
    if node.get(_FREE) or node.get("x-kubernetes-embedded-resource"):
        yield (*path, "free")
    for name, child in (node.get("properties") or {}).items():
        yield from _free(child, (*path, name), (*above, id(node)))
    for step, child in (("[]", node.get("items")), ("{}", node.get("additionalProperties"))):
        if isinstance(child, dict):
            yield from _free(child, (*path, step), (*above, id(node)))


def deep_object(kind: str, version: str, path: Path, levels: int, namespace: str = "default") -> bytes:
    """A small object as JSON, with so many levels in one place; the object itself counts as one."""
    value: Any = _HOLE
    for step in reversed(path):
        named = {"name": _NAME} | value if step == "[]" and isinstance(value, dict) and "metadata" not in path else value
        value = [named] if step == "[]" else {_NAME if step == "{}" else step: value, **_BESIDE.get(step, {})}
        if step == "config" and "profilingConfig" in path:
            value["profilerImage"] = "i"
        if step == "eppConfig":
            value["componentType" if version == "v1alpha1" else "type"] = "epp"
        if step == "free" and path[-2] == "dgd":
            value |= {"apiVersion": f"{GROUP}/v1beta1", "kind": _GRAPH}
        if step == "free" and path[-3:-1] == ("eppConfig", "config"):
            value |= {"plugins": [_PLUGIN], **_BESIDE["plugins"]}
    if path[0] == "metadata":
        value["metadata"]["managedFields"][0] |= {
            "manager": "m",
            "operation": "Update",
            "apiVersion": f"{GROUP}/{version}",
            "fieldsType": "FieldsV1",
        }
    metadata = {"name": "deep", "namespace": namespace, **value.pop("metadata", {})}
    spec = {**({} if path[:2] == ("spec", GAMMA) else _SPECS[kind, version]), **value.pop("spec", {})}
    text = orjson.dumps({"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec})
    more = levels - len(path) - 1
    return text.replace(orjson.dumps(_HOLE), b'{"f:a":' * more + b"{}" + b"}" * more)


_PLUGIN: Final = {"type": "random-picker"}
# what the schema wants beside some steps
_BESIDE: Final[dict[str, dict[str, Any]]] = {
    "parameters": _PLUGIN,
    "plugins": {"schedulingProfiles": [{"name": "default", "plugins": []}]},
    "job": {"identity": {"model": "m", "backendFramework": "vllm"}},
}


_GRAPH: Final = "DynamoGraphDeployment"
_COMPONENT: Final = "DynamoComponentDeployment"
_SPECS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    (_GRAPH, "v1alpha1"): {"services": {_NAME: {"componentType": "worker"}}},
    (_GRAPH, "v1beta1"): {"components": [{"name": _NAME, "type": "worker"}]},
    (_COMPONENT, "v1alpha1"): {"componentType": "worker"},
    (_COMPONENT, "v1beta1"): {"name": _NAME, "type": "worker"},
    **{
        (kind, version): {"replicas": 1, "dgdRef": {"name": "g", name: _NAME}}
        for kind, version, name in (
            ("DynamoGraphDeploymentScalingAdapter", "v1alpha1", "serviceName"),
            ("DynamoGraphDeploymentScalingAdapter", "v1beta1", "componentName"),
        )
    },
    ("DynamoGraphDeploymentRequest", "v1alpha1"): {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i"}},
    ("DynamoGraphDeploymentRequest", "v1beta1"): {"model": "m"},
}
