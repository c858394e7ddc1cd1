"""DYN161: a KV transfer policy without a node label."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import on_1_5
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN161", where=KV_TRANSFER, stage=Stage.KV_TRANSFER)
def kvt_label_key_required(at: At) -> Hits:
    """A KV transfer policy names no node label.

    Why
        Workers learn from this label of their node in which domain they run. Without it no two of them can be told to be close.

    Fix
        Write the key of the label, `topology.kubernetes.io/zone` for example; on line 1.5 of the operator a graph on Grove may name a
        topology of Grove instead.

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
    if not at.value.get("labelKey") and not (on_1_5(at.review) and at.value.get("clusterTopologyName")):
        yield at.required("labelKey", "must be the key of a node label, got nothing")
