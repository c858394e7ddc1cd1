"""DYN344: inter-pod failover without shared GPUs."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled, interpod_failover
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN344", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_interpod_requires_gms(at: At) -> Hits:
    """Inter-pod failover has no GPU memory service to share weights through.

    Why
        Standby engines use the GPUs of the active one. The memory service holds the one copy of the weights that all of them map.

    Fix
        Enable `{gpuMemoryService}` with mode {interPod}, or switch failover off.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              failover: {enabled: true, mode: interPod, numShadows: 1}  # expect
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
    gms = at.value.get("gpuMemoryService")
    if interpod_failover(at.value) and not enabled(gms):
        seen = "absent" if gms is None else "switched off"
        text = words("must not be enabled in mode {interPod} without {gpuMemoryService}, which is {seen}", seen=seen)
        yield at.forbidden("failover", text)
