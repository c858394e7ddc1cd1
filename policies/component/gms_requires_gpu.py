"""DYN305: a GPU memory service without GPUs."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.gpu import Gpus, gpu_count, gpu_count_1_2
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN305", where=COMPONENT, when="gpuMemoryService", stage=Stage.GMS)
def gms_requires_gpu(at: At) -> Hits:
    """A component has a GPU memory service, but asks for no GPU.

    Why
        The GPUs that the service shares are claimed in the number that the component asks for. Any vendor's resource name counts, in
        `resources` and in the main container; a limit hides a request.

    Fix
        Set `resources.limits.gpu` to the number of GPUs, as a whole number.

    Fix in v1beta1
        Set `resources.limits[nvidia.com/gpu]` of the main container to the number of GPUs, as a whole number.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              gpuMemoryService: {enabled: true}  # expect
        ```
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: 500m}}
              gpuMemoryService: {enabled: true}  # expect
        ```
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "0"}, requests: {gpu: "4"}}
              gpuMemoryService: {enabled: true}  # expect
        ```
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1", gpuType: example.com/accelerator}}
              gpuMemoryService: {enabled: true}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
            slice:
              componentType: worker
              resources: {limits: {custom: {nvidia.com/mig-1g.5gb: "1"}}}
              gpuMemoryService: {enabled: true}
            other:
              componentType: worker
              extraPodSpec: {mainContainer: {resources: {limits: {amd.com/gpu: 1000m}}}}
              gpuMemoryService: {enabled: true}
        ```
    """
    if enabled(at.value["gpuMemoryService"]):
        yield from _too_few(at, gpu_count(at.value))


@gms_requires_gpu.in_1_2(
    "Q-12",
    "Q-13",
    "G-11",
    because="GPUs are counted as in reconciliation: any vendor's, from the main container too, as quantities",
)
def gms_requires_gpu_in_1_2(at: At) -> Hits:
    """Only plain digits of `resources.limits.gpu` or `resources.requests.gpu` count."""
    if enabled(at.value["gpuMemoryService"]):
        yield from _too_few(at, gpu_count_1_2(at.value))


def _too_few(at: At, gpus: Gpus) -> Hits:
    if gpus.number is None or gpus.number < 1:
        seen = f'got "{gpus.seen}"' if gpus.seen else "got none"
        text = words("must have at least one whole GPU to share in {resources.limits.gpu}, {seen}", seen=seen)
        yield at.forbidden("gpuMemoryService", text)
