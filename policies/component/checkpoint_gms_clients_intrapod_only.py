"""DYN405: clients in a job of a GPU memory service in other pods."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import interpod_gms
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN405", where=COMPONENT, when="checkpoint", stage=Stage.CHECKPOINT)
def checkpoint_gms_clients_intrapod_only(at: At) -> Hits:
    """A checkpoint's job names clients of a GPU memory service that runs in pods of its own.

    Why
        A job has one pod, and its clients reach the service through a volume of that pod. A service in another pod is out of their reach.

    Fix
        Set the service's mode to {intraPod}, or remove `gmsClientContainers`.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              checkpoint:
                job:
                  gmsClientContainers: [saver]  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: intraPod}
              checkpoint: {job: {gmsClientContainers: [saver]}}
        ```
    """
    if at.get("checkpoint.job.gmsClientContainers") and interpod_gms(at.value):
        text = words('must be empty unless {gpuMemoryService}.mode is "{intraPod}", got mode "{interPod}"')
        yield at.forbidden("checkpoint.job.gmsClientContainers", text)
