"""DYN217: a power limit for GPUs that are shared or claimed."""

from collections.abc import Iterator

from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import POWER_LIMIT, enabled, power_limit
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import Fields
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule


@rule("DYN217", where=SERVICES, when="extraPodMetadata", stage=Stage.COMPONENT, since="1.5")
def power_limit_without_dra(at: At) -> Hits:
    """A component has a power limit, and GPUs that are allocated by claims.

    Why
        Limits are planned for GPUs that a container asks for by number. What a claim allocates (DRA), as a GPU memory service does, is not
        known to the planner.

    Fix
        Remove the annotation `dynamo.nvidia.com/gpu-power-limit`, or the claims and the GPU memory service.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
              gpuMemoryService: {enabled: true}  # expect
        ```
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
              extraPodSpec:
                resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
                mainContainer:
                  image: "example/vllm:1.5.0"
                  resources:
                    claims: [{name: gpus}]  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              extraPodMetadata: {annotations: {dynamo.nvidia.com/gpu-power-limit: "300"}}
        ```
    """
    if power_limit(at.value) is None:
        return
    text = f"must not be there together with the annotation {POWER_LIMIT}"
    if enabled(at.value.get("gpuMemoryService")):
        yield at.forbidden("gpuMemoryService", text)
    for path in _claims(at.value):
        yield at.forbidden(path, text)


def _claims(component: Fields) -> Iterator[Path]:
    """Where containers claim devices: those of the main container, and of each other one."""
    if (component.get("resources") or {}).get("claims"):
        yield "resources", "claims"
    pod = component.get("extraPodSpec") or {}
    if _claimed(pod.get("mainContainer")):
        yield "extraPodSpec", "mainContainer", "resources", "claims"
    for part in ("containers", "initContainers"):
        for index, container in enumerate(pod.get(part) or ()):
            if _claimed(container):
                yield "extraPodSpec", part, index, "resources", "claims"


def _claimed(container: Fields | None) -> bool:
    return bool(((container or {}).get("resources") or {}).get("claims"))
