"""DYN341: intra-pod failover beside a GPU memory service of another layout."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import EMPTY_MODE, intrapod, intrapod_1_2, one_mode
from dynamo_webhooks.policies.domain import INTRA_POD, enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import mode, words


@rule("DYN341", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_intrapod_mode_mismatch(at: At) -> Hits:
    """Intra-pod failover and the GPU memory service name different layouts.

    Why
        Both switches describe one pod layout: standby engines in the same pod can share GPUs only with a memory service in that pod.

    Fix
        Give both the same mode.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: intraPod}  # expect
        ```

    Good
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: intraPod}
              failover: {enabled: true, mode: intraPod}
        ```
    """
    if intrapod(at.value):
        yield from _other_mode(at)


@failover_intrapod_mode_mismatch.in_1_2("Q-10", because=EMPTY_MODE)
def failover_intrapod_mode_mismatch_in_1_2(at: At) -> Hits:
    """There an absent or empty mode escapes the rule."""
    if intrapod_1_2(at.value):
        yield from _other_mode(at)


def _other_mode(at: At) -> Hits:
    gms = at.value.get("gpuMemoryService")
    if enabled(gms) and gms.get("mode") not in (None, "", INTRA_POD):
        text = words('must have the mode of {gpuMemoryService}, "{wanted}", got "{intraPod}"', wanted=mode(gms["mode"]))
        yield at.invalid("failover", None, text, fix=one_mode(at))
