"""DYN426: a container that doesn't mount the socket volume."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.checkpoint._wiring import BY_AUTHOR, SOCKETS, VOLUME, clients, mounts_sockets
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CHECKPOINT, Hits, rule


@rule("DYN426", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_mount(at: At) -> Hits:
    """A container of a checkpoint with a GPU memory service doesn't mount the server's sockets.

    Why
        Without the mount the container can't reach the memory server. The GPU memory service of a checkpoint only describes the
        pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Mount the volume gms-intrapod-control at /gms-intrapod-control in the container.

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
                    resources: {claims: [{name: intrapod-shared-gpu}]}
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
                    resources: {claims: [{name: intrapod-shared-gpu}]}
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
        if not mounts_sockets(container):
            text = f'must be prepared in the pod template: container "{name}": volumeMounts has no "{VOLUME}" at {SOCKETS}'
            yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")
