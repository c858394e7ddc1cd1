"""DYN147: a ClusterTopology that doesn't exist."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import off_grove, quoted
from dynamo_webhooks.policies.facts import Unknown
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.rule import TOPOLOGY, Hits, rule
from dynamo_webhooks.policies.topology import TOLD_BY_OPERATION, first_generation, kind_of


@rule("DYN147", where=TOPOLOGY, when="topologyProfile", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_cluster_not_found(at: At) -> Hits:
    """The graph names a ClusterTopology that the cluster doesn't have.

    Why
        Grove reads the domains from that ClusterTopology. Without it the graph's pods are never scheduled.

    Fix
        Name one that exists (`kubectl get clustertopologies`), or create it first.

    Bad
        ```yaml
        spec:
          topologyConstraint:
            topologyProfile: production  # expect
            packDomain: rack
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: rack}
        ```
    """
    name, topologies = at.value["topologyProfile"], at.review.facts.clusterTopologies
    # None is the case of topology-cluster-unreadable
    if not name or topologies is None or (not isinstance(topologies, Unknown) and name in topologies) or off_grove(at):
        return
    known = quoted(at.fact("clusterTopologies")) or "none"
    yield at.not_found("topologyProfile", name, f'must name a {kind_of(at.review)} of this cluster, got "{name}"; it has {known}')


@topology_cluster_not_found.in_1_2("Q-06", because=TOLD_BY_OPERATION, on=(CREATE, UPDATE))
def topology_cluster_not_found_in_1_2(at: At) -> Hits:
    """There a create is told by generation 1."""
    if first_generation(at.review):
        yield from topology_cluster_not_found.check(at)
