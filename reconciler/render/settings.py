"""What rendering depends on beside the object: settings of the operator and abilities of the cluster. Reading them is not done here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

KUBERNETES: Final = "kubernetes"  # discovery by EndpointSlices and our own kind
ETCD: Final = "etcd"
_NOTHING: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})


class Infrastructure(NamedTuple):
    """Addresses of services that components are told of; an empty one is not mentioned."""

    nats: str = ""
    etcd: str = ""
    model_express: str = ""
    prometheus: str = ""


class Ingresses(NamedTuple):
    """The ingress that frontends get without asking."""

    gateway: str = ""  # of Istio: the frontends get a VirtualService
    class_name: str = ""  # of an ingress controller: they get an Ingress
    tls_secret: str = ""
    host_suffix: str = ""


class Mesh(NamedTuple):
    """How proxies of a service mesh reach the endpoint picker."""

    provider: str = ""  # "istio", or none
    tls_mode: str = "SIMPLE"
    insecure_skip_verify: bool = True
    client_certificate: str = ""  # the last three are for MUTUAL
    private_key: str = ""
    ca_certificates: str = ""


class Checkpoints(NamedTuple):
    """Snapshots of warm workers."""

    enabled: bool = False  # whether pods are restored from them
    claim: str = ""  # the PersistentVolumeClaim that holds them; empty: found by whoever asks
    claim_create: bool = False
    claim_size: str = ""
    claim_class: str = ""
    claim_mode: str = "ReadWriteMany"
    base_path: str = ""
    seccomp_profile: str = "profiles/block-iouring.json"  # empty: none


class Settings(NamedTuple):
    """Everything but the object. The defaults are those of an offline render: no orchestrator, claims of devices, no mesh."""

    grove: bool = False
    lws: bool = False
    dra: bool = True
    istio: bool = False
    kai: bool = False
    switched_off: frozenset[str] = frozenset()  # which of grove, lws and dra the configuration forbids, whatever the cluster serves
    operator_version: str = ""
    restricted: bool = False  # one namespace only: accounts of planner and endpoint picker come from the installation
    discovery: str = KUBERNETES
    infrastructure: Infrastructure = Infrastructure()
    ingress: Ingresses = Ingresses()
    mesh: Mesh = Mesh()
    planner_role: str = "dynamo-operator-planner"  # ClusterRole; empty: no account is made
    epp_role: str = "dynamo-operator-epp"
    ssh_secret: str = "mpi-run-ssh-secret"  # noqa: S105 - the name of an object
    ssh_secret_namespace: str = "dynamo-system"  # noqa: S105 - as above
    termination_delay: str = "15m0s"  # of a PodCliqueSet, as Go writes a duration
    checkpoints: Checkpoints = Checkpoints()
    pull_secrets: Mapping[str, tuple[str, ...]] = _NOTHING  # registry host -> names of pull secrets in the object's namespace
    service_account: str = "default"  # of pods that discover by etcd and name none themselves
