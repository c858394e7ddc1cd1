"""Switches of scaling that v1beta1 lacks."""

from ..at import At, Findings
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule


@differs("the same block enables the adapter in v1beta1; here it is silently missing", lacking=True)
@rule("DYN910", where=COMPONENT_V1ALPHA1, when="scalingAdapter", stage=Stage.ADVICE)
def scaling_adapter_off(at: At) -> Findings:
    """A component has an empty scaling adapter block, which means disabled.

    Why
        In v1beta1, `scalingAdapter: {}` enables the adapter. In v1alpha1, the field `enabled` does, and it is false if you leave it out.

    Fix
        Set `scalingAdapter.enabled` to true, or to false if you want no adapter.

    Example
         spec:
           services:
        -    worker:
        -      componentType: worker
        -      scalingAdapter: {}  # expect
        +    worker: {componentType: worker, scalingAdapter: {enabled: true}}
        +    other: {componentType: worker, scalingAdapter: {enabled: false}}
    """
    if at.value["scalingAdapter"].get("enabled") is None:
        yield at.warning(
            "scalingAdapter", "is off without enabled: true, which only v1beta1 does not need", fix="set enabled to true or false"
        )


@rule("DYN902", where=COMPONENT_V1ALPHA1, removes=True, when="autoscaling", stage=Stage.ADVICE)
def warn_autoscaling(at: At) -> Findings:
    """A component has autoscaling settings, which are ignored.

    Why
        The block is left from older versions and has no effect, even if it is empty.

    Fix
        Remove `autoscaling`, and enable `scalingAdapter` to scale with a HorizontalPodAutoscaler, KEDA or the planner.

    Example
         {worker service}
        -      autoscaling: {enabled: true, minReplicas: 1, maxReplicas: 4}  # expect
        +      scalingAdapter:
        +        enabled: true
    """
    yield at.warning("autoscaling", "is deprecated and ignored: remove it, use scalingAdapter")
