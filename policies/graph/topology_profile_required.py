"""DYN145: a topology constraint without a topology."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import TOPOLOGY, Hits, rule
from dynamo_webhooks.policies.topology import kind_of


@rule("DYN145", where=TOPOLOGY, stage=Stage.TOPOLOGY)
def topology_profile_required(at: At) -> Hits:
    """The graph's topology constraint names no ClusterTopology.

    Why
        Domains such as `rack` mean something only within a ClusterTopology, which lists them from broad to narrow.

    Fix
        Write the name of a ClusterTopology of the cluster as `{topologyProfile}`.

    Bad
        ```yaml
        spec:
          topologyConstraint:
            topologyProfile: ""  # expect
            packDomain: zone
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
        ```
    """
    if not at.value.get("topologyProfile"):
        yield at.required("topologyProfile", f"must name a {kind_of(at.review)}, got nothing")
