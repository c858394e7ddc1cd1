"""What a pass depends on beside objects: the configuration, what the cluster can do, whose a namespace is. Asked anew in each pass."""

from __future__ import annotations

from collections.abc import Mapping

from ...api.operator.configuration import OperatorConfiguration
from ...kube.capability import DRA, GROVE, ISTIO, KAI, LWS, POOLS, Presence
from ...policies.facts import UNKNOWN, Facts, Unknown
from ..render.settings import Settings, settings_from
from .cache import Cache


def render_settings(found: OperatorConfiguration, known: Mapping[str, Presence], cache: Cache, namespace: str) -> Settings:
    """Settings for objects of one namespace.

    What is served but not permitted counts as there: making it fails with a sentence about the permission, which is better than to run
    the same graph in another way. Pull secrets are nobody's but the pods': we may not read Secrets, hence name none.
    """
    return settings_from(found, read_served(known), service_account=cache.account(namespace) or "default")


def read_served(known: Mapping[str, Presence]) -> Settings:
    """What the cluster serves; what nobody knows counts as not there."""

    def served(name: str) -> bool:
        presence = known.get(name)
        return bool(presence is not None and presence.served)

    grove, lws, kai, dra, istio = (served(one.name) for one in (GROVE, LWS, KAI, DRA, ISTIO))
    return Settings(grove=grove, lws=lws, kai=kai, dra=dra, istio=istio)


def read_grove(found: OperatorConfiguration, known: Mapping[str, Presence]) -> tuple[bool, bool]:
    """Whether Grove may be used, and whether the cluster serves it."""
    served = read_served(known).grove
    switch = found.orchestrators.grove.enabled
    return served if switch is None else switch, served


def read_facts(found: OperatorConfiguration, known: Mapping[str, Presence]) -> Facts:
    """The facts by which objects are judged that no webhook has judged; what is not known is left to be so."""

    def fact(name: str, switch: bool | None = None) -> bool | Unknown:
        presence = known.get(name)
        served = presence.served if presence is not None else None
        return switch if switch is not None else UNKNOWN if served is None else served

    switches = found.switches
    return Facts(
        operatorScope="namespace" if found.namespace.restricted else "cluster",
        operatorVersion=found.operator.version,
        operatorPrincipal=found.operator.principal,
        grove=fact(GROVE.name, switches["grove"]),
        lws=fact(LWS.name, switches["lws"]),
        dra=fact(DRA.name, switches["dra"]),
        istio=fact(ISTIO.name),
        inferencePool=fact(POOLS.name),
        gpuDiscovery=found.gpu.discovery_enabled,
        allowGmsSnapshot=found.gms_snapshot,
        checkpoint=found.checkpoint.enabled,
        lpx=found.lpx.enabled,
        switchedOff=found.switched_off,
    )
