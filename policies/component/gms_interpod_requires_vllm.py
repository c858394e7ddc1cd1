"""DYN302: an inter-pod GPU memory service for an engine that can't use it."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import interpod_gms, said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN302", where=SERVICES, when="gpuMemoryService", stage=Stage.GMS)
def gms_interpod_requires_vllm(at: At) -> Hits:
    """The GPU memory service runs in pods of its own, but the engine is not vLLM.

    Why
        Of the engines only vLLM can load weights that a server in another pod holds. The framework must be written down, because it is not
        guessed from images here.

    Fix
        Set `spec.backendFramework: vllm`, or use mode {intraPod}, which suits every engine.

    Bad
        ```yaml
        spec:
          backendFramework: sglang
          services:
            worker:  # expect
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
        ```
        ```yaml
        spec:
          services:
            worker:  # expect
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
        ```

    Good
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
        ```
    """
    backend = at.review.spec.get("backendFramework")
    if backend != "vllm" and interpod_gms(at.value):
        seen = f'got "{said(backend)}"' if backend else "got nothing"
        text = words('must have spec.backendFramework "vllm" for {gpuMemoryService}.mode "{interPod}", {seen}', seen=seen)
        yield at.forbidden("", text)
