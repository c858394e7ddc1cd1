"""Shapes of graphs, and of what a service of a graph and a component of its own have in common."""

from collections.abc import Callable
from typing import Any, Final

import orjson

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.hostile.shapes import COMPONENT, GRAPH, Fields, Made, Shape, kept, named, names, nested, new, obj

FEW: Final = 20  # services of a graph, which may have 25
WRONG: Final[Fields] = {
    "componentType": "epp",
    "replicas": -1,
    "sharedMemory": {"size": "0"},
    "volumeMounts": [{"name": "v"}],
    "ingress": {"enabled": True},
    "dynamoNamespace": "d",
    "autoscaling": {"enabled": True},
    "multinode": {"nodeCount": 2_000},
    "gpuMemoryService": {"enabled": True, "mode": "interPod"},
    "failover": {"enabled": True, "mode": "intraPod", "numShadows": 3},
    "resources": {"limits": {"gpu": "none"}},
    "topologyConstraint": {"packDomain": "A_B"},
    "checkpoint": {"enabled": True, "targetContainerName": "A_B", "job": {"gmsClientContainers": ["A_B"]}},
}


def _services(n: int, service: Any, form: str = "s{}") -> Fields:
    return {"services": dict.fromkeys(names(n, form), service)}


def _one(service: Fields) -> Fields:
    return {"services": {"worker": {"componentType": "worker", "replicas": 1, **service}}}


def _main(n: int, entry: Any) -> Fields:
    """A v1beta1 graph whose main container has many mounts."""
    return {"components": [{"name": "w", "podTemplate": {"spec": {"containers": [{"name": "main", "volumeMounts": [entry] * n}]}}}]}


# what one service says: {name: (size, fields)}
_OF_A_SERVICE: Final[dict[str, tuple[int, Callable[[int], Fields]]]] = {
    "volume mounts without a place": (500, lambda n: {"volumeMounts": [{}] * n}),
    "volume mounts that are null": (500, lambda n: {"volumeMounts": [None] * n}),
    "volume mounts that are caches": (
        500,
        lambda n: {"volumeMounts": [{"name": f"v{i}", "mountPoint": f"/{i}", "useAsCompilationCache": True} for i in range(n)]},
    ),
    "environment": (500, lambda n: {"envs": named(n), "extraPodSpec": {"mainContainer": {"env": named(n, "d{}")}}}),
    "containers": (500, lambda n: {"frontendSidecar": {"image": "i"}, "extraPodSpec": {"containers": named(n)}}),
    "containers of one name": (500, lambda n: {"extraPodSpec": {"containers": [{"name": "x", "image": str(i)} for i in range(n)]}}),
    "amounts that are none": (400, lambda n: {"resources": {"limits": {"custom": dict.fromkeys(names(n, "a/{}"), "no")}}}),
    "GPUs of many names": (400, lambda n: {"resources": {"requests": {"custom": dict.fromkeys(names(n, "{}/gpu"), "1")}}}),
    "clients that are no containers": (400, lambda n: {"gpuMemoryService": {"enabled": True, "extraClientContainers": names(n)}}),
    "clients of one name": (400, lambda n: {"gpuMemoryService": {"enabled": True, "extraClientContainers": ["a"] * n}}),
    "clients of a checkpoint": (400, lambda n: {"checkpoint": {"job": {"gmsClientContainers": ["A_B"] * n}}}),
    "annotations and labels": (500, lambda n: {"annotations": dict.fromkeys(names(n), "x"), "labels": dict.fromkeys(names(n), "x")}),
    "unknown fields": (500, lambda n: dict.fromkeys(names(n), 1)),
    "wrong types": (
        500,
        lambda n: {"volumeMounts": ["x"] * n, "envs": [1] * n, "annotations": dict.fromkeys(names(n), 1), "replicas": "1"},
    ),
    "a wrong type behind right ones": (500, lambda n: {"volumeMounts": [{"name": "v", "mountPoint": "/v"}] * n, "replicas": "1"}),
    "entries that are null": (
        500,
        lambda n: {"envs": [None] * n, "extraPodSpec": {"containers": [None] * n, "mainContainer": {"env": [None] * n}}},
    ),
    "long texts": (10_000, lambda n: {"componentType": "c" * n, "envFromSecret": "e" * n, "resources": {"limits": {"gpu": "1" * n}}}),
    "texts with quotes": (
        2_000,
        lambda n: {"componentType": '"a' * n, "dynamoNamespace": 'b"' * n, "resources": {"limits": {"gpu": '"' * n}}},
    ),
    # JSON of more than 254 levels is written more slowly, and of more than 1,024 not read at all
    "free-form parts, deep": (252, lambda n: {"extraPodSpec": {"affinity": nested(n, 1), "unknown": nested(n, 1)}}),
    "free-form parts, deep and wide": (12, lambda n: {"extraPodSpec": {"unknown": [nested(200, index) for index in range(n)]}}),
}
# new graphs within the bounds of their schema
_NEW: Final[dict[str, tuple[int, Callable[[int], Fields]]]] = {
    "mounts in each service": (1_000, lambda n: _services(FEW, {"volumeMounts": [{}] * (n // FEW)})),
    "an order of restart": (500, lambda n: {**_one({}), "restart": {"id": "1", "strategy": {"order": [*names(n), *["worker"] * n]}}}),
    "long names of services": (1_000, lambda n: _services(FEW, {"replicas": -1}, "s" * n + "{}")),
    "unknown fields beside services": (500, lambda n: {**_one({}), **{name: {"a": 1} for name in names(n)}}),
    "environment of the graph": (500, lambda n: {**_one({}), "envs": [*named(n), *[None] * n]}),
    "many rules in each service": (100, lambda n: _services(FEW, {**WRONG, "volumeMounts": [{"name": "v"}] * (n // FEW)})),
}
# graphs that were over a bound before they were updated, and have all that they had
_KEPT: Final[dict[str, tuple[int, Callable[[int], Fields]]]] = {
    "services": (200, lambda n: _services(n, {"componentType": "worker"})),
    "services with negative replicas": (200, lambda n: _services(n, {"replicas": -1})),
    "services that many rules refuse": (50, lambda n: _services(n, WRONG)),
    "services that are null": (500, lambda n: _services(n, None)),
    "claims of one name": (200, lambda n: {**_one({}), "pvcs": [{"name": "a", "create": True, "size": str(i)} for i in range(n)]}),
    "claims that are null": (400, lambda n: {**_one({}), "pvcs": [None] * n}),
    "mounts without a place, kept": (400, lambda n: _one({"volumeMounts": [{}] * n})),
}


def _beta(n: int) -> Made:
    return new(GRAPH, {"components": named(n, "w{}")}, BETA)


def _beta_kept(n: int) -> Made:
    return kept(GRAPH, {"components": [{"name": f"w{index}", "replicas": -1} for index in range(n)]}, BETA)


def _beta_null(n: int) -> Made:
    return kept(GRAPH, {"components": [{"name": "a", "replicas": -1}, *[None] * n, {"name": "b"}]}, BETA)


def _refused(n: int) -> Made:
    """Everything that an update finds is new."""
    return obj(GRAPH, _services(n, WRONG)), obj(GRAPH, _services(n, {}))


def _grown(n: int) -> Made:
    """One new error among very many old ones."""
    spec = _services(n, {"replicas": -1})
    return obj(GRAPH, {"services": {"a": {"replicas": -1}, **spec["services"]}}), obj(GRAPH, spec)


def _reordered(n: int) -> Made:
    """The rules meet the two objects in opposite orders."""
    spec = _services(n, {"replicas": -1})
    return obj(GRAPH, {"services": dict(reversed(spec["services"].items()))}), obj(GRAPH, spec)


def _shifted(n: int) -> Made:
    """The stored list has one entry more, at the front."""
    mounts: list[Fields] = [{}] * n
    return obj(GRAPH, _one({"volumeMounts": mounts})), obj(GRAPH, _one({"volumeMounts": [{"mountPoint": "/a"}, *mounts]}))


def _changed(n: int) -> Made:
    """An update changes everything that must stay."""
    before = {"replicas": 3, "scalingAdapter": {"enabled": True}, "multinode": {"nodeCount": 2}, "topologyConstraint": {"packDomain": "a"}}
    after = {"replicas": 4, "scalingAdapter": {"enabled": True}, "topologyConstraint": {"packDomain": "b"}}
    return obj(GRAPH, {**_services(n, after), "backendFramework": "sglang"}), obj(GRAPH, _services(n, before, "t{}"))


def _mentioned(n: int) -> Made:
    """Each of many services has findings that name something long of the whole graph."""
    service = {"dynamoNamespace": "d", "failover": {"enabled": True}, "gpuMemoryService": {"enabled": True, "mode": "interPod"}}
    spec = {**_services(n, service), "backendFramework": "b" * 20 * n}
    return kept(GRAPH, spec, name="g" * 20 * n, annotations={"nvidia.com/enable-grove": "F" * 20 * n})


def _long_name(n: int) -> Made:
    """A service with a long name, and many findings in it that the stored object had."""
    return kept(GRAPH, {"services": {"s" * 10 * n: {"volumeMounts": [{}] * n}}})


def _annotated(n: int) -> Made:
    return new(GRAPH, _one({}), annotations=dict.fromkeys(names(n, "a/{}"), "x"), labels=dict.fromkeys(names(n), "x"), finalizers=names(n))


def _remembered(text: Callable[[int], str]) -> Callable[[int], Made]:
    """A v1beta1 graph that carries a text about what only v1alpha1 can say."""
    spec = {"components": [{"name": "worker", "type": "worker", "replicas": 1}]}
    return lambda n: new(GRAPH, spec, BETA, annotations={"nvidia.com/dgd-spec": text(n)})


def _payload(n: int) -> str:
    service = {"dynamoNamespace": "d", "autoscaling": {"enabled": True}}
    spec = {"pvcs": named(n), "services": dict.fromkeys(names(n, "s{}"), service)}
    return orjson.dumps({"version": 1, "spec": spec}).decode()


def _entries(n: int) -> str:
    entries = [[["spec", "services", "worker", f"unknown{index}"], index] for index in range(n)]
    return orjson.dumps({"version": 1, "spec": {}, "kept": entries}).decode()


def _shapes(table: dict[str, tuple[int, Callable[[int], Fields]]], kind: str, made: Callable[[str, Fields], Made]) -> list[Shape]:
    def shape(name: str, size: int, make: Callable[[int], Fields]) -> Shape:
        return Shape(name, kind, ALPHA, size, lambda n: made(kind, make(n)))

    return [shape(name, size, make) for name, (size, make) in table.items()]


GRAPHS: Final = [
    *_shapes(_OF_A_SERVICE, GRAPH, lambda kind, service: new(kind, _one(service))),
    *_shapes(_OF_A_SERVICE, COMPONENT, new),
    *_shapes(_NEW, GRAPH, new),
    *_shapes(_KEPT, GRAPH, kept),
    Shape("components of a new graph", GRAPH, BETA, 2_000, _beta),
    Shape("components with negative replicas", GRAPH, BETA, 200, _beta_kept),
    Shape("components that are null", GRAPH, BETA, 1_000, _beta_null),
    Shape("mounts of the main container", GRAPH, BETA, 500, lambda n: new(GRAPH, _main(n, {"name": "v"}), BETA)),
    Shape("services that many rules refuse now", GRAPH, ALPHA, 50, _refused),
    Shape("services with one new error", GRAPH, ALPHA, 200, _grown),
    Shape("services in another order", GRAPH, ALPHA, 200, _reordered),
    Shape("mounts without a place, one less", GRAPH, ALPHA, 400, _shifted),
    Shape("services that change in every way", GRAPH, ALPHA, 100, _changed),
    Shape("long names that all services mention", GRAPH, ALPHA, 100, _mentioned),
    Shape("mounts of a service with a long name, kept", GRAPH, ALPHA, 400, _long_name),
    Shape(
        "wrong types below a long name", GRAPH, ALPHA, 400, lambda n: new(GRAPH, {"services": {"s" * 10 * n: {"volumeMounts": [1] * n}}})
    ),
    Shape("annotations, labels and finalizers", GRAPH, ALPHA, 500, _annotated),
    Shape("a remainder of what v1beta1 can't say", GRAPH, BETA, 250, _remembered(_payload)),
    Shape("a remainder of unknown fields", GRAPH, BETA, 100, _remembered(_entries)),
    Shape("a remainder that is cut off", GRAPH, BETA, 500, _remembered(lambda n: _payload(n)[:-2])),
    Shape(
        "a remainder of wrong types", GRAPH, BETA, 500, _remembered(lambda n: orjson.dumps({"spec": {"pvcs": [{"name": 1}] * n}}).decode())
    ),
]
