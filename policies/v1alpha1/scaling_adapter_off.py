"""A scaling adapter that only looks as if it were on: v1beta1 switches it on by the block alone."""

from ..at import At
from ..finding import Level
from ..rule import COMPONENT_V1ALPHA1, Difference, Hits, Stage, rule


@rule(
    "DYN910",
    where=COMPONENT_V1ALPHA1,
    when="scalingAdapter",
    level=Level.WARNING,
    stage=Stage.ADVICE,
    differs=Difference((), "the same block is on in v1beta1, and the scaling adapter is missing without a word", lacking=True),
)
def scaling_adapter_off(at: At) -> Hits:
    """A component has an empty scaling adapter, which is off.

    Why
        `scalingAdapter: {}` switches the adapter on in v1beta1, but v1alpha1 has `enabled` for that, which is false if you leave it out.

    Fix
        Set `scalingAdapter.enabled` to true, or to false if the adapter is to be off.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       scalingAdapter: {}  # expect
    ok      worker: {componentType: worker, scalingAdapter: {enabled: true}}
    ok      other: {componentType: worker, scalingAdapter: {enabled: false}}
    """
    if at.value["scalingAdapter"].get("enabled") is None:
        yield at.warning(
            "scalingAdapter", "is off without enabled: true, which only v1beta1 does not need", fix="set enabled to true or false"
        )
