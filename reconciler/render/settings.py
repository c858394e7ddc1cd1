"""The input of rendering besides the object: the operator's settings and the cluster's APIs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ...api.line import Line, decide_line
from ...api.operator.controllers import Infrastructure, Ingress, Istio
from ...api.operator.features import Pvc

KUBERNETES: Final = "kubernetes"  # discovery by EndpointSlices and DynamoWorkerMetadata
ETCD: Final = "etcd"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Checkpoints(NamedTuple):
    """Snapshots of warm workers."""

    enabled: bool = False  # whether pods are restored from them
    made: bool = True  # whether graphs ask for missing ones
    gate: bool = False  # whether workers with the GPU memory service have any
    storage: str = ""  # kind of storage; empty: as `pvc`
    pvc: Pvc = Pvc()  # the PersistentVolumeClaim that holds them; without a name it is to be found
    seccomp_profile: str = "profiles/block-iouring.json"  # empty: none


class Claims(NamedTuple):
    """The objects that claims of devices depend on, by name; a text instead of one says why it can't be read."""

    templates: Mapping[str, Any] = _NOTHING  # ResourceClaimTemplates of the object's namespace
    classes: Mapping[str, Any] = _NOTHING  # DeviceClasses
    absent: str = "is not among the documents of the input"  # of all others


class Settings(NamedTuple):
    """All settings. Defaults are for offline rendering: no orchestrator, DRA, no mesh."""

    grove: bool = False
    lws: bool = False
    dra: bool = True
    istio: bool = False
    kai: bool = False
    volcano: bool = False  # instead of KAI
    switched_off: frozenset[str] = frozenset()  # which of grove, lws and dra the configuration disables
    operator_version: str = ""
    told_line: Line | None = None  # where somebody names it; None: that of the version
    restricted: bool = False  # one namespace: the installation has the accounts of planner and endpoint picker
    discovery: str = KUBERNETES
    infrastructure: Infrastructure = Infrastructure()
    ingress: Ingress = Ingress()
    mesh: Istio | None = None
    planner_role: str = "dynamo-operator-planner"  # ClusterRole; empty: no account
    epp_role: str = "dynamo-operator-epp"
    ssh_secret: str = "mpi-run-ssh-secret"  # noqa: S105 - the name of an object
    ssh_secret_namespace: str = "dynamo-system"  # noqa: S105 - as above
    key_per_graph: bool = False  # whether each graph has a Secret of its own instead
    termination_delay: str = "15m0s"  # of a PodCliqueSet, in Go's form
    checkpoints: Checkpoints = Checkpoints()
    pull_secrets: Mapping[str, tuple[str, ...]] = _NOTHING  # address of a registry -> names of pull secrets in the object's namespace
    service_account: str = "default"  # of pods with discovery by etcd that name none
    claims: Claims = Claims()

    @property
    def line(self) -> Line:
        """The line by which objects are converted and rendered."""
        return self.told_line or decide_line(self.operator_version)

    @property
    def pod_snapshots(self) -> bool:
        """Whether snapshots are the Snapshot operator's, which has PodSnapshots and no DynamoCheckpoints."""
        return self.line >= Line.V1_5


OFFLINE: Final = Settings()
