"""Objects whose size grows in one way: what a stranger sends who wants the cost to grow faster than the request.

A test that counts calls (test_growth.py) asks every route about each of them at several sizes. LINE_1_5 are those that only the
rules of line 1.5 look at.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, GROUP
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.hostile.reviews import Asked, admission, conversion

Fields: TypeAlias = dict[str, Any]
Made: TypeAlias = tuple[Fields, Fields | None]  # the object and, for an update, the stored one

GRAPH: Final = "DynamoGraphDeployment"
COMPONENT: Final = "DynamoComponentDeployment"


class Shape(NamedTuple):
    """One way to be large."""

    name: str
    kind: str
    version: str
    size: int  # the smallest that is measured; others are twice and four times that
    make: Callable[[int], Made]

    @property
    def deep(self) -> bool:
        """Whether it grows in depth, which the JSON decoder bounds, so that it can't be measured at other sizes."""
        return self.name.endswith(", deep")

    def cases(self, size: int) -> Iterator[Asked]:
        """The reviews of every route of the kind, in both versions where there are two; one that can't be converted in its own alone."""
        obj, old = self.make(size)
        by_version = {self.version: (obj, old)}
        if len(BY_NAME[self.kind].versions) > 1:
            kind, other = KINDS[self.kind], _other(self.version)
            with contextlib.suppress(ConversionError):
                by_version[other] = (convert(kind, obj, other).object, None if old is None else convert(kind, old, other).object)
        for version, (new, before) in by_version.items():
            yield from self._reviews(version, new, before)

    def _reviews(self, version: str, obj: Fields, old: Fields | None) -> Iterator[Asked]:
        for route in ROUTES.values():
            if (route.kind, route.version) == (self.kind, version):
                yield admission(route, obj, "CREATE" if old is None else "UPDATE", old)
        if self.kind in KINDS:
            yield conversion([obj], f"{GROUP}/{_other(version)}")


def body(case: Asked) -> bytes:
    """The text of a review; orjson writes none that is as deep as those it reads."""
    return json.dumps(case.review, separators=(",", ":")).encode()


def label(case: Asked) -> str:
    """The route in few words: purpose and version, for a conversion the version that is wanted."""
    route = case.route
    if route.purpose is Purpose.CONVERT:
        return f"convert to {case.review['request']['desiredAPIVersion'].partition('/')[2]}"
    return f"{route.purpose.value} {route.version}"


def obj(kind: str, spec: Fields, version: str = ALPHA, **metadata: Any) -> Fields:
    """An object of a kind."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": "g", "namespace": "n", **metadata}, "spec": spec}


def new(kind: str, spec: Fields, version: str = ALPHA, **metadata: Any) -> Made:
    """A create."""
    return obj(kind, spec, version, **metadata), None


def kept(kind: str, spec: Fields, version: str = ALPHA, **metadata: Any) -> Made:
    """An update that changes nothing: whatever is found now was found before."""
    return obj(kind, spec, version, **metadata), obj(kind, spec, version, **metadata)


def names(n: int, form: str = "c{}") -> list[str]:
    """So many different names."""
    return [form.format(index) for index in range(n)]


def named(n: int, form: str = "c{}") -> list[Fields]:
    """So many objects with a name each."""
    return [{"name": name} for name in names(n, form)]


def nested(depth: int, leaf: Any) -> Any:
    """A value at the bottom of lists and objects in turn."""
    for level in range(depth):
        leaf = {"a": leaf} if level % 2 else [leaf]
    return leaf


def _other(version: str) -> str:
    return BETA if version == ALPHA else ALPHA


def everything() -> list[Shape]:
    """All shapes."""
    return [*GRAPHS, *OTHERS]


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
    return _pod({"name": "main", "volumeMounts": [entry] * n})


def _pod(*containers: Fields) -> Fields:
    return {"components": [{"name": "w", "podTemplate": {"spec": {"containers": [*containers]}}}]}


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
    "variables that a pod can't have": (300, lambda n: {"extraPodSpec": {"mainContainer": {"env": named(n, "={}")}}}),
    "mounts without volumes": (300, lambda n: {"extraPodSpec": {"containers": [{"name": "x", "volumeMounts": named(n)}]}}),
    "ports of long names": (300, lambda n: {"extraPodSpec": {"mainContainer": {"ports": named(n, "a-very-long-name-{}")}}}),
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
    "free-form parts, deep": (90, lambda n: {"extraPodSpec": {"affinity": nested(n, 1), "unknown": nested(n, 1)}}),
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


def _mounts(n: int) -> list[Fields]:
    return [{"name": f"v{index}", "mountPath": f"/m{index}", "readOnly": True} for index in range(n)]


def _converted(graph: Fields) -> Fields:
    return convert(KINDS[GRAPH], graph, _other(graph["apiVersion"].rpartition("/")[2])).object


def _mounts_edited(n: int) -> Made:
    """One of the mounts was added in the other version."""
    graph = _converted(obj(GRAPH, _pod({"name": "main", "volumeMounts": _mounts(n)}), BETA))
    graph["spec"]["services"]["w"]["volumeMounts"].append({"name": "more", "mountPoint": "/more"})
    return graph, None


def _cache_added(n: int) -> Made:
    """Each mount stands twice, and the other version got a cache."""
    entries = [{"name": f"v{index}", "mountPoint": f"/m{index}"} for index in range(n)] * 2
    graph = _converted(obj(GRAPH, _one({"volumeMounts": entries})))
    graph["spec"]["components"][0]["compilationCache"] = {"pvcName": "q", "mountPath": "/q"}
    return graph, None


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
    Shape("mounts with options", GRAPH, BETA, 60, lambda n: new(GRAPH, _pod({"name": "main", "volumeMounts": _mounts(n)}), BETA)),
    Shape("mounts of which one was added in the other version", GRAPH, ALPHA, 60, _mounts_edited),
    Shape("mounts twice, and a cache that was added", GRAPH, BETA, 60, _cache_added),
    Shape("containers without a main", GRAPH, BETA, 120, lambda n: new(GRAPH, _pod(*named(n)), BETA)),
    Shape("containers, and then many mains", GRAPH, BETA, 60, lambda n: new(GRAPH, _pod(*named(n), *[{"name": "main"}] * n), BETA)),
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


def _pod_entries(n: int) -> Made:
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
    Shape("free-form overrides", REQUEST, BETA, 90, _overrides),
    Shape("unknown fields and long texts", REQUEST, BETA, 500, _request_texts),
    Shape("a locked request that changes", REQUEST, BETA, 150, _locked),
    Shape("a profiling configuration", REQUEST, ALPHA, 250, _profiling),
    Shape("unknown fields and long texts", ADAPTER, ALPHA, 250, _adapter),
    Shape("clients that are no containers", CHECKPOINT, ALPHA, 250, lambda n: new(CHECKPOINT, _checkpoint(names(n), containers=[]))),
    Shape("clients that are not prepared, kept", CHECKPOINT, ALPHA, 100, _unprepared),
    Shape("entries of a pod", CHECKPOINT, ALPHA, 500, _pod_entries),
    Shape("unknown fields and long texts", MODEL, ALPHA, 500, _model),
]


_IMAGE: Final = "x/vllm:latest"
_OVERRIDE: Final[Fields] = {"apiVersion": "a", "target": "b", "value": {"x": 1, "topologyConstraint": {}}}
_POWER: Final[Fields] = {"annotations": {"dynamo.nvidia.com/gpu-power-limit": "no"}}


def _worker(service: Fields) -> Fields:
    return {"backendFramework": "vllm", "services": {"worker": {"componentType": "worker", **service}}}


def _claims(n: int) -> Fields:
    return _worker(
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


_NEW_OF_1_5: Final[dict[str, tuple[int, Callable[[int], Fields]]]] = {
    "claims under a power limit": (300, _claims),
    "keys of an override": (500, lambda n: _worker({"providerOverride": {"value": dict.fromkeys(names(n), 1)}})),
    "services with everything": (200, _many),
    "arguments": (500, lambda n: _worker({"extraPodSpec": {"mainContainer": {"args": ["-dpb ray"] * n}}})),
}
LINE_1_5: Final = [
    *_shapes(_NEW_OF_1_5, GRAPH, new),
    Shape("services with everything, kept", GRAPH, ALPHA, 200, lambda n: kept(GRAPH, _many(n))),
    Shape("containers beside a sidecar", GRAPH, BETA, 300, lambda n: new(GRAPH, _sidecar(n), BETA)),
]
