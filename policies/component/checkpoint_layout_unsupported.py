"""DYN408: checkpoints of pods that can't be saved."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled, interpod_gms
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN408", where=COMPONENT, when="checkpoint", stage=Stage.CHECKPOINT, since="1.5")
def checkpoint_layout_unsupported(at: At) -> Hits:
    """A component with a checkpoint has standby engines, or its weights in other pods.

    Why
        A checkpoint saves one pod with all that it needs. Weights in pods of their own, and standby engines, are not in it.

    Fix
        Switch the checkpoint off, or remove failover and use the GPU memory service in mode {intraPod}.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              checkpoint: {enabled: true, checkpointRef: c}  # expect
        ```
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod, numShadows: 1}
              checkpoint: {enabled: true, checkpointRef: c}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              gpuMemoryService: {enabled: true, mode: intraPod}
              checkpoint: {enabled: true, checkpointRef: c}
        ```
    """
    if not enabled(at.value["checkpoint"]):
        return
    if interpod_gms(at.value):
        yield at.forbidden("checkpoint", words('must not be enabled while {gpuMemoryService} has the mode "{interPod}"'))
    if enabled(at.value.get("failover")):
        yield at.forbidden("checkpoint", words("must not be enabled together with {failover}"))
