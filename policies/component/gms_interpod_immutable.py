"""DYN703: a GPU memory service that moves into pods of its own, or out of them."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import switched
from dynamo_webhooks.policies.domain import interpod_gms
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import COMPONENT, SERVICES, Hits, rule


@rule("DYN703", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def gms_interpod_immutable(at: At) -> Hits:
    """The GPU memory service moves into pods of its own, or out of them.

    Why
        In mode interPod weights live in pods beside the engines, with claims that all of them share; that set of pods is made once.
        Inside the pod (intraPod) the memory service may be switched on and off freely.

    Fix
        Put the old layout back, or create another graph with the new one; a component that stands alone can be created under another name.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services: {worker: {componentType: worker, resources: {limits: {gpu: "1"}}}}
        --- # becomes
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService:
                enabled: true
                mode: interPod  # expect
        ```

    Good
        ```yaml
        spec: {services: {worker: {componentType: worker, resources: {limits: {gpu: "1"}}}}}
        --- # becomes
        spec:
          services:
            worker: {componentType: worker, resources: {limits: {gpu: "1"}}, gpuMemoryService: {enabled: true, mode: intraPod}}
        ```
    """
    if at.old is not None and interpod_gms(at.value) != interpod_gms(at.old):
        text = switched(interpod_gms(at.value))
        yield at.immutable("gpuMemoryService.mode", text, value=at.get("gpuMemoryService.mode"))


gms_interpod_immutable_in_1_2 = gms_interpod_immutable.same_in_1_2("Q-09", because="as for components of graphs", where=SERVICES)
