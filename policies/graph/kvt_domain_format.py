"""DYN164: a KV transfer policy with a malformed domain."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import is_domain
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN164", where=KV_TRANSFER, when="domain", stage=Stage.KV_TRANSFER)
def kvt_domain_format(at: At) -> Hits:
    """A KV transfer policy's domain is malformed.

    Why
        Domains are named in lower-case letters, digits and dashes, as those of a ClusterTopology are.

    Fix
        Write lower-case letters, digits and dashes, with a letter or digit at both ends.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              labelKey: topology.kubernetes.io/zone
              domain: Zone  # expect
        ```

    Good
        ```yaml
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}
        ```
    """
    domain = at.value["domain"]
    if domain and not is_domain(domain):
        text = f'must be lower-case letters, digits and inner dashes, got "{domain}"'
        yield at.invalid("domain", domain, text, mend=Mend(domain.lower()) if is_domain(domain.lower()) else None)
