"""DYN347: inter-pod failover on a number of GPUs that is none."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import interpod_without_gms
from dynamo_webhooks.policies.gpu import Gpus, gpu_count, gpu_count_1_2
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN347", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_interpod_gpu_invalid(at: At) -> Hits:
    """Inter-pod failover is on, and the number of GPUs is no whole number.

    Why
        Engines and weight servers claim the same GPUs by their number. Half a GPU can't be claimed. Where the GPU memory service is on, its
        own rule says so.

    Fix
        Write the number of GPUs as a whole number.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources:
                requests:
                  gpu: "1.5"  # expect
              failover: {enabled: true, mode: interPod, numShadows: 1}  # expect: failover-interpod-requires-gms
        ```

    Good
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {requests: {gpu: "2"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod, numShadows: 1}
        ```
    """
    if interpod_without_gms(at.value):
        yield from _unreadable(at, gpu_count(at.value))


@failover_interpod_gpu_invalid.in_1_2(
    "Q-12",
    "Q-13",
    because="GPUs are counted as in reconciliation, and a wrong number is reported at its field",
)
def failover_interpod_gpu_invalid_in_1_2(at: At) -> Hits:
    """Only plain digits pass, and the limit is blamed whatever was read."""
    if interpod_without_gms(at.value):
        yield from _unreadable(at, gpu_count_1_2(at.value))


def _unreadable(at: At, gpus: Gpus) -> Hits:
    if gpus.number is None:
        yield at.invalid(gpus.path, gpus.seen, f'must be a whole number of GPUs, got "{gpus.seen}"')
