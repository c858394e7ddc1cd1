"""DYN142: a service's topology constraint without a domain."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule


@rule("DYN142", where=SERVICES, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_domain_required(at: At) -> Hits:
    """A service has a topology constraint without a domain.

    Why
        The domain is all that a service's constraint says: within what its pods are to be packed. Without it the constraint is empty.

    Fix
        Name a domain of the graph's ClusterTopology, or remove the {service}'s constraint.

    Bad
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
          services:
            worker:
              componentType: worker
              topologyConstraint: {}  # expect
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
          services:
            worker:
              componentType: worker
              topologyConstraint: {packDomain: rack}
        ```
    """
    if not at.value["topologyConstraint"].get("packDomain"):
        yield at.required("topologyConstraint.packDomain", "must name a domain, got nothing")
