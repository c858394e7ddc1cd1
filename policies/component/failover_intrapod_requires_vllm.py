"""DYN351: intra-pod failover of an engine that can't stand by."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import intrapod
from dynamo_webhooks.policies.domain import said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule
from dynamo_webhooks.policies.words import words


@rule(
    "DYN351",
    where=COMPONENT,
    when="failover",
    stage=Stage.FAILOVER,
    current_only=Difference(("G-05",), "reconciliation refuses every engine but vLLM"),
)
def failover_intrapod_requires_vllm(at: At) -> Hits:
    """Intra-pod failover is on, but the engine is not vLLM.

    Why
        A standby engine waits for a file lock beside the active one. Only vLLM can do that; for other engines the operator stops with an
        error. A framework that isn't written down is found out later, from the command.

    Fix
        Set `backendFramework` to vllm if that is what runs, or switch failover off.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          backendFramework: sglang
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              failover: {enabled: true}  # expect
        ```
        ```yaml
        # kind: DynamoComponentDeployment/v1alpha1
        spec:
          backendFramework: trtllm
          componentType: worker
          resources: {limits: {gpu: "1"}}
          gpuMemoryService: {enabled: true}
          failover: {enabled: true, mode: intraPod}  # expect
        ```

    Good
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              failover: {enabled: true}
        ```
    """
    backend = at.review.spec.get("backendFramework")
    if backend not in (None, "", "vllm") and intrapod(at.value):
        text = words('must not be enabled in mode {intraPod} for backendFramework "{seen}": only vllm can stand by', seen=said(backend))
        yield at.forbidden("failover", text)
