"""What the topology rules share: the domains of the ClusterTopology that a graph names. How a domain is spelt is not here."""

from __future__ import annotations

from typing import Final

from .at import At
from .domain import is_line_1_4
from .facts import Unknown
from .review import Review

# why the look-ups differ from the Go operator 1.2, the same for all of them
TOLD_BY_OPERATION: Final = "only creations are checked, so that updates don't fail after changes of the cluster"

PLURAL: Final = {"ClusterTopology": "ClusterTopologies", "ClusterTopologyBinding": "ClusterTopologyBindings"}


def kind_of(review: Review) -> str:
    """What Grove calls an object that lists a cluster's domains: another name since line 1.4 of the operator."""
    return "ClusterTopologyBinding" if is_line_1_4(review) else "ClusterTopology"


def levels(at: At) -> tuple[str, ...] | None:
    """The domains of the graph's ClusterTopology from broad to narrow; None when it is not known, not readable or not there.

    Those three have rules of their own (topology-cluster-not-found, topology-cluster-unreadable), so that one gap is reported once.
    """
    topologies = at.review.facts.clusterTopologies
    if topologies is None or isinstance(topologies, Unknown):
        return None
    constraint = at.review.spec.get("topologyConstraint") or {}
    return topologies.get(constraint.get("clusterTopologyName") or "")
