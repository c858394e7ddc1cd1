"""What a pass depends on beside objects: the configuration, what the cluster can do, whose a namespace is. Asked anew in each pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.kube.capability import DRA, GROVE, ISTIO, KAI, LWS, POOLS
from dynamo_webhooks.policies.facts import UNKNOWN, Facts, Unknown
from dynamo_webhooks.reconciler.render.configured import Abilities, settings_from, switched_off

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.kube.capability import Presence
    from dynamo_webhooks.reconciler.loop.cache import Cache
    from dynamo_webhooks.reconciler.render.settings import Settings


def render_settings(found: ReconcilerSettings, known: Mapping[str, Presence], cache: Cache, namespace: str) -> Settings:
    """Settings for objects of one namespace.

    What is served but not permitted counts as there: making it fails with a sentence about the permission, which is better than to run
    the same graph in another way. Pull secrets are nobody's but the pods': we may not read Secrets, hence name none.
    """
    return settings_from(found, abilities(known), service_account=cache.account(namespace) or "default")


def abilities(known: Mapping[str, Presence]) -> Abilities:
    """What the cluster serves; what nobody knows counts as not there."""

    def served(name: str) -> bool:
        presence = known.get(name)
        return bool(presence is not None and presence.served)

    return Abilities(served(GROVE.name), served(LWS.name), served(KAI.name), served(DRA.name), served(ISTIO.name))


def grove_of(found: ReconcilerSettings, known: Mapping[str, Presence]) -> tuple[bool, bool]:
    """Whether Grove may be used, and whether the cluster serves it."""
    served = abilities(known).grove
    return served if found.features.grove is None else found.features.grove, served


def facts_of(found: ReconcilerSettings, known: Mapping[str, Presence]) -> Facts:
    """The facts by which objects are judged that no webhook has judged; what is not known is left to be so."""

    def fact(name: str, switch: bool | None = None) -> bool | Unknown:
        presence = known.get(name)
        served = presence.served if presence is not None else None
        return switch if switch is not None else UNKNOWN if served is None else served

    features = found.features
    return Facts(
        operatorScope="namespace" if found.scope.restricted else "cluster",
        operatorVersion=found.identity.version,
        operatorPrincipal=found.identity.principal,
        grove=fact(GROVE.name, features.grove),
        lws=fact(LWS.name, features.lws),
        dra=fact(DRA.name, features.dra),
        istio=fact(ISTIO.name),
        inferencePool=fact(POOLS.name),
        gpuDiscovery=features.gpu_discovery,
        allowGmsSnapshot=features.gms_snapshot,
        checkpoint=UNKNOWN if features.checkpoint is None else features.checkpoint,
        switchedOff=switched_off(features),
    )
