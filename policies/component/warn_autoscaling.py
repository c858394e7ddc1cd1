"""DYN902: autoscaling settings that the operator doesn't read."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN902", where=COMPONENT, removes=True, when="autoscaling", level=Level.WARNING, stage=Stage.ADVICE)
def warn_autoscaling(at: At) -> Hits:
    """A component has autoscaling settings, which are ignored.

    Why
        The block is left over from older versions: nothing scales by it, not even an empty one.

    Fix
        Remove `autoscaling`, and enable `scalingAdapter` to scale with a HorizontalPodAutoscaler, KEDA or the planner.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              autoscaling: {enabled: true, minReplicas: 1, maxReplicas: 4}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker: {componentType: worker, scalingAdapter: {enabled: true}}
        ```
    """
    yield at.warning("autoscaling", "is deprecated and ignored: remove it, use scalingAdapter")
