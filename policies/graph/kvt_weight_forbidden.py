"""DYN168: a weight for a KV transfer policy that is no preference."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN168", where=KV_TRANSFER, when="preferredWeight", stage=Stage.KV_TRANSFER)
def kvt_weight_forbidden(at: At) -> Hits:
    """A required KV transfer policy has a weight.

    Why
        A condition is met or not, there is nothing to weigh. Somebody who wrote a weight wanted a preference.

    Fix
        Write `enforcement: preferred`, or remove `preferredWeight`. Without `enforcement` a policy is required.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              labelKey: topology.kubernetes.io/zone
              domain: zone
              preferredWeight: 0.5  # expect
        ```

    Good
        ```yaml
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 0.5}
        ```
    """
    if (at.value.get("enforcement") or "required") == "required":
        text = f'must be unset unless enforcement is "preferred", got {at.value["preferredWeight"]}'
        yield at.forbidden("preferredWeight", text)
