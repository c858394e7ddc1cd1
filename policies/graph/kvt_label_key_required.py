"""DYN161: a KV transfer policy without a node label."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN161", where=KV_TRANSFER, stage=Stage.KV_TRANSFER)
def kvt_label_key_required(at: At) -> Hits:
    """A KV transfer policy names no node label.

    Why
        Workers learn from this label of their node in which domain they run. Without it no two of them can be told to be close.

    Fix
        Write the key of the label, `topology.kubernetes.io/zone` for example.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              labelKey: ""  # expect
              domain: zone
        ```

    Good
        ```yaml
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}
        ```
    """
    if not at.value.get("labelKey"):
        yield at.required("labelKey", "must be the key of a node label, got nothing")
