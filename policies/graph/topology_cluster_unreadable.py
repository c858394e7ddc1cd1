"""DYN148: a cluster that has no ClusterTopologies to look up."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import off_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.rule import TOPOLOGY, Hits, rule
from dynamo_webhooks.policies.topology import PLURAL, TOLD_BY_OPERATION, first_generation, kind_of


@rule("DYN148", where=TOPOLOGY, when="topologyProfile", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_cluster_unreadable(at: At) -> Hits:
    """The graph names a ClusterTopology, but ClusterTopologies can't be read.

    Why
        Whether the named topology and its domains exist can't be found out, and a graph that names wrong ones is never scheduled. So it is
        refused rather than guessed at.

    Fix
        Have Grove's ClusterTopology resource installed and readable for the webhook, or remove the topology constraints.

    Bad
        ```yaml
        # facts: {clusterTopologies: null}
        spec:
          topologyConstraint:
            topologyProfile: default  # expect
            packDomain: rack
        ```

    Good
        ```yaml
        # facts: {clusterTopologies: {default: [zone, rack]}}
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: rack}
        ```
    """
    name = at.value["topologyProfile"]
    if name and at.review.facts.clusterTopologies is None and not off_grove(at):
        kind = kind_of(at.review)
        text = f'must name a {kind} that can be looked up, got "{name}": the cluster does not serve {PLURAL[kind]}'
        yield at.invalid("topologyProfile", name, text)


@topology_cluster_unreadable.in_1_2("Q-06", because=TOLD_BY_OPERATION, on=(CREATE, UPDATE))
def topology_cluster_unreadable_in_1_2(at: At) -> Hits:
    """There a create is told by generation 1."""
    if first_generation(at.review):
        yield from topology_cluster_unreadable.check(at)
