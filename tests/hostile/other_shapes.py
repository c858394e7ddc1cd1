"""Shapes of the kinds that have no services."""

from typing import Any, Final

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.hostile.shapes import COMPONENT, GRAPH, Fields, Made, Shape, kept, named, names, nested, new, obj

REQUEST: Final = "DynamoGraphDeploymentRequest"
ADAPTER: Final = "DynamoGraphDeploymentScalingAdapter"
CHECKPOINT: Final = "DynamoCheckpoint"
MODEL: Final = "DynamoModel"


def _owned(n: int) -> Made:
    owners = [{"kind": "Pod", "name": name} for name in names(n)]
    return new(COMPONENT, {"replicas": -1, "volumeMounts": [{}] * n}, ownerReferences=[*owners, {"kind": GRAPH, "name": "g"}])


def _component_kept(n: int) -> Made:
    return kept(COMPONENT, {"volumeMounts": [{}] * n, "replicas": -1})


def _overrides(n: int) -> Made:
    graph = {"kind": 1, "spec": {name: [{}] for name in names(n)}, "deep": nested(min(n, 900), 1)}
    return new(REQUEST, {"model": "m", "overrides": {"dgd": graph}}, BETA)


def _request_texts(n: int) -> Made:
    return new(REQUEST, {"model": "m" * n, "image": "i" * n, "sla": {"optimizationType": "t" * n}, **dict.fromkeys(names(n), 1)}, BETA)


def _locked(n: int) -> Made:
    config: Fields = {name: {"a": [1, 1.5, "x"]} for name in names(n)}
    old = {**obj(REQUEST, {"model": "m", "overrides": {"dgd": config}}, BETA), "status": {"phase": "Profiling"}}
    return {**old, "spec": {"model": "m", "overrides": {"dgd": {**config, "z": 1}}}}, old


def _profiling(n: int) -> Made:
    config = {"sla": {"ttft": 1, **dict.fromkeys(names(n), 1)}, **{name: [1] for name in names(n, "d{}")}}
    return new(REQUEST, {"model": "m", "profilingConfig": {"config": config}})


def _adapter(n: int) -> Made:
    spec = {"replicas": 1, "dgdRef": {"name": "g" * n, "serviceName": "s"}, **dict.fromkeys(names(n), 1)}
    return new(ADAPTER, spec, annotations=dict.fromkeys(names(n), "x"))


def _checkpoint(clients: list[str], **pod: Any) -> Fields:
    return {"gpuMemoryService": {"enabled": True, "extraClientContainers": clients}, "job": {"podTemplateSpec": {"spec": pod}}}


def _unprepared(n: int) -> Made:
    return kept(CHECKPOINT, _checkpoint(names(n), containers=named(n)))


def _entries(n: int) -> Made:
    main = {"name": "main", "env": [{"name": "A"}] * n, "volumeMounts": [{"name": "a"}] * n, "resources": {"claims": named(n)}}
    return new(
        CHECKPOINT, _checkpoint([], containers=[main], volumes=[{"name": "v"}] * n, resourceClaims=named(n), initContainers=[None] * n)
    )


def _model(n: int) -> Made:
    spec = {"modelName": " " * 100 * n, "baseModelName": "b" * n, "modelType": "lora", "source": {"uri": "x" * 100 * n}}
    return new(MODEL, {**spec, **dict.fromkeys(names(n), 1)}, annotations=dict.fromkeys(names(n), "x"))


OTHERS: Final = [
    Shape("owners of a component", COMPONENT, ALPHA, 500, _owned),
    Shape("mounts without a place, kept", COMPONENT, ALPHA, 400, _component_kept),
    Shape("free-form overrides", REQUEST, BETA, 250, _overrides),
    Shape("unknown fields and long texts", REQUEST, BETA, 500, _request_texts),
    Shape("a locked request that changes", REQUEST, BETA, 150, _locked),
    Shape("a profiling configuration", REQUEST, ALPHA, 250, _profiling),
    Shape("unknown fields and long texts", ADAPTER, ALPHA, 250, _adapter),
    Shape("clients that are no containers", CHECKPOINT, ALPHA, 250, lambda n: new(CHECKPOINT, _checkpoint(names(n), containers=[]))),
    Shape("clients that are not prepared, kept", CHECKPOINT, ALPHA, 100, _unprepared),
    Shape("entries of a pod", CHECKPOINT, ALPHA, 500, _entries),
    Shape("unknown fields and long texts", MODEL, ALPHA, 500, _model),
]
