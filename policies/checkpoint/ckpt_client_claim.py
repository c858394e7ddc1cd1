"""DYN425: a container that doesn't claim the shared GPUs."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.checkpoint._wiring import BY_AUTHOR, CLAIM, claims_gpus, clients
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CHECKPOINT, Hits, rule


@rule("DYN425", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_claim(at: At) -> Hits:
    """A container of a checkpoint with a GPU memory service doesn't claim the shared GPUs.

    Why
        The claim of the pod reaches only those containers that name it. The GPU memory service of a checkpoint only describes
        the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Add `claims: [{name: intrapod-shared-gpu}]` to the container's `resources`.

    Bad
        ```yaml
        # facts: {allowGmsSnapshot: true}
        spec:
          gpuMemoryService: {enabled: true}  # expect
          job:
            podTemplateSpec:
              spec:
                resourceClaims: [{name: intrapod-shared-gpu, resourceClaimTemplateName: gpus}]
                volumes: [{name: gms-intrapod-control, emptyDir: {}}]
                initContainers:
                  - name: gms-server
                    restartPolicy: Always
                    resources: {claims: [{name: intrapod-shared-gpu}]}
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
                containers:
                  - name: main
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
        ```
        The server itself, and every extra client, needs the same.
        ```yaml
        # facts: {allowGmsSnapshot: true}
        spec:
          gpuMemoryService: {enabled: true}  # expect
          job:
            podTemplateSpec:
              spec:
                resourceClaims: [{name: intrapod-shared-gpu, resourceClaimTemplateName: gpus}]
                volumes: [{name: gms-intrapod-control, emptyDir: {}}]
                initContainers:
                  - name: gms-server
                    restartPolicy: Always
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
                containers:
                  - name: main
                    resources: {claims: [{name: intrapod-shared-gpu}]}
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
        ```

    Good
        ```yaml
        # facts: {allowGmsSnapshot: true}
        spec:
          gpuMemoryService: {enabled: true}
          job:
            podTemplateSpec:
              spec:
                resourceClaims: [{name: intrapod-shared-gpu, resourceClaimTemplateName: gpus}]
                volumes: [{name: gms-intrapod-control, emptyDir: {}}]
                initContainers:
                  - name: gms-server
                    restartPolicy: Always
                    resources: {claims: [{name: intrapod-shared-gpu}]}
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
                containers:
                  - name: main
                    resources: {claims: [{name: intrapod-shared-gpu}]}
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
        ```
    """
    if not enabled(at.value["gpuMemoryService"]):
        return
    for name, container in clients(at.value):
        if not claims_gpus(container):
            text = f'must be prepared in the pod template: container "{name}": resources.claims has no entry named "{CLAIM}"'
            yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")
