"""DYN163: a KV transfer policy without a domain."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN163", where=KV_TRANSFER, stage=Stage.KV_TRANSFER)
def kvt_domain_required(at: At) -> Hits:
    """A KV transfer policy names no domain.

    Why
        The domain is what prefill and decode workers are asked to share. Without it the policy asks for nothing.

    Fix
        Name the domain that the node label stands for, `zone` for example.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              labelKey: topology.kubernetes.io/zone
              domain: ""  # expect
        ```

    Good
        ```yaml
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}
        ```
    """
    if not at.value.get("domain"):
        yield at.required("domain", "must name a domain such as zone, got nothing")
