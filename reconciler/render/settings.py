"""The input of rendering besides the object: the operator's settings and the cluster's APIs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ...api.line import Line, decide_line
from ...api.operator.configuration import OperatorConfiguration
from ...api.operator.controllers import Infrastructure, Ingress, Istio
from ...api.operator.features import Pvc

KUBERNETES: Final = "kubernetes"  # discovery by EndpointSlices and DynamoWorkerMetadata
ETCD: Final = "etcd"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class CheckpointSettings(NamedTuple):
    """Snapshots of warm workers."""

    enabled: bool = False  # whether pods are restored from them
    create_missing: bool = True  # whether graphs ask for missing ones
    gate: bool = False  # whether workers with the GPU memory service have any
    storage: str = ""  # kind of storage; empty: as `pvc`
    pvc: Pvc = Pvc()  # the PersistentVolumeClaim that holds them; without a name it is to be found
    seccomp_profile: str = "profiles/block-iouring.json"  # empty: none


class ClaimDependencies(NamedTuple):
    """The objects that claims of devices depend on, by name; a text instead of one says why it can't be read."""

    templates: Mapping[str, Any] = _NOTHING  # ResourceClaimTemplates of the object's namespace
    classes: Mapping[str, Any] = _NOTHING  # DeviceClasses
    absent: str = "is not among the documents of the input"  # of all others


class Settings(NamedTuple):
    """All settings. Defaults are for offline rendering: no orchestrator but for graphs that ask for one, DRA, no mesh."""

    grove: bool = False
    lws: bool = False
    dra: bool = True
    istio: bool = False
    kai: bool = False
    volcano: bool = False  # instead of KAI
    disaggregated: bool = True  # whether there are DisaggregatedSets, which only graphs that ask for them become
    switched_off: frozenset[str] = frozenset()  # which of grove, lws and dra the configuration disables
    operator_version: str = ""
    explicit_line: Line | None = None  # if one is named; None: that of the version
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
    checkpoints: CheckpointSettings = CheckpointSettings()
    pull_secrets: Mapping[str, tuple[str, ...]] = _NOTHING  # address of a registry -> names of pull secrets in the object's namespace
    service_account: str = "default"  # of pods with discovery by etcd that name none
    claims: ClaimDependencies = ClaimDependencies()
    explicit_packing: bool | None = None  # whether Grove packs by topologies that are named; None: that of the line

    @property
    def line(self) -> Line:
        """The line by which objects are converted and rendered."""
        return self.explicit_line or decide_line(self.operator_version)

    @property
    def packs_by_name(self) -> bool:
        """Whether Grove packs by a named topology, as from 0.1.0-alpha.10 on, which operators bundle since 1.3."""
        return self.line >= Line.V1_3 if self.explicit_packing is None else self.explicit_packing

    @property
    def pod_snapshots(self) -> bool:
        """Whether snapshots are the Snapshot operator's, which has PodSnapshots and no DynamoCheckpoints."""
        return self.line >= Line.V1_5


_OFFLINE: Final = Settings()


def make_settings(configuration: OperatorConfiguration, cluster: Settings = _OFFLINE, *, service_account: str = "default") -> Settings:
    """Makes the settings for objects of one namespace, which has the account for pods with discovery by etcd.

    Of `cluster` only the served APIs count: grove, lws, disaggregated, kai, dra and istio. The configuration overrides it.
    """
    switches = configuration.switches
    return Settings(
        grove=_choose(switches["grove"], cluster.grove),
        lws=_choose(switches["lws"], cluster.lws),
        disaggregated=cluster.disaggregated and "lws" not in configuration.switched_off,
        dra=_choose(switches["dra"], cluster.dra),
        istio=cluster.istio,
        kai=_choose(configuration.orchestrators.kai_scheduler.enabled, cluster.kai),
        volcano=bool(configuration.orchestrators.volcano_scheduler.enabled),
        switched_off=configuration.switched_off,
        operator_version=configuration.operator.version,
        restricted=bool(configuration.namespace.restricted),
        discovery=configuration.discovery.backend,
        infrastructure=configuration.infrastructure,
        ingress=configuration.ingress,
        mesh=configuration.service_mesh.active,
        planner_role=configuration.rbac.planner_cluster_role_name,
        epp_role=configuration.rbac.epp_cluster_role_name,
        ssh_secret=configuration.mpi.ssh_secret_name,
        ssh_secret_namespace=configuration.mpi.ssh_secret_namespace,
        key_per_graph=configuration.secrets.key_per_graph,
        termination_delay=format_go_duration(configuration.orchestrators.grove.termination_delay),
        checkpoints=CheckpointSettings(
            enabled=configuration.checkpoint.enabled,
            gate=configuration.gms_snapshot,
            storage=configuration.checkpoint.storage.type,
            pvc=configuration.checkpoint.storage.pvc,
            seccomp_profile=configuration.checkpoint.seccomp.injected,
        ),
        service_account=service_account,
    )


def format_go_duration(seconds: float) -> str:
    """A duration in Go's form, as in the Go operator's objects: `15m0s`, `1h0m0s`, `1.5s`, `250ms`."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms" if seconds > 0 else "0s"
    whole, rest = divmod(round(seconds * 1000), 1000)
    second = f"{whole % 60}{f'.{rest:03}'.rstrip('0') if rest else ''}s"
    if whole < 60:
        return second
    minute = f"{whole // 60 % 60}m{second}"
    return minute if whole < 3600 else f"{whole // 3600}h{minute}"


def _choose(switch: bool | None, served: bool) -> bool:
    return served if switch is None else switch
