"""From what was seen of a cluster to the facts that rules ask for, in the form of the facts file. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.line import Line, of_version
from dynamo_webhooks.kube.resources import TOPOLOGIES, TOPOLOGY_BINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dynamo_webhooks.api.operator.settings import ServerSettings
    from dynamo_webhooks.kube.resources import Resource

# our facts by the names of kube.capability
CAPABILITIES: Final = {"grove": "grove", "inference-pools": "inferencePool", "lws": "lws", "dra": "dra", "istio": "istio"}
_REQUIRED: Final = ("grove", "lws", "dra")  # those that a configuration may ask for


class Observed(NamedTuple):
    """What was seen last; None, or a fact that isn't there, is what was never seen, which is not the same as absent."""

    served: Mapping[str, bool]  # by the names of facts
    topologies: Mapping[str, tuple[str, ...]] | None = None  # domains from broad to narrow
    no_topologies: bool = False  # the cluster serves no ClusterTopologies
    excluded: frozenset[str] | None = None


def facts_of(told: Mapping[str, Any], observed: Observed) -> dict[str, Any]:
    """The facts: those of configuration and facts file (`told`) override observed ones; unknown facts are omitted."""
    facts: dict[str, Any] = dict(observed.served)
    if observed.no_topologies or facts.get("grove") is False:
        facts["clusterTopologies"] = None
    elif observed.topologies is not None:
        facts["clusterTopologies"] = {name: list(domains) for name, domains in sorted(observed.topologies.items())}
    if observed.excluded is not None:
        facts["excludedNamespaces"] = sorted(observed.excluded)
    return facts | dict(told)


def topologies_of(told: Mapping[str, Any]) -> Resource:
    """The objects of Grove that list the domains of the cluster, by the line of the operator that is told."""
    line = Line(told["operatorLine"]) if "operatorLine" in told else of_version(str(told.get("operatorVersion", "")))
    return TOPOLOGY_BINDINGS if line >= Line.V1_5 else TOPOLOGIES


def told_by(settings: ServerSettings) -> dict[str, Any]:
    """The facts of the configuration, which override the cluster's."""
    features = settings.features
    switches = {"grove": features.grove, "lws": features.lws, "dra": features.dra}
    return {
        "operatorScope": "namespace" if settings.scope.restricted else "cluster",
        "operatorVersion": settings.identity.version,
        "operatorPrincipal": settings.identity.principal,
        "gpuDiscovery": features.gpu_discovery,
        "allowGmsSnapshot": features.gms_snapshot,
        "dgdrDefaultImage": "",  # `serve --dgdr-default-image` or a facts file may name one
        **({} if features.checkpoint is None else {"checkpoint": features.checkpoint}),
        **{name: value for name, value in switches.items() if value is not None},
        "switchedOff": sorted(name for name, value in switches.items() if value is False),
        **({"excludedNamespaces": []} if settings.scope.restricted else {}),
    }


def missing(told: Mapping[str, Any], observed: Observed) -> list[str]:
    """Configured features whose API group the cluster doesn't serve."""
    return [name for name in _REQUIRED if told.get(name) is True and observed.served.get(name) is False]


def domains(topology: Mapping[str, Any]) -> tuple[str, ...]:
    """The domains of a ClusterTopology, or a ClusterTopologyBinding, from broad to narrow; levels without one are passed over."""
    spec = topology.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    found: Iterable[Any] = levels if isinstance(levels, list) else ()
    return tuple(level["domain"] for level in found if isinstance(level, dict) and isinstance(level.get("domain"), str))
