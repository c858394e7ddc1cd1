"""DYN348: inter-pod failover without GPUs."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import interpod_without_gms
from dynamo_webhooks.policies.gpu import Gpus, gpu_count, gpu_count_1_2
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN348", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_interpod_requires_gpu(at: At) -> Hits:
    """Inter-pod failover is on, but the component asks for no GPU.

    Why
        Failover hands the GPUs of one engine to the next; without GPUs there is nothing to hand over. Where the GPU memory service is on,
        its own rule says so.

    Fix
        Set `resources.limits.gpu` to the number of GPUs.

    Fix in v1beta1
        Set `resources.limits[nvidia.com/gpu]` of the main container to the number of GPUs.

    Bad
        ```yaml
        spec:
          services:
            worker:  # expect
              componentType: worker
              failover: {enabled: true, mode: interPod, numShadows: 1}  # expect: failover-interpod-requires-gms
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
              failover: {enabled: true, mode: interPod, numShadows: 1}
        ```
    """
    if interpod_without_gms(at.value):
        yield from _too_few(at, gpu_count(at.value))


@failover_interpod_requires_gpu.in_1_2(
    "Q-12",
    "Q-13",
    because="GPUs are counted as in reconciliation: any vendor's, as quantities",
)
def failover_interpod_requires_gpu_in_1_2(at: At) -> Hits:
    """Only `resources.limits.gpu` or `resources.requests.gpu` count."""
    if interpod_without_gms(at.value):
        yield from _too_few(at, gpu_count_1_2(at.value))


def _too_few(at: At, gpus: Gpus) -> Hits:
    if gpus.number is not None and gpus.number < 1:
        seen = f'got "{gpus.seen}"' if gpus.seen else "got none"
        text = words("must have at least one GPU in {resources.limits.gpu} for failover in mode {interPod}, {seen}", seen=seen)
        yield at.forbidden("", text)
