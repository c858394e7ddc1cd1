"""DYN301: an inter-pod GPU memory service where nothing can lay out its pods."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import interpod_gms, off_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN301", where=SERVICES, when="gpuMemoryService", stage=Stage.GMS, needs=("grove",))
def gms_interpod_requires_grove(at: At) -> Hits:
    """The GPU memory service runs in pods of its own, but the graph is not on Grove.

    Why
        Weight servers and engines in different pods share GPUs only if they start together on the same node. Of the orchestrators only
        Grove can be told so.

    Fix
        Set the mode to {intraPod}, or bring the graph onto Grove: switch Grove on in the operator and remove the annotation
        `nvidia.com/enable-grove`.

    Bad
        ```yaml
        # facts: {grove: false}
        spec:
          backendFramework: vllm
          services:
            worker:  # expect
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
        ```
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          backendFramework: vllm
          services:
            worker:  # expect
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
        ```

    Good
        ```yaml
        # facts: {grove: false}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: intraPod}
        ```
    """
    if interpod_gms(at.value) and (reason := off_grove(at)):
        yield at.forbidden("", words('must run on Grove for {gpuMemoryService}.mode "{interPod}", but {reason}', reason=reason))
