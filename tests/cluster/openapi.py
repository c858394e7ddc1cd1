"""Turns a real API server's OpenAPI into the embedded types of our schemas: `python -m tests.cluster.openapi` writes them.

A CustomResourceDefinition says less than OpenAPI v3 about the same Go types, and says some of it differently; each difference is a
constant or a function here. The result is `api/kubernetes/definitions.json`: one JSON object, name -> structural schema, a definition
a line. A reference is `{"$ref": name}`; keywords beside it override the definition's.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.cluster.assets.build import build
from tests.cluster.harness import ControlPlane, control_plane

Node: TypeAlias = dict[str, Any]
FILE: Final = Path(__file__).parents[2] / "api" / "kubernetes" / "definitions.json"
DOCUMENTS: Final = ("/openapi/v3/api/v1", "/openapi/v3/apis/batch/v1", "/openapi/v3/apis/autoscaling/v2")

CORE: Final = "io.k8s.api.core.v1."
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
# What our kinds embed; the rest follows from what these reach.
ROOTS: Final = (
    *(CORE + name for name in ("PodTemplateSpec", "PodSpec", "Container", "EnvVar", "EnvFromSource", "Probe", "VolumeMount", "Volume")),
    *(CORE + name for name in ("ResourceRequirements", "ResourceClaim", "Toleration", "LocalObjectReference", "ConfigMapKeySelector")),
    "io.k8s.api.batch.v1.JobSpec",
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior",
    "io.k8s.api.autoscaling.v2.MetricSpec",
    META + "Condition",
    META + "ObjectMeta",
)

_STRINGS: Final[Node] = {"type": "object", "additionalProperties": {"type": "string"}}
_EITHER: Final[Node] = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_NUMBER: Final = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
# Types whose Go form marshals itself: OpenAPI describes them in words of its own, a CustomResourceDefinition in these.
_OWN_WORDS: Final[Node] = {
    QUANTITY: {**_EITHER, "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"},
    INT_OR_STRING: _EITHER,
    # The metadata of a template inside another object: what remains of it is what people write there.
    META + "ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": _STRINGS,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": _STRINGS,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    },
}
# Facets that the Go types carry as markers for schema generators and that the built-in API's OpenAPI leaves out.
_CONDITION_TYPE: Final = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
_MARKERS: Final[dict[tuple[str, str], Node]] = {
    (META + "Condition", "message"): {"maxLength": 32768},
    (META + "Condition", "observedGeneration"): {"minimum": 0},
    (META + "Condition", "reason"): {"maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
    (META + "Condition", "status"): {"enum": ["True", "False", "Unknown"]},
    (META + "Condition", "type"): {"maxLength": 316, "pattern": _CONDITION_TYPE},
}
# Defaults that Go writes as a reference to a constant, which schema generators for custom resources leave out.
_NO_DEFAULT: Final = {(CORE + "AzureDiskVolumeSource", "cachingMode"), (CORE + "AzureDiskVolumeSource", "kind")}
# What later API servers have beside it, which the operator embeds since this line (Kubernetes 1.36). Lines below it lack what is marked.
_NEWER: Final = "1.3"
_SINCE: Final[Node] = {"x-since": _NEWER}
_LATER: Final[dict[tuple[str, str], Node]] = {
    (CORE + "PodSpec", "schedulingGroup"): {"type": "object", "properties": {"podGroupName": {"type": "string"}}, **_SINCE},
    (CORE + "PodCertificateProjection", "userAnnotations"): {**_STRINGS, **_SINCE},
}
_CONDITION_PATTERN: Final = "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern"
_KEPT: Final = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


def definitions(documents: list[Node]) -> Node:
    """Rewrites what the roots reach; `documents` are OpenAPI v3 documents that between them define all of it."""
    known: Node = {}
    for document in documents:
        known |= document["components"]["schemas"]
    types: Node = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name not in types:
            types[name] = _OWN_WORDS[name] if name in _OWN_WORDS else _definition(name, known[name])
            waiting += _references(types[name])
    for (name, member), node in _LATER.items():
        types[name]["properties"][member] = node
    types[_CONDITION_PATTERN] |= {"required": ["type"], "x-below": {_NEWER: {"required": ["status", "type"]}}}
    return _by_line(types)


def _by_line(types: Node) -> Node:
    """Marks the types that reach one which differs below that line."""
    marked = {name for name, _ in _LATER} | {_CONDITION_PATTERN}
    while more := {name for name, node in types.items() if marked.intersection(_references(node))} - marked:
        marked |= more
    return {name: {**node, "x-by-line": _NEWER} if name in marked else node for name, node in types.items()}


def rendered(documents: list[Node]) -> bytes:
    """The bytes of the file: names and keys sorted, one definition a line."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(node, sort_keys=True, separators=(',', ':'))}"
        for name, node in sorted(definitions(documents).items())
    )
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _definition(name: str, raw: Node) -> Node:
    node = _node(raw)
    required = raw.get("required", ())
    for member, schema in raw.get("properties", {}).items():
        written = node["properties"][member] = _node(schema)
        if _has_default(name, member, schema, required=member in required):
            written["default"] = schema["default"]
        written |= _MARKERS.get((name, member), {})
    return node


def _has_default(name: str, member: str, schema: Node, *, required: bool) -> bool:
    """Tells a default that Go's author wrote from the zero values that OpenAPI adds to whatever is never absent in Go."""
    return "default" in schema and schema["default"] != {} and not required and (name, member) not in _NO_DEFAULT


def _node(raw: Node) -> Node:
    """Keeps what a structural schema says; members of `properties` come from the caller, defaults of items and values go."""
    if "allOf" in raw or "$ref" in raw:
        (target,) = raw.get("allOf") or [raw]
        return {"$ref": target["$ref"].rsplit("/", 1)[-1]}
    node: Node = {key: raw[key] for key in _KEPT if key in raw}
    if raw.get("required"):
        node["required"] = sorted(raw["required"])
    if "properties" in raw:
        node["properties"] = {}
    for key in ("items", "additionalProperties"):
        if key in raw:
            node[key] = _node(raw[key])
    return node


def _references(node: Node) -> list[str]:
    if "$ref" in node:
        return [node["$ref"]]
    children = [*node.get("properties", {}).values(), *(node[key] for key in ("items", "additionalProperties") if key in node)]
    return [name for child in children for name in _references(child)]


def fetched(plane: ControlPlane) -> list[Node]:
    """Asks a running API server for the documents."""
    replies = [plane.request("GET", path) for path in DOCUMENTS]
    assert all(reply.status == 200 for reply in replies), replies
    return [reply.body for reply in replies]


def main() -> int:
    """Starts an API server and writes the file from its answers."""
    with tempfile.TemporaryDirectory() as home, control_plane(build(), Path(home)) as plane:
        FILE.write_bytes(rendered(fetched(plane)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
