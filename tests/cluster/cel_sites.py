"""Where each CEL rule stands and which values it is tried on, good and bad. The comparison itself is in `test_cel.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.models import constraints as cel
from dynamo_webhooks.api.paths import Key

if TYPE_CHECKING:
    from dynamo_webhooks.api.models.constraints import Constraint
    from dynamo_webhooks.api.paths import Path

Node: TypeAlias = dict[str, Any]


class Site(NamedTuple):
    """One place of one kind and version, the rules that stand there, and the values to put there."""

    kind: str
    version: str
    path: Path
    rules: tuple[Constraint, ...]
    values: tuple[Any, ...]


_GRAPH: Final = "DynamoGraphDeployment"
_COMPONENT: Final = "DynamoComponentDeployment"
_CHECKPOINT: Final = "DynamoCheckpoint"
POD: Final[Node] = {"spec": {"containers": [{"name": "main"}]}}
_IDENTITY: Final[Node] = {"model": "m", "backendFramework": "vllm"}
# The smallest object of a kind and version that no rule refuses; a site's value is put into a copy.
BASES: Final[dict[tuple[str, str], Node]] = {
    (_GRAPH, ALPHA): {"services": {"w": {}}},
    (_GRAPH, BETA): {"components": [{"name": "w", "type": "epp"}]},
    (_COMPONENT, ALPHA): {},
    (_COMPONENT, BETA): {"name": "w", "type": "epp"},
    (_CHECKPOINT, ALPHA): {"identity": _IDENTITY, "job": {"podTemplateSpec": POD}},
}
_SERVICE: Final[Path] = ("spec", "services", Key("w"))
_FIRST: Final[Path] = ("spec", "components", 0)

_CLAIM: Final[Node] = {"name": "a", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteMany"}
_CLAIMS: Final = (
    {"name": "a"},
    {"name": "a", "create": False},
    {"name": "a", "create": True},
    *({key: value for key, value in _CLAIM.items() if key != left_out} for left_out in ("size", "storageClass", "volumeAccessMode")),
    _CLAIM,
    {**_CLAIM, "size": 5, "storageClass": "", "volumeAccessMode": ""},
)
_SIZES: Final = ("1Gi", "0", "0Gi", "-1Gi", "1n", "1e3", "100m", "0.5", ".5", "+1", 5, 0)
_SHARED: Final = ({}, {"disabled": True}, {"disabled": False}, {"disabled": True, "size": "0"}, *({"size": size} for size in _SIZES))
_JOB: Final[Node] = {"gmsClientContainers": ["a"]}
_SOURCES: Final[tuple[Node, ...]] = (
    {},
    {"checkpointRef": ""},
    {"checkpointRef": "c"},
    {"identity": _IDENTITY},
    {"checkpointRef": "c", "identity": _IDENTITY},
    {"checkpointRef": "c", "job": _JOB},
    {"checkpointRef": "", "identity": _IDENTITY, "job": _JOB},
    {"identity": _IDENTITY, "job": _JOB},
    {"identity": _IDENTITY, "job": {}, "mode": "Auto"},
    {"identity": _IDENTITY, "job": {}, "mode": "Manual"},
    {"checkpointRef": "c", "job": {}, "mode": "Manual"},
    {"identity": _IDENTITY, "mode": "Manual"},
)
_SWITCHED: Final = (
    {"enabled": False, "job": _JOB, "mode": "Manual"},
    {"enabled": True},
    {"enabled": True, "checkpointRef": "c"},
    {"enabled": True, "identity": {**_IDENTITY, "model": ""}},
)
_CLIENT_PODS: Final = [{"name": "a", "podTemplate": {}}]


def _memory(intra: str, inter: str, more: Node) -> tuple[Node, ...]:
    lists: tuple[Node, ...] = (
        {},
        {"extraClientContainers": []},
        {"extraClientContainers": ["a"]},
        {"extraClientPods": []},
        {"extraClientPods": _CLIENT_PODS},
        {"extraClientContainers": ["a"], "extraClientPods": _CLIENT_PODS},
    )
    return tuple({**more, **mode, **clients} for mode in ({}, {"mode": intra}, {"mode": inter}) for clients in lists)


_TRANSFERS: Final = tuple(
    {**label, **enforcement, **weight, "domain": "z"}
    for label in ({}, {"labelKey": "a"})
    for enforcement in ({}, {"enforcement": "required"}, {"enforcement": "preferred"})
    for weight in ({}, {"preferredWeight": 0}, {"preferredWeight": 0.5})
)
_LONG: Final = ".".join(["a" * 63] * 3)  # 191 characters
_KEYS: Final = ("a", "a/b", f"{_LONG}.{'b' * 61}/x", f"{_LONG}.{'b' * 62}/x", f"{_LONG}.{'b' * 61}.b.b/x")
_PICKER: Final[Node] = {
    "plugins": [{"type": "t"}],
    "schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "t"}]}],
}
_REFERENCE: Final[Node] = {"key": "k"}
_PICKERS: Final[tuple[Node, ...]] = ({}, {"configMapRef": _REFERENCE}, {"config": _PICKER}, {"configMapRef": _REFERENCE, "config": _PICKER})
_EPP: Final[Node] = {"type": "epp", "eppConfig": {"configMapRef": _REFERENCE}}
_TYPED: Final = tuple(
    {"name": "w", **part} for part in (_EPP, {**_EPP, "type": "worker"}, {"eppConfig": _EPP["eppConfig"]}, {"type": "worker"})
)
_COMPONENTS: Final[tuple[list[Node], ...]] = (
    [],
    [{"name": "w"}],
    [{"name": "w", "type": "epp"}, {"name": "x", "type": "epp"}],
    [{"name": "w", "type": "epp"}, {"name": "x", "type": "worker"}, {"name": "y"}],
    [{"name": "w"}, {"name": "W"}],
    [{"name": "w"}, {"name": "x"}, {"name": "X"}, {"name": "y", "type": "epp"}, {"name": "Y", "type": "epp"}],
)
_ALPHA_MEMORY: Final = _memory("intraPod", "interPod", {"enabled": False})
_BETA_MEMORY: Final = _memory("IntraPod", "InterPod", {})
_TRANSFER: Final[Path] = ("spec", "experimental", "kvTransferPolicy")

SITES: Final = (
    Site(_GRAPH, ALPHA, ("spec", "pvcs", 0), (cel.PVC_CREATE,), _CLAIMS),
    Site(_GRAPH, ALPHA, (*_SERVICE, "sharedMemory"), (cel.SHM_SIZE,), _SHARED),
    Site(_COMPONENT, ALPHA, ("spec", "sharedMemory"), (cel.SHM_SIZE,), _SHARED),
    Site(_CHECKPOINT, ALPHA, ("spec", "job", "sharedMemory"), (cel.SHM_SIZE,), _SHARED),
    Site(_GRAPH, ALPHA, (*_SERVICE, "checkpoint"), cel.CHECKPOINT_ALPHA, (*_SOURCES, *_SWITCHED)),
    Site(_COMPONENT, ALPHA, ("spec", "checkpoint"), cel.CHECKPOINT_ALPHA, (*_SOURCES, *_SWITCHED)),
    Site(_GRAPH, BETA, (*_FIRST, "experimental", "checkpoint"), cel.CHECKPOINT_BETA, _SOURCES),
    Site(_COMPONENT, BETA, ("spec", "experimental", "checkpoint"), cel.CHECKPOINT_BETA, _SOURCES),
    Site(_GRAPH, ALPHA, (*_SERVICE, "gpuMemoryService"), cel.GMS_ALPHA, _ALPHA_MEMORY),
    Site(_COMPONENT, ALPHA, ("spec", "gpuMemoryService"), cel.GMS_ALPHA, _ALPHA_MEMORY),
    Site(_CHECKPOINT, ALPHA, ("spec", "gpuMemoryService"), cel.GMS_ALPHA, _ALPHA_MEMORY),
    Site(_GRAPH, BETA, (*_FIRST, "experimental", "gpuMemoryService"), cel.GMS_BETA, _BETA_MEMORY),
    Site(_COMPONENT, BETA, ("spec", "experimental", "gpuMemoryService"), cel.GMS_BETA, _BETA_MEMORY),
    Site(_GRAPH, ALPHA, _TRANSFER, cel.KVT, _TRANSFERS),
    Site(_GRAPH, BETA, _TRANSFER, cel.KVT, _TRANSFERS),
    Site(_GRAPH, ALPHA, (*_TRANSFER, "labelKey"), (cel.KVT_PREFIX_LENGTH,), _KEYS),
    Site(_GRAPH, BETA, (*_TRANSFER, "labelKey"), (cel.KVT_PREFIX_LENGTH,), _KEYS),
    Site(_GRAPH, BETA, ("spec", "components"), (cel.ONE_EPP, cel.UNIQUE_NAMES), _COMPONENTS),
    Site(_GRAPH, BETA, _FIRST, (cel.EPP_TYPE,), _TYPED),
    Site(_COMPONENT, BETA, ("spec",), (cel.EPP_TYPE,), _TYPED),
    Site(_GRAPH, BETA, (*_FIRST, "eppConfig"), (cel.EPP_ONE_SOURCE,), _PICKERS),
    Site(_COMPONENT, BETA, ("spec", "eppConfig"), (cel.EPP_ONE_SOURCE,), _PICKERS),
)

# The rules that only line 1.5 has: where each stands, and whole specs to try it with.
_MINIMA: Final[tuple[Node, ...]] = (
    {},
    {"minAvailable": 1},
    {"minAvailable": 2},
    {"minAvailable": 2, "replicas": 2},
    {"minAvailable": 2, "replicas": 0},
    {"minAvailable": 3, "replicas": 2},
)
_EXECUTOR: Final = "nvidia.com/vllm-distributed-executor-backend"
_TEMPLATE: Final[Path] = (*_FIRST, "podTemplate")
_ONE_SOURCE: Final = tuple(
    {**label, **name, "domain": "z"} for label in ({}, {"labelKey": "a"}) for name in ({}, {"clusterTopologyName": "t"})
)


def _with_pod(**template: Any) -> Node:
    return {"components": [{"name": "w", "podTemplate": template}]}


def _containers(name: str, *images: Node) -> tuple[Node, ...]:
    return tuple(_with_pod(spec={"containers": [{"name": "main"}], name: [{"name": "s", **image}]}) for image in images)


SITES_1_5: Final = (
    Site(_GRAPH, ALPHA, _SERVICE, (cel.MIN_AVAILABLE_MOST,), tuple({"services": {"w": one}} for one in _MINIMA)),
    Site(_GRAPH, BETA, _FIRST, (cel.MIN_AVAILABLE_MOST,), tuple({"components": [{"name": "w", **one}]} for one in _MINIMA)),
    Site(_COMPONENT, ALPHA, ("spec",), (cel.MIN_AVAILABLE_MOST,), _MINIMA),
    Site(_COMPONENT, BETA, ("spec",), (cel.MIN_AVAILABLE_MOST,), tuple({"name": "w", **one} for one in _MINIMA)),
    *(
        Site(_GRAPH, version, ("spec",), (cel.RESTART_ON_CREATE,), (base, {**base, "restart": {"id": "x"}}))
        for version, base in ((ALPHA, {"services": {"w": {}}}), (BETA, {"components": [{"name": "w"}]}))
    ),
    *(
        Site(
            _GRAPH,
            version,
            _TRANSFER,
            (cel.KVT_ONE_SOURCE,),
            tuple({**base, "experimental": {"kvTransferPolicy": one}} for one in _ONE_SOURCE),
        )
        for version, base in ((ALPHA, {"services": {"w": {}}}), (BETA, {"components": [{"name": "w"}]}))
    ),
    Site(
        _GRAPH,
        BETA,
        (*_TEMPLATE, "metadata", "annotations"),
        (cel.POD_EXECUTOR,),
        tuple(_with_pod(metadata={"annotations": {_EXECUTOR: word}}) for word in ("mp", "RAY", "mpi", "")),
    ),
    Site(
        _GRAPH,
        BETA,
        (*_TEMPLATE, "spec", "initContainers", 0),
        (cel.INIT_IMAGE,),
        _containers("initContainers", {}, {"image": ""}, {"image": "i"}),
    ),
    Site(
        _GRAPH,
        BETA,
        (*_TEMPLATE, "spec", "containers", 0),
        (cel.SIDECAR_IMAGE,),
        (*_containers("containers", {}, {"image": ""}, {"image": "i"}), _with_pod(spec={"containers": [{"name": "main"}]})),
    ),
)
