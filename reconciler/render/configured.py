"""Settings for rendering, from the operator's configuration and the cluster's APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.reconciler.render.settings import Checkpoints, Infrastructure, Ingresses, Mesh, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynamo_webhooks.api.operator.settings import CheckpointSettings, Features, ReconcilerSettings


class Abilities(NamedTuple):
    """The APIs of the cluster; defaults are for offline rendering."""

    grove: bool = Settings().grove
    lws: bool = Settings().lws
    kai: bool = Settings().kai
    dra: bool = Settings().dra
    istio: bool = Settings().istio


def settings_from(
    found: ReconcilerSettings,
    cluster: Abilities,
    *,
    version: str = "",
    pull_secrets: Mapping[str, tuple[str, ...]] | None = None,
    service_account: str = "default",
) -> Settings:
    """The settings for objects of one namespace.

    The configuration overrides the cluster's APIs. Pull secrets (see `pod.registries`) and the account for pods with discovery by etcd are
    the namespace's.
    """
    features = found.features
    return Settings(
        grove=_either(features.grove, cluster.grove),
        lws=_either(features.lws, cluster.lws),
        dra=_either(features.dra, cluster.dra),
        istio=cluster.istio,
        kai=_either(features.kai, cluster.kai),
        switched_off=switched_off(features),
        operator_version=version or found.identity.version,
        restricted=bool(found.scope.restricted),
        discovery=found.discovery,
        infrastructure=Infrastructure(found.nats, found.etcd, found.model_express, found.prometheus),
        ingress=Ingresses(found.gateway, found.ingress_class, found.ingress_tls_secret, found.host_suffix),
        mesh=_mesh(found),
        planner_role=found.planner_role,
        epp_role=found.epp_role,
        ssh_secret=found.ssh_secret,
        ssh_secret_namespace=found.ssh_secret_namespace,
        key_per_graph=found.secrets.key_per_graph,
        termination_delay=go_duration(found.grove_termination_delay),
        checkpoints=_checkpoints(found.checkpoint, features),
        pull_secrets=pull_secrets if pull_secrets is not None else Settings().pull_secrets,
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


def switched_off(features: Features) -> frozenset[str]:
    """Which of grove, lws and dra the configuration disables, by names of facts."""
    switches = {"grove": features.grove, "lws": features.lws, "dra": features.dra}
    return frozenset(name for name, switch in switches.items() if switch is False)


def _either(switch: bool | None, served: bool) -> bool:
    return served if switch is None else switch


def _mesh(found: ReconcilerSettings) -> Mesh:
    mesh = found.mesh
    if mesh is None:
        return Mesh()
    return Mesh("istio", mesh.tls_mode, mesh.insecure_skip_verify, mesh.client_certificate, mesh.private_key, mesh.ca_certificates)


def _checkpoints(found: CheckpointSettings, features: Features) -> Checkpoints:
    return Checkpoints(
        enabled=found.enabled,
        gate=features.gms_snapshot,
        storage=found.storage,
        claim=found.claim,
        claim_create=found.create,
        claim_size=found.size,
        claim_class=found.storage_class,
        claim_mode=found.access_mode,
        base_path=found.base_path,
        seccomp_profile=found.seccomp_profile,
    )
