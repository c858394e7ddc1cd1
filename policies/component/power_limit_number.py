"""DYN216: a power limit that is no number of watts."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import POWER_LIMIT_PATH, power_limit, said, whole_number
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule


@rule("DYN216", where=SERVICES, when="extraPodMetadata", stage=Stage.COMPONENT, since="1.5")
def power_limit_number(at: At) -> Hits:
    """The annotation for the power limit of a component's GPUs is no whole number of watts above zero.

    Why
        The number is set on each GPU when the pod starts. With anything else the GPUs would keep their own limit.

    Fix
        Write a whole number of watts, in quotes, or remove the annotation.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              extraPodMetadata:
                annotations:
                  dynamo.nvidia.com/gpu-power-limit: 300W  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
        ```
    """
    limit = power_limit(at.value)
    if limit is not None and (whole_number(limit) or 0) <= 0:
        yield at.invalid(POWER_LIMIT_PATH, limit, f'must be a whole number of watts above 0, got "{said(limit)}"')
