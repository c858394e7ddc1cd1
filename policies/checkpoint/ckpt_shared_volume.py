"""DYN424: a checkpoint job whose pod lacks the socket volume."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.checkpoint._wiring import BY_AUTHOR, VOLUME, named, pod
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CHECKPOINT, Hits, rule


@rule("DYN424", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_shared_volume(at: At) -> Hits:
    """The pod of a checkpoint with a GPU memory service has no volume for the server's sockets.

    Why
        Engine and memory server speak through sockets in a volume that both mount. The GPU memory service of a checkpoint only
        describes the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Add an emptyDir volume named gms-intrapod-control to the pod.

    Bad
        ```yaml
        # facts: {allowGmsSnapshot: true}
        spec:
          gpuMemoryService: {enabled: true}  # expect
          job:
            podTemplateSpec:
              spec:
                resourceClaims: [{name: intrapod-shared-gpu, resourceClaimTemplateName: gpus}]
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
    if enabled(at.value["gpuMemoryService"]) and VOLUME not in named(pod(at.value).get("volumes")):
        text = f'must be prepared in the pod template: volumes has no entry named "{VOLUME}"'
        yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")
