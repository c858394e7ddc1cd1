"""DYN143: a service's topology domain that can't be one."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import is_domain
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule


@rule("DYN143", where=SERVICES, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_domain_format(at: At) -> Hits:
    """A service's topology domain is malformed.

    Why
        Domains are named in lower-case letters, digits and dashes. Any other spelling can't be found in a ClusterTopology.

    Fix
        Write the domain as the ClusterTopology spells it, `rack` for example.

    Bad
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
          services:
            worker:
              componentType: worker
              topologyConstraint: {packDomain: Rack}  # expect
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
    domain = at.value["topologyConstraint"].get("packDomain")
    if domain and not is_domain(domain):
        text = f'must be lower-case letters, digits and inner dashes, got "{domain}"'
        mend = Mend(domain.lower()) if is_domain(domain.lower()) else None
        yield at.invalid("topologyConstraint.packDomain", domain, text, mend=mend)
