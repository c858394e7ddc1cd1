"""Settings for rendering, from the operator's configuration and the cluster's APIs."""

from __future__ import annotations

from collections.abc import Mapping

from ...api.operator.configuration import OperatorConfiguration
from .settings import OFFLINE, Checkpoints, Settings


def settings_from(
    found: OperatorConfiguration,
    cluster: Settings = OFFLINE,
    *,
    version: str = "",
    pull_secrets: Mapping[str, tuple[str, ...]] | None = None,
    service_account: str = "default",
) -> Settings:
    """The settings for objects of one namespace. Of `cluster` only what it serves counts: grove, lws, kai, dra and istio.

    The configuration overrides the cluster's APIs. Pull secrets (see `pod.registries`) and the account for pods with discovery by etcd are
    the namespace's.
    """
    switches = found.switches
    return Settings(
        grove=_either(switches["grove"], cluster.grove),
        lws=_either(switches["lws"], cluster.lws),
        dra=_either(switches["dra"], cluster.dra),
        istio=cluster.istio,
        kai=_either(found.orchestrators.kai_scheduler.enabled, cluster.kai),
        volcano=bool(found.orchestrators.volcano_scheduler.enabled),
        switched_off=found.switched_off,
        operator_version=version or found.operator.version,
        restricted=bool(found.namespace.restricted),
        discovery=found.discovery.backend,
        infrastructure=found.infrastructure,
        ingress=found.ingress,
        mesh=found.service_mesh.active,
        planner_role=found.rbac.planner_cluster_role_name,
        epp_role=found.rbac.epp_cluster_role_name,
        ssh_secret=found.mpi.ssh_secret_name,
        ssh_secret_namespace=found.mpi.ssh_secret_namespace,
        key_per_graph=found.secrets.key_per_graph,
        termination_delay=go_duration(found.orchestrators.grove.termination_delay),
        checkpoints=_checkpoints(found),
        pull_secrets=pull_secrets if pull_secrets is not None else OFFLINE.pull_secrets,
        service_account=service_account,
    )


def go_duration(seconds: float) -> str:
    """A duration in Go's form, as in the Go operator's objects: `15m0s`, `1h0m0s`, `1.5s`, `250ms`."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms" if seconds > 0 else "0s"
    whole, rest = divmod(round(seconds * 1000), 1000)
    second = f"{whole % 60}{f'.{rest:03}'.rstrip('0') if rest else ''}s"
    if whole < 60:
        return second
    minute = f"{whole // 60 % 60}m{second}"
    return minute if whole < 3600 else f"{whole // 3600}h{minute}"


def _either(switch: bool | None, served: bool) -> bool:
    return served if switch is None else switch


def _checkpoints(found: OperatorConfiguration) -> Checkpoints:
    checkpoint = found.checkpoint
    return Checkpoints(
        enabled=checkpoint.enabled,
        gate=found.gms_snapshot,
        storage=checkpoint.storage.type,
        pvc=checkpoint.storage.pvc,
        seccomp_profile=checkpoint.seccomp.injected,
    )
