"""DYN150: a service packed less tightly than its graph."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import off_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule
from dynamo_webhooks.policies.topology import TOLD_BY_OPERATION, first_generation, levels


@rule("DYN150", where=SERVICES, when="topologyConstraint", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_domain_broader(at: At) -> Hits:
    """A service is packed within a broader domain than its graph.

    Why
        The graph's constraint holds for all of its pods. A service that may spread wider than the graph contradicts it.

    Fix
        Give the {service} the graph's domain or a narrower one, or give the graph a broader one.

    Bad
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: rack}
          services:
            worker:  # expect
              componentType: worker
              topologyConstraint: {packDomain: zone}
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: rack}
          services:
            worker:
              componentType: worker
              topologyConstraint: {packDomain: host}
        ```
    """
    known, domain = levels(at), at.value["topologyConstraint"].get("packDomain")
    graph = (at.review.spec.get("topologyConstraint") or {}).get("packDomain")
    if known is None or domain not in known or graph not in known:
        return
    if known.index(domain) < known.index(graph) and not off_grove(at):
        yield at.invalid("", domain, f'must not be packed within a broader domain than the graph, got "{domain}" under "{graph}"')


@topology_domain_broader.in_1_2("Q-06", because=TOLD_BY_OPERATION, on=(CREATE, UPDATE))
def topology_domain_broader_in_1_2(at: At) -> Hits:
    """There a create is told by generation 1."""
    if first_generation(at.review):
        yield from topology_domain_broader.check(at)
