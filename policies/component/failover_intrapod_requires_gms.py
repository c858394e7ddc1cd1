"""DYN342: intra-pod failover without shared GPUs."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import EMPTY_MODE, intrapod, intrapod_1_2
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN342", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_intrapod_requires_gms(at: At) -> Hits:
    """Intra-pod failover has no GPU memory service to share weights through.

    Why
        Both engines of the pod use the same GPUs. Each alone would fill them with its weights; the memory service holds one copy for both.

    Fix
        Enable `{gpuMemoryService}` with mode {intraPod}, or switch failover off.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              failover: {enabled: true, mode: intraPod}  # expect
            other:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: false}
              failover: {enabled: true}  # expect
        ```

    Good
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              failover: {enabled: true}
        ```
    """
    if intrapod(at.value):
        yield from _without_gms(at)


@failover_intrapod_requires_gms.in_1_2("Q-10", because=EMPTY_MODE)
def failover_intrapod_requires_gms_in_1_2(at: At) -> Hits:
    """There an absent or empty mode escapes the rule."""
    if intrapod_1_2(at.value):
        yield from _without_gms(at)


def _without_gms(at: At) -> Hits:
    gms = at.value.get("gpuMemoryService")
    if not enabled(gms):
        seen = "absent" if gms is None else "switched off"
        text = words("must not be enabled in mode {intraPod} without {gpuMemoryService}, which is {seen}", seen=seen)
        yield at.forbidden("failover", text)
