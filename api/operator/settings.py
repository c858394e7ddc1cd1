"""What each process needs of the configuration, as plain records: servers, provisioner and reconciler read these without pydantic.

Times are seconds, sizes bytes, empty texts mean "not set". `None` in a switch means automatic detection. Made by projection.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

AUTO, ON, OFF = "auto", "on", "off"  # controllers.*
NONE, LABELLED, ALL = "none", "labelled", "all"  # secrets.pull
SHARED, PER_GRAPH = "shared", "perGraph"  # secrets.mpiKeys


class Endpoint(NamedTuple):
    """Where to listen; an empty host means all addresses, IPv6 too."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are."""

    namespace: str
    service_account: str
    pod: str
    cluster_domain: str
    version: str

    @property
    def principal(self) -> str:
        """The user that our service account is to an API server; empty when it isn't known."""
        known = self.namespace and self.service_account
        return f"system:serviceaccount:{self.namespace}:{self.service_account}" if known else ""


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """Which namespaces are ours, and the Leases that say so."""

    restricted: str  # the one namespace, or empty for the whole cluster
    lease: float
    renew: float  # at most a third of `lease`, whatever the file says, so that two renewals may fail
    grace: float
    max_skew: float


@dataclass(frozen=True, slots=True)
class Features:
    """What the cluster offers; None is found out."""

    grove: bool | None
    lws: bool | None
    kai: bool | None
    dra: bool | None
    gpu_discovery: bool
    gms_snapshot: bool
    checkpoint: bool | None


@dataclass(frozen=True, slots=True)
class Logs:
    """What is logged, and how."""

    level: str  # debug, info, warning or error
    console: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one client may cost."""

    admission_body: int
    conversion_body: int  # 0: as much as memory allows
    conversion_seconds: float
    request_cpu: float
    memory: int  # 0: the container's limit
    connections: int
    drain_seconds: float


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """For `serve`."""

    identity: Identity
    webhook: Endpoint
    probes: Endpoint
    metrics: Endpoint
    metrics_secure: bool
    cert_directory: str
    client_ca: str  # empty: no client certificates are asked for
    client_names: tuple[str, ...]
    service: str  # whose name the certificate must bear
    serving_secret: str
    trust: str  # the ConfigMap of usable issuers
    profile: str
    workers: int  # 0: as many as CPUs and memory allow
    drain_lag: float
    bounds: Bounds
    scope: ScopeSettings
    features: Features
    logs: Logs


@dataclass(frozen=True, slots=True)
class Timings:
    """How long certificates live and how slowly trust is exchanged."""

    ca_validity: float
    leaf_validity: float
    backdate: float
    resync: float
    settle: float
    min_roll: float
    roll_warn: float
    drain: float


@dataclass(frozen=True, slots=True)
class ProvisionerSettings:
    """For `provision`."""

    identity: Identity
    mode: str  # managed, provided or external-injection
    service: str
    serving_secret: str
    ca_secret: str
    trust: str  # the ConfigMap
    lease: str
    validating: str
    mutating: str
    trust_file: str
    take_over_conversion: bool
    force_adoption: bool
    rsa: bool
    restricted: str
    timings: Timings
    probes: Endpoint
    metrics: Endpoint
    metrics_secure: bool
    logs: Logs


@dataclass(frozen=True, slots=True)
class Mesh:
    """The DestinationRule of endpoint pickers, when the mesh is Istio."""

    tls_mode: str
    insecure_skip_verify: bool
    client_certificate: str
    private_key: str
    ca_certificates: str


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """Snapshots; `storage` is `pvc` or has no effect."""

    enabled: bool
    seccomp_profile: str  # empty when switched off
    storage: str
    claim: str
    base_path: str
    create: bool
    size: str
    storage_class: str
    access_mode: str
    roll: bool  # whether running workers are replaced by restored ones at once
    fallback: bool  # whether workers start cold when restoring fails


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How DynamoModels are reconciled; times are seconds."""

    concurrency: int
    per_model: int
    connect: float
    load: float
    unload: float
    verify: float
    verify_interval: float
    any_slice: bool
    base_as_reference: bool


@dataclass(frozen=True, slots=True)
class SecretSettings:
    """Which Secrets of graphs' namespaces are read and made."""

    pull: str  # none, labelled or all
    namespaces: tuple[str, ...]  # of these pull secrets
    key_per_graph: bool  # whether each graph has SSH keys of its own for MPI


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """How DynamoGraphDeploymentRequests are reconciled."""

    copier_image: str  # empty: the reconciler's own
    deadline: float  # seconds of a profiling Job
    write_hardware: bool


@dataclass(frozen=True, slots=True)
class ReconcilerSettings:
    """For `reconcile`, and for `render --config`."""

    identity: Identity
    scope: ScopeSettings
    namespaces: tuple[str, ...]  # that are watched; an empty name is all of them
    features: Features
    leader_lease: str  # empty: no election
    leader_namespace: str
    grove_termination_delay: float
    nats: str
    etcd: str
    model_express: str
    prometheus: str
    gateway: str
    ingress_class: str
    ingress_tls_secret: str
    host_suffix: str
    mesh: Mesh | None
    planner_role: str
    profiling_role: str
    epp_role: str
    ssh_secret: str
    ssh_secret_namespace: str
    checkpoint: CheckpointSettings
    controllers: Mapping[str, str]  # kinds beside graphs, by the key of the file: auto, on or off
    models: ModelSettings
    secrets: SecretSettings
    requests: RequestSettings
    discovery: str
    gpu_metrics_template: str
    probes: Endpoint
    metrics: Endpoint
    metrics_secure: bool
    metrics_namespaces: bool
    workers: int  # passes at a time
    logs: Logs
