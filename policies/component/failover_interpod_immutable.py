"""DYN704: inter-pod failover that is switched on or off later."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import switched
from dynamo_webhooks.policies.domain import interpod_failover
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import COMPONENT, SERVICES, Hits, rule


@rule("DYN704", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def failover_interpod_immutable(at: At) -> Hits:
    """Inter-pod failover is switched on or off after creation.

    Why
        Standby engines in pods of their own belong to the set of pods that is made once, when the component is created.

    Fix
        Put the old `{failover}` block back, or create another graph with the new one; a component that stands alone can be created
        under another name.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker: {componentType: worker, resources: {limits: {gpu: "1"}}, gpuMemoryService: {enabled: true, mode: interPod}}
        --- # becomes
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
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
        --- # becomes
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              replicas: 2
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod, numShadows: 1}
        ```
    """
    if at.old is not None and interpod_failover(at.value) != interpod_failover(at.old):
        yield at.immutable("failover", switched(interpod_failover(at.value)))


failover_interpod_immutable_in_1_2 = failover_interpod_immutable.same_in_1_2("Q-09", because="as for components of graphs", where=SERVICES)
