"""DYN214: a smallest number of replicas that nobody would heed."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import component_off_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN214", where=COMPONENT, when="minAvailable", stage=Stage.COMPONENT, needs=("grove",), since="1.5")
def min_available_requires_grove(at: At) -> Hits:
    """A component says how many replicas must be available, but Grove does not run it.

    Why
        Only Grove schedules the first `minAvailable` replicas together. Without it nobody would read the number.

    Fix
        Remove `minAvailable`, or run the graph on Grove.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          services:
            worker:
              componentType: worker
              minAvailable: 1  # expect
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
        ```
        A standalone component never runs on Grove.
        ```yaml
        # kind: DynamoComponentDeployment/v1alpha1
        spec:
          minAvailable: 1  # expect
          extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              replicas: 4
              minAvailable: 2
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
        ```
    """
    if reason := component_off_grove(at):
        yield at.forbidden("minAvailable", f"must be unset without Grove, got {at.value['minAvailable']}: {reason}")
