"""The input of rendering besides the object: the operator's settings and the cluster's APIs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from dynamo_webhooks.api.line import Line, of_version

KUBERNETES: Final = "kubernetes"  # discovery by EndpointSlices and DynamoWorkerMetadata
ETCD: Final = "etcd"
_NOTHING: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})


class Infrastructure(NamedTuple):
    """Addresses of services for components; empty ones are omitted."""

    nats: str = ""
    etcd: str = ""
    model_express: str = ""
    prometheus: str = ""


class Ingresses(NamedTuple):
    """The default ingress of frontends."""

    gateway: str = ""  # of Istio: the frontends get a VirtualService
    class_name: str = ""  # of an ingress controller: they get an Ingress
    tls_secret: str = ""
    host_suffix: str = ""


class Mesh(NamedTuple):
    """The mesh's settings for the endpoint picker."""

    provider: str = ""  # "istio", or none
    tls_mode: str = "SIMPLE"
    insecure_skip_verify: bool = True
    client_certificate: str = ""  # the last three are for MUTUAL
    private_key: str = ""
    ca_certificates: str = ""


class Checkpoints(NamedTuple):
    """Snapshots of warm workers."""

    enabled: bool = False  # whether pods are restored from them
    made: bool = True  # whether graphs ask for missing ones
    gate: bool = False  # whether workers with the GPU memory service have any
    storage: str = ""  # kind of storage; empty: as `pvc`
    claim: str = ""  # the PersistentVolumeClaim that holds them; empty: to be found
    claim_create: bool = False
    claim_size: str = ""
    claim_class: str = ""
    claim_mode: str = ""
    base_path: str = ""
    seccomp_profile: str = "profiles/block-iouring.json"  # empty: none


class Settings(NamedTuple):
    """All settings. Defaults are for offline rendering: no orchestrator, DRA, no mesh."""

    grove: bool = False
    lws: bool = False
    dra: bool = True
    istio: bool = False
    kai: bool = False
    switched_off: frozenset[str] = frozenset()  # which of grove, lws and dra the configuration disables
    operator_version: str = ""
    told_line: Line | None = None  # where somebody names it; None: that of the version
    restricted: bool = False  # one namespace: the installation has the accounts of planner and endpoint picker
    discovery: str = KUBERNETES
    infrastructure: Infrastructure = Infrastructure()
    ingress: Ingresses = Ingresses()
    mesh: Mesh = Mesh()
    planner_role: str = "dynamo-operator-planner"  # ClusterRole; empty: no account
    epp_role: str = "dynamo-operator-epp"
    ssh_secret: str = "mpi-run-ssh-secret"  # noqa: S105 - the name of an object
    ssh_secret_namespace: str = "dynamo-system"  # noqa: S105 - as above
    key_per_graph: bool = False  # whether each graph has a Secret of its own instead
    termination_delay: str = "15m0s"  # of a PodCliqueSet, in Go's form
    checkpoints: Checkpoints = Checkpoints()
    pull_secrets: Mapping[str, tuple[str, ...]] = _NOTHING  # address of a registry -> names of pull secrets in the object's namespace
    service_account: str = "default"  # of pods with discovery by etcd that name none

    @property
    def line(self) -> Line:
        """The line by which objects are converted and rendered."""
        return self.told_line or of_version(self.operator_version)
