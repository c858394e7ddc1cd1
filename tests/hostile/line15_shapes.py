"""Shapes that only the rules of line 1.5 look at."""

from typing import Final

from dynamo_webhooks.api.kinds import BETA
from tests.hostile.shapes import GRAPH, Fields, Shape, kept, named, names, new

_IMAGE: Final = "x/vllm:latest"
_OVERRIDE: Final[Fields] = {"apiVersion": "a", "target": "b", "value": {"x": 1, "topologyConstraint": {}}}
_POWER: Final[Fields] = {"annotations": {"dynamo.nvidia.com/gpu-power-limit": "no"}}


def _one(service: Fields) -> Fields:
    return {"backendFramework": "vllm", "services": {"worker": {"componentType": "worker", **service}}}


def _claims(n: int) -> Fields:
    return _one(
        {
            "extraPodMetadata": _POWER,
            "extraPodSpec": {"containers": [{"name": name, "resources": {"claims": [{"name": "c"}]}} for name in names(n)]},
        }
    )


def _many(n: int) -> Fields:
    service = {
        "minAvailable": 3,
        "providerOverride": _OVERRIDE,
        "multinode": {},
        "roles": [{"name": "leader", "providerOverride": _OVERRIDE}],
    }
    service |= {"extraPodMetadata": _POWER, "extraPodSpec": {"mainContainer": {"image": _IMAGE}}}
    return {"services": dict.fromkeys(names(n), service)}


def _sidecar(n: int) -> Fields:
    template = {"spec": {"containers": named(n)}}
    return {"components": [{"name": "w", "type": "worker", "frontendSidecar": "none", "podTemplate": template}]}


LINE_1_5: Final = [
    Shape("claims under a power limit", GRAPH, "v1alpha1", 300, lambda n: new(GRAPH, _claims(n))),
    Shape(
        "keys of an override",
        GRAPH,
        "v1alpha1",
        500,
        lambda n: new(GRAPH, _one({"providerOverride": {"value": dict.fromkeys(names(n), 1)}})),
    ),
    Shape("services with everything", GRAPH, "v1alpha1", 200, lambda n: new(GRAPH, _many(n))),
    Shape("services with everything, kept", GRAPH, "v1alpha1", 200, lambda n: kept(GRAPH, _many(n))),
    Shape("arguments", GRAPH, "v1alpha1", 500, lambda n: new(GRAPH, _one({"extraPodSpec": {"mainContainer": {"args": ["-dpb ray"] * n}}}))),
    Shape("containers beside a sidecar", GRAPH, BETA, 300, lambda n: new(GRAPH, _sidecar(n), BETA)),
]
