"""DYN407: checkpoints where the operator makes none."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CHECKPOINT, CHECKPOINT_KIND, COMPONENT, Hits, rule


@rule("DYN407", where={**COMPONENT, **CHECKPOINT}, stage=Stage.CHECKPOINT, needs=("checkpoint",), since="1.5")
def checkpoint_gate(at: At) -> Hits:
    """A checkpoint is asked for, but checkpoints are switched off in the operator.

    Why
        Nothing would make or restore it, and pods that wait for one would never start.

    Fix
        Switch the checkpoint off, or have checkpoints switched on in the operator's configuration.

    Bad
        ```yaml
        # facts: {checkpoint: false}
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              checkpoint:
                enabled: true  # expect
        ```
        ```yaml
        # kind: DynamoCheckpoint/v1alpha1
        # facts: {checkpoint: false}
        spec:  # expect
          identity: {model: m, backendFramework: vllm}
        ```

    Good
        ```yaml
        # facts: {checkpoint: false}
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              checkpoint: {enabled: false}
        ```
    """
    of_component = at.review.kind != CHECKPOINT_KIND
    if of_component and not enabled(at.value.get("checkpoint")):
        return
    if not at.fact("checkpoint"):
        yield at.forbidden(
            "checkpoint.enabled" if of_component else "", "must not be used while checkpoints are switched off in the operator"
        )
