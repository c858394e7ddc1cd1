"""DYN167: a KV transfer weight out of range."""

import struct

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN167", where=KV_TRANSFER, when="preferredWeight", stage=Stage.KV_TRANSFER)
def kvt_weight_range(at: At) -> Hits:
    """A KV transfer policy's weight is not between 0 and 1.

    Why
        The weight is a share of the router's decision. Less than nothing or more than all has no meaning.

    Fix
        Write a number from 0 to 1; both bounds are allowed.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              labelKey: topology.kubernetes.io/zone
              domain: zone
              enforcement: preferred
              preferredWeight: 1.5  # expect
        ```

    Good
        ```yaml
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 1}
        ```
    """
    weight = at.value["preferredWeight"]
    if not (0 <= weight <= 1 or (-1 < weight < 2 and 0 <= _single(weight) <= 1)):
        yield at.invalid("preferredWeight", weight, f"must be a number from 0 to 1, got {weight}")


def _single(number: float) -> float:
    """Rounds to the 32-bit float that the weight is kept as, so that 1.00000001 is 1; the schema's bound sees to the rest."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded
