"""DYN345: inter-pod failover beside a GPU memory service of another layout."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import one_mode
from dynamo_webhooks.policies.domain import INTER_POD, enabled, interpod_failover
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import mode, words


@rule("DYN345", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_interpod_mode_mismatch(at: At) -> Hits:
    """Inter-pod failover and the GPU memory service name different layouts.

    Why
        Standby engines in pods of their own reach the weights only where the memory service has a pod of its own, too. A service without
        a mode is in the pod of the engine.

    Fix
        Give both the same mode.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
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
    if interpod_failover(at.value) and enabled(gms) and gms.get("mode") != INTER_POD:
        written = gms.get("mode")
        other = words('which is "{written}"', written=mode(written)) if written else "which is unset"
        text = words('must have the mode of {gpuMemoryService}, {other}, got "{interPod}"', other=other)
        yield at.invalid("failover", None, text, fix=one_mode(at))
