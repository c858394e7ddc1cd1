"""DYN705: a number of standby engines that changes later."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import interpod_failover
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE, Fields
from dynamo_webhooks.policies.rule import COMPONENT, SERVICES, Hits, rule


@rule("DYN705", where=COMPONENT, when="failover", on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def failover_shadows_immutable(at: At) -> Hits:
    """The number of standby engines changes after creation.

    Why
        Standby engines in pods of their own belong to the set of pods that is made once. An absent number is 1.

    Fix
        Put the old `numShadows` back, or create another graph with the new one; a component that stands alone can be created
        under another name.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod, numShadows: 1}
        --- # becomes
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover:
                enabled: true
                mode: interPod
                numShadows: 2  # expect
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
              failover: {enabled: true, mode: interPod, numShadows: 2}
        --- # becomes
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              replicas: 2
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod, numShadows: 2}
        ```
    """
    yield from _changed(at, absent=1)


@failover_shadows_immutable.in_1_2(
    "Q-09",
    because="an absent number equals 1; standalone components are judged like those of graphs",
    where=SERVICES,
)
def failover_shadows_immutable_in_1_2(at: At) -> Hits:
    """Numbers are compared as they stand, absent as 0, and only in services of a graph."""
    yield from _changed(at, absent=0)


def _changed(at: At, *, absent: int) -> Hits:
    if at.old is None or not interpod_failover(at.value) or not interpod_failover(at.old):
        return
    now, before = _shadows(at.value, absent), _shadows(at.old, absent)
    if now != before:
        yield at.immutable("failover.numShadows", f"must stay {before} after creation, got {now}", value=now)


def _shadows(component: Fields, absent: int) -> int:
    found = component["failover"].get("numShadows")
    return absent if found is None else int(found)
