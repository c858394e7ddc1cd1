"""DYN166: a preferred KV transfer policy without a weight."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN166", where=KV_TRANSFER, when="enforcement=preferred", stage=Stage.KV_TRANSFER)
def kvt_weight_required(at: At) -> Hits:
    """A preferred KV transfer policy has no weight.

    Why
        A preference is weighed against load and cache hits. There is no weight that would suit every graph, so none is assumed.

    Fix
        Write a `preferredWeight` from 0 (no influence) to 1.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:  # expect
              labelKey: topology.kubernetes.io/zone
              domain: zone
              enforcement: preferred
        ```

    Good
        ```yaml
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 0}
        ```
    """
    if at.value.get("preferredWeight") is None:
        yield at.required("preferredWeight", 'must be set while enforcement is "preferred", got nothing')
