"""Turns observations of a cluster into the facts of rules, in the form of the facts file. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from ...api.line import Line, decide_line
from ...api.operator.configuration import OperatorConfiguration
from ...kube.resources import TOPOLOGIES, TOPOLOGY_BINDINGS, Resource

# our facts by the names of kube.capability
CAPABILITIES: Final = {"grove": "grove", "inference-pools": "inferencePool", "lws": "lws", "dra": "dra", "istio": "istio"}
_REQUIRED: Final = ("grove", "lws", "dra")  # those that a configuration may ask for


class ObservedFacts(NamedTuple):
    """The last observation; None, or a missing fact, means never observed, which is not the same as absent."""

    served: Mapping[str, bool]  # by the names of facts
    topologies: Mapping[str, tuple[str, ...]] | None = None  # domains from broad to narrow
    no_topologies: bool = False  # the cluster serves no ClusterTopologies
    excluded: frozenset[str] | None = None


def facts_of(stated: Mapping[str, Any], observed: ObservedFacts) -> dict[str, Any]:
    """The facts: those of configuration and facts file (`stated`) override observed ones; unknown facts are omitted."""
    facts: dict[str, Any] = dict(observed.served)
    if observed.no_topologies or facts.get("grove") is False:
        facts["clusterTopologies"] = None
    elif observed.topologies is not None:
        facts["clusterTopologies"] = {name: list(domains) for name, domains in sorted(observed.topologies.items())}
    if observed.excluded is not None:
        facts["excludedNamespaces"] = sorted(observed.excluded)
    return facts | dict(stated)


def topologies_of(stated: Mapping[str, Any]) -> Resource:
    """The objects of Grove that list the domains of the cluster, by the configured line of the operator."""
    line = Line(stated["operatorLine"]) if "operatorLine" in stated else decide_line(str(stated.get("operatorVersion", "")))
    return TOPOLOGY_BINDINGS if line >= Line.V1_4 else TOPOLOGIES


def read_configured_facts(configuration: OperatorConfiguration) -> dict[str, Any]:
    """The facts of the configuration, which override the cluster's."""
    restricted = bool(configuration.namespace.restricted)
    return {
        "operatorScope": "namespace" if restricted else "cluster",
        "operatorVersion": configuration.operator.version,
        "operatorPrincipal": configuration.operator.principal,
        "gpuDiscovery": configuration.gpu.discovery_enabled,
        "allowGmsSnapshot": configuration.gms_snapshot,
        "dgdrDefaultImage": "",  # `serve --dgdr-default-image` or a facts file may name one
        "checkpoint": configuration.checkpoint.enabled,
        "lpx": configuration.lpx.enabled,
        **{name: value for name, value in configuration.switches.items() if value is not None},
        "switchedOff": sorted(configuration.switched_off),
        **({"excludedNamespaces": []} if restricted else {}),
    }


def list_missing(stated: Mapping[str, Any], observed: ObservedFacts) -> list[str]:
    """Configured features whose API group the cluster doesn't serve."""
    return [name for name in _REQUIRED if stated.get(name) is True and observed.served.get(name) is False]


def read_domains(topology: Mapping[str, Any]) -> tuple[str, ...]:
    """The domains of a ClusterTopology, or a ClusterTopologyBinding, from broad to narrow; levels without one are passed over."""
    spec = topology.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    found: Iterable[Any] = levels if isinstance(levels, list) else ()
    return tuple(level["domain"] for level in found if isinstance(level, dict) and isinstance(level.get("domain"), str))
