"""DYN215: a scaling group of Grove for what Grove does not run."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import component_off_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT_V1BETA1, Hits, rule


@rule("DYN215", where=COMPONENT_V1BETA1, when="experimental", stage=Stage.COMPONENT, needs=("grove",), since="1.5")
def force_scaling_group_requires_grove(at: At) -> Hits:
    """A component asks for a scaling group of its own, but Grove does not run it.

    Why
        Scaling groups are Grove's. Without it nobody would read the switch.

    Fix
        Remove `experimental.grove`, or run the graph on Grove.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
              experimental:
                grove:
                  forceScalingGroup: true  # expect
        ```
        A standalone component never runs on Grove.
        ```yaml
        # kind: DynamoComponentDeployment/v1beta1
        spec:
          podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
          experimental:
            grove:
              forceScalingGroup: true  # expect
        ```

    Good
        ```yaml
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
              experimental: {grove: {forceScalingGroup: true}}
        ```
    """
    if at.get("experimental.grove.forceScalingGroup") is True and (reason := component_off_grove(at)):
        yield at.forbidden("experimental.grove.forceScalingGroup", f"must be unset without Grove, got true: {reason}")
