"""DYN307: a GPU memory service where GPUs can't be claimed."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled, lacking
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule


@rule(
    "DYN307",
    where=COMPONENT,
    when="gpuMemoryService",
    stage=Stage.GMS,
    needs=("dra",),
    current_only=Difference(("G-01",), "without DRA the operator fails the component"),
)
def gms_requires_dra(at: At) -> Hits:
    """A GPU memory service needs a claim, but there is no dynamic resource allocation.

    Why
        Containers share a GPU through a ResourceClaim of `resource.k8s.io/v1`. In a cluster that doesn't serve it, or with an operator that
        is told not to use it, the component fails when it is reconciled.

    Fix
        Switch dynamic resource allocation on in cluster and operator, or switch the service off.

    Bad
        ```yaml
        # facts: {dra: false}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
        ```
    """
    if enabled(at.value["gpuMemoryService"]) and not at.fact("dra"):
        reason = lacking(at, "dra", "dynamic resource allocation (resource.k8s.io/v1)")
        yield at.forbidden("gpuMemoryService", f"must not be enabled here, since GPUs are shared by a claim: {reason}")
