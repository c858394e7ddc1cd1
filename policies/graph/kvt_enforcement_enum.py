"""DYN165: a KV transfer policy with an unknown enforcement."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule

_ENFORCEMENTS: Final = ("required", "preferred")


@rule("DYN165", where=KV_TRANSFER, when="enforcement", stage=Stage.KV_TRANSFER)
def kvt_enforcement_enum(at: At) -> Hits:
    """A KV transfer policy is enforced in a way that doesn't exist.

    Why
        The policy is either a condition (`required`) or a wish with a weight (`preferred`). The router knows no third way.

    Fix
        Write `required` or `preferred` in lower case, or leave it out, which means `required`.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              labelKey: topology.kubernetes.io/zone
              domain: zone
              enforcement: Preferred  # expect
              preferredWeight: 0.5
        ```

    Good
        ```yaml
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 0.5}
        ```
    """
    enforcement = at.value["enforcement"]
    if enforcement and enforcement not in _ENFORCEMENTS:
        yield at.not_supported("enforcement", enforcement, _ENFORCEMENTS)
