"""Inputs of a pass beside objects, read anew in each pass: the configuration and what the cluster serves."""

from collections.abc import Hashable, Mapping
from typing import Final

from ...kube.capability import DISAGGREGATED_SETS, DRA, GROVE, ISTIO, KAI, LWS, POOLS, Presence
from ...kube.protocol import Node
from ...policies.facts import UNKNOWN, Facts, Unknown
from ..common.keys import key_of
from ..common.resources import POD_ACCOUNT
from ..render.settings import Settings, make_settings
from .cache import Cache
from .context import Context

_ACCOUNTS: Final = "accounts of pods"  # with discovery by etcd; of several in a namespace the first by name counts


def index_account(account: Node) -> list[Hashable]:
    """Return the keys at which the index has a service account."""
    labelled = (account["metadata"].get("labels") or {}).get(POD_ACCOUNT) == "true"
    return [(_ACCOUNTS, key_of(account).namespace)] if labelled else []


def render_settings(context: Context, namespace: str) -> Settings:
    """Make the settings for objects of one namespace.

    A kind that is served but not permitted counts as present: creating its objects fails with a message about the permission, which is
    better than running the same graph in another way. The settings name no pull secrets, so pods have only their own: without an opt-in
    the reconciler may not read Secrets.
    """
    account = find_pods_account(context.cache, namespace)
    return make_settings(context.settings, read_served(context.detector.known), service_account=account)


def find_pods_account(cache: Cache, namespace: str) -> str:
    """The account of a namespace's pods with discovery by etcd that name none."""
    return next((key.name for key in cache.index_keys((_ACCOUNTS, namespace))), "default")


def read_served(known: Mapping[str, Presence]) -> Settings:
    """Return which capabilities the cluster serves; an unknown one counts as not served."""
    capabilities = (GROVE, LWS, DISAGGREGATED_SETS, KAI, DRA, ISTIO)
    grove, lws, disaggregated, kai, dra, istio = (
        capability.name in known and bool(known[capability.name].served) for capability in capabilities
    )
    return Settings(grove=grove, lws=lws, disaggregated=disaggregated, kai=kai, dra=dra, istio=istio)


def read_facts(context: Context) -> Facts:
    """Return the facts for judging objects that no webhook has judged. Unknown facts stay unknown."""
    settings, known = context.settings, context.detector.known

    def fact(name: str, switch: bool | None = None) -> bool | Unknown:
        presence = known.get(name)
        served = presence.served if presence is not None else None
        return switch if switch is not None else UNKNOWN if served is None else served

    switches = settings.switches
    return Facts(
        operatorScope="namespace" if settings.namespace.restricted else "cluster",
        operatorVersion=settings.operator.version,
        operatorPrincipal=settings.operator.principal,
        grove=fact(GROVE.name, switches["grove"]),
        lws=fact(LWS.name, switches["lws"]),
        dra=fact(DRA.name, switches["dra"]),
        istio=fact(ISTIO.name),
        inferencePool=fact(POOLS.name),
        gpuDiscovery=settings.gpu.discovery_enabled,
        allowGmsSnapshot=settings.gms_snapshot,
        checkpoint=settings.checkpoint.enabled,
        lpx=settings.lpx.enabled,
        switchedOff=settings.switched_off,
    )
