"""The weight of a KV transfer policy."""

import struct

from ..at import At
from ..rule import KV_TRANSFER, Hits, Stage, rule


@rule("DYN168", where=KV_TRANSFER, when="preferredWeight", stage=Stage.KV_TRANSFER)
def kvt_weight_forbidden(at: At) -> Hits:
    """A required KV transfer policy has a weight.

    Why
        A required condition is either met or not. A weight only makes sense for a preference.

    Fix
        Write `enforcement: preferred`, or remove `preferredWeight`. Without `enforcement` a policy is required.

    Example
        spec:
          experimental:
    bad     kvTransferPolicy:
    bad       labelKey: topology.kubernetes.io/zone
    bad       domain: zone
    bad       preferredWeight: 0.5  # expect
    ok      kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 0.5}
    """
    if (at.value.get("enforcement") or "required") == "required":
        text = f'must be unset unless enforcement is "preferred", got {at.value["preferredWeight"]}'
        yield at.forbidden("preferredWeight", text)


@rule("DYN167", where=KV_TRANSFER, when="preferredWeight", stage=Stage.KV_TRANSFER)
def kvt_weight_range(at: At) -> Hits:
    """A KV transfer policy's weight is not between 0 and 1.

    Why
        The weight is a share of the router's decision. Less than nothing or more than all has no meaning.

    Fix
        Write a number from 0 to 1; both bounds are allowed.

    Example
        spec:
          experimental:
    bad     kvTransferPolicy:
    bad       labelKey: topology.kubernetes.io/zone
    bad       domain: zone
    bad       enforcement: preferred
    bad       preferredWeight: 1.5  # expect
    ok      kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 1}
    """
    weight = at.value["preferredWeight"]
    if not (0 <= weight <= 1 or (-1 < weight < 2 and 0 <= _single(weight) <= 1)):
        yield at.invalid("preferredWeight", weight, f"must be a number from 0 to 1, got {weight}")


def _single(number: float) -> float:
    """Rounds to the 32-bit float that the weight is kept as, so that 1.00000001 is 1; the schema's bound sees to the rest."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


@rule("DYN166", where=KV_TRANSFER, when="enforcement=preferred", stage=Stage.KV_TRANSFER)
def kvt_weight_required(at: At) -> Hits:
    """A preferred KV transfer policy has no weight.

    Why
        A preference is weighed against load and cache hits. There is no weight that would suit every graph, so none is assumed.

    Fix
        Write a `preferredWeight` from 0 (no influence) to 1.

    Example
        spec:
          experimental:
    bad     kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred}  # expect
    ok      kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 0}
    """
    if at.value.get("preferredWeight") is None:
        yield at.required("preferredWeight", 'must be set while enforcement is "preferred", got nothing')
