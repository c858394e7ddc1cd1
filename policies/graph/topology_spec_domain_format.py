"""DYN141: a graph's topology domain that can't be one."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import is_domain
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import TOPOLOGY, Hits, rule


@rule("DYN141", where=TOPOLOGY, when="packDomain", stage=Stage.TOPOLOGY)
def topology_spec_domain_format(at: At) -> Hits:
    """The graph's topology domain is malformed.

    Why
        Domains are named in lower-case letters, digits and dashes. Any other spelling can't be found in a ClusterTopology.

    Fix
        Write the domain as the ClusterTopology spells it, `rack` for example.

    Bad
        ```yaml
        spec:
          topologyConstraint:
            topologyProfile: default
            packDomain: Rack  # expect
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: rack}
        ```
    """
    domain = at.value["packDomain"]
    if domain and not is_domain(domain):
        text = f'must be lower-case letters, digits and inner dashes, got "{domain}"'
        yield at.invalid("packDomain", domain, text, mend=Mend(domain.lower()) if is_domain(domain.lower()) else None)
