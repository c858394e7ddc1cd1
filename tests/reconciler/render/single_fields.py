"""Graphs of both versions that have one field more than another graph: for each field of the schema, with what it needs beside itself."""

import copy
from collections.abc import Iterator
from typing import Any, Final

from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.api.schema import resolve
from tests.cli.render.test_kinds import IDENTITY

Fields = dict[str, Any]
GRAPH: Final = "DynamoGraphDeployment"
COMPONENT: Final = "DynamoComponentDeployment"
NAME: Final = "worker"
MAIN: Final[Fields] = {"image": "img.example/vllm:1.5.0", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
_ENTERED: Final = ("PodTemplateSpec", "PodSpec", "Container", "ResourceRequirements", "ConfigMapKeySelector")
ENTERED: Final = {*(f"io.k8s.api.core.v1.{name}" for name in _ENTERED), "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}

OVERRIDE: Final[Fields] = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": "rack"}}}
OF_SET: Final[Fields] = {"apiVersion": "grove.io/v1alpha1", "value": {"spec": {"template": {"topologyConstraint": {"packDomain": "rack"}}}}}
PICKER: Final[Fields] = {"plugins": [{"type": "p"}], "schedulingProfiles": [{"name": "d", "plugins": [{"pluginRef": "p"}]}]}
CHECKPOINT: Final[Fields] = {"enabled": True, "identity": IDENTITY}
GMS: Final[Fields] = {"gpuMemoryService": {"enabled": True, "mode": "InterPod"}, "failover": {"enabled": True, "mode": "InterPod"}}
ALPHA_GMS: Final[Fields] = {name: {"enabled": True, "mode": "interPod"} for name in GMS}
INGRESS: Final[Fields] = {"enabled": True, "host": "h", "ingressControllerClassName": "nginx"}
LPX_ROLES: Final = [
    {"name": name, "podTemplate": {"spec": {"containers": [{"name": "main", "image": "i:1.6.0"}]}}} for name in ("agent", "conductor")
]
POLICY: Final[Fields] = {"domain": "zone", "labelKey": "example/zone"}
# of a path's end: what its field is set to; a block that counts as a whole is not entered
VALUES: Final[dict[str, Any]] = {
    "backendFramework": "vllm",
    "spec.providerOverride": OF_SET,
    "providerOverride": OVERRIDE,
    "extraClientContainers": ["side"],
    "autoscaling": {"enabled": True, "maxReplicas": 3},
    "checkpoint.job.podTemplate": {"metadata": {"labels": {"x7": "y"}}},
    "checkpoint.targetContainerName": "side",
    "checkpoint.mode": "Manual",
    "components.frontendSidecar": "side",
    "restart.strategy.type": "Parallel",
    "restart.strategy.order": ["z", NAME],
    "experimental.kvTransferPolicy.preferredWeight": 0.5,
    "saturationDetector.metricsStalenessThreshold": "7s",
    "sharedMemory.size": "7Gi",
    "cpu": "7",
    "memory": "7Gi",
    "custom": {"example.com/x": "7"},
    "requests.gpu": "7",
    "componentType": "prefill",
    "subComponentType": "decode",
    "components.type": "prefill",
}
# beginnings of paths below a component, and what such a field needs beside itself, in the words of its version
BESIDE: Final[dict[str, dict[str, Fields]]] = {
    "v1beta1": {
        "eppConfig.configMapRef": {"type": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}},
        "eppConfig": {"type": "epp", "eppConfig": {"config": PICKER}},
        "experimental.checkpoint": {"experimental": {"checkpoint": CHECKPOINT}},
        "experimental.failover": {"experimental": GMS},
        "experimental.gpuMemoryService": {"experimental": {"gpuMemoryService": {"mode": "IntraPod"}}},
        "lpx": {"type": "lpx", "lpx": {"buildId": "b"}, "roles": LPX_ROLES},
        "multinode": {"multinode": {"nodeCount": 2}},
        "roles": {"multinode": {"nodeCount": 2}, "roles": [{"name": "leader"}, {"name": "worker"}]},
    },
    "v1alpha1": {
        "autoscaling": {},
        "checkpoint": {"checkpoint": CHECKPOINT},
        "eppConfig.configMapRef": {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}},
        "eppConfig": {"componentType": "epp", "eppConfig": {"config": PICKER}},
        "failover": ALPHA_GMS,
        "frontendSidecar": {"frontendSidecar": {"image": "img:1.5.0"}},
        "gpuMemoryService": {"gpuMemoryService": {"enabled": True, "mode": "intraPod"}},
        "ingress.virtualServiceGateway": {"ingress": {**INGRESS, "useVirtualService": True}},
        "ingress.useVirtualService": {"ingress": {**INGRESS, "virtualServiceGateway": "mesh/other"}},
        "ingress": {"ingress": INGRESS},
        "lpx": {"componentType": "lpx", "lpx": {"buildId": "b"}, "roles": LPX_ROLES},
        "multinode": {"multinode": {"nodeCount": 2}},
        "roles": {"multinode": {"nodeCount": 2}, "roles": [{"name": "leader"}, {"name": "worker"}]},
        "resources.limits.gpuType": {"resources": {"limits": {"gpu": "2"}}},
        "resources.requests.gpuType": {"resources": {"requests": {"gpu": "2"}, "limits": {"gpu": "2"}}},
        "volumeMounts": {"volumeMounts": [{"name": "v", "mountPoint": "/v"}]},
    },
}
# the same below the spec of a graph
ABOVE: Final[dict[str, Fields]] = {
    "experimental.kvTransferPolicy": {"experimental": {"kvTransferPolicy": POLICY}},
    "pvcs": {"pvcs": [{"name": "c", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}]},
    "restart": {"restart": {"id": "1"}},
}


def leaves(node: Fields, path: Path = ()) -> Iterator[tuple[Path, Fields]]:
    """The fields of a schema that hold a value, and blocks that count as a whole."""
    name, whole = node.get("$ref"), resolve(node)
    if find_by_end(VALUES, path) is not None or (name and name not in ENTERED):
        yield path, whole
        return
    inner = whole.get("items")
    if not isinstance(inner, dict):
        inner = whole.get("additionalProperties")
    if whole.get("properties"):
        for field, below in whole["properties"].items():
            yield from leaves(below, (*path, field))
    elif isinstance(inner, dict) and resolve(inner).get("properties") and inner.get("$ref") in (None, *ENTERED):
        yield from leaves(inner, (*path, 0 if "items" in whole else NAME))
    else:
        yield path, whole


def find_by_end(table: dict[str, Any], path: Path) -> Any:
    """The value of the first end of a path in a table, or None."""
    text = text_of(path)
    values = (value for end, value in table.items() if f".spec.{text}".endswith(f".{end}"))
    return next(values, None)


def text_of(path: Path) -> str:
    """A path without places in lists."""
    return ".".join(str(step) for step in path if not isinstance(step, int))


def value(node: Fields, now: Any = None) -> Any:
    """A value of a field, not that of now and not its default."""
    taken = (now, node.get("default"), "")
    if "enum" in node:
        return next((word for word in node["enum"] if word not in taken), node["enum"][0])
    if node.get("x-kubernetes-int-or-string"):
        return "8" if now == "7" else "7"
    kind = node.get("type")
    if kind == "boolean":
        return now is False if now is not None else not node.get("default")
    if kind in ("integer", "number"):
        low = node.get("minimum", 0)
        return next((number for number in (7, low, low + 1) if number <= node.get("maximum", 7) and number not in taken), low)
    if kind == "array":
        return [*(now or ()), value(resolve(node["items"]))]
    if kind == "object" or kind is None:
        free = {"x7": value(resolve(node["additionalProperties"]))} if isinstance(node.get("additionalProperties"), dict) else {}
        if node.get("x-kubernetes-preserve-unknown-fields"):
            free = {"x7": "y"}
        return {**(now or {}), **free, **required(node)}
    return {"date-time": "2026-01-01T00:00:00Z"}.get(node.get("format", ""), "x8" if now == "x7" else "x7")


def required(node: Fields) -> Fields:
    """What an object of a schema must have."""
    return {name: value(resolve(node["properties"][name])) for name in node.get("required", ())}


def put(obj: Any, schema: Fields, path: Path, wanted: Any = None, *, last: bool = True) -> None:
    """Sets a field of an object with what is above it, or with `last` False only what is above."""
    node = resolve(schema)
    for place, step in enumerate(path):
        if isinstance(step, int):
            child = resolve(node["items"])
            obj.extend([required(child)] if len(obj) <= step else ())
        else:
            known = (node.get("properties") or {}).get(step)
            child = resolve(known if known is not None else node["additionalProperties"])
            if place == len(path) - 1:
                if last:
                    obj[step] = wanted if wanted is not None else value(child, obj.get(step))
                return
            if obj.get(step) is None:
                obj[step] = [] if child.get("type") == "array" else required(child)
        obj, node = obj[step], child


def graph(version: str, beside: Fields) -> Fields:
    """A graph of a version whose component has what stands in `beside`; without the graph's own fields."""
    metadata: Fields = {"name": "g", "namespace": "demo", "annotations": {}}
    side = {"name": "side", "image": "img:1.5.0"}
    if version == "v1beta1":
        main = {"name": "main", **MAIN, "resources": {"limits": {"nvidia.com/gpu": "2"}}}
        worker = {"name": NAME, "type": "worker", "replicas": 2, "podTemplate": {"spec": {"containers": [main, side]}}, **beside}
        spec: Fields = {
            "components": [worker, {"name": "z", "type": "frontend", "podTemplate": {"spec": {"containers": [{**side, "name": "main"}]}}}]
        }
    else:
        pod = {"mainContainer": MAIN, "containers": [side]}
        worker = {"componentType": "worker", "replicas": 2, "resources": {"limits": {"gpu": "2"}}, "extraPodSpec": pod, **beside}
        spec = {"services": {NAME: worker, "z": {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "img:1.5.0"}}}}}
    return copy.deepcopy({"apiVersion": f"nvidia.com/{version}", "kind": GRAPH, "metadata": metadata, "spec": spec})


def pair(version: str, path: Path, schema: Fields) -> tuple[Fields, Fields]:
    """A graph without a field, and with it."""
    root: Path = ("components", 0) if version == "v1beta1" else ("services", NAME)
    below = path[: len(root)] == root
    text = text_of(path[len(root) :] if below else path)
    table = BESIDE[version] if below else ABOVE
    beside = next((fields for begin, fields in table.items() if text.startswith(begin)), {})
    before = graph(version, beside if below else {})
    before["spec"] |= {} if below else copy.deepcopy(beside)
    put(before["spec"], schema, path, last=False)
    after = copy.deepcopy(before)
    put(after["spec"], schema, path, find_by_end(VALUES, path))
    return before, after


def pair_alone(version: str, path: Path, schema: Fields) -> tuple[Fields, Fields]:
    """A standalone component without a field, and with it."""
    text = text_of(path)
    beside = next((fields for begin, fields in BESIDE[version].items() if text.startswith(begin)), {})
    spec = graph(version, beside)["spec"]
    component = spec["components"][0] if version == "v1beta1" else {"backendFramework": "vllm", **spec["services"][NAME]}
    component.pop("name", None)
    before: Fields = {"apiVersion": f"nvidia.com/{version}", "kind": COMPONENT, "metadata": {"name": "g-worker", "namespace": "demo"}}
    before["spec"] = component
    put(component, schema, path, last=False)
    after = copy.deepcopy(before)
    put(after["spec"], schema, path, find_by_end(VALUES, ("components", *path)))
    return before, after
