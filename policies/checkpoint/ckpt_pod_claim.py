"""DYN423: a checkpoint job whose pod doesn't claim the shared GPUs."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.checkpoint._wiring import BY_AUTHOR, CLAIM, named, pod
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CHECKPOINT, Hits, rule


@rule("DYN423", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_pod_claim(at: At) -> Hits:
    """The pod of a checkpoint with a GPU memory service has no claim for the shared GPUs.

    Why
        Engine and memory server reach the same GPUs through one claim of the pod. The GPU memory service of a checkpoint only
        describes the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Add an entry named intrapod-shared-gpu to `resourceClaims` of the pod, with the claim template of your GPUs.

    Bad
        ```yaml
        # facts: {allowGmsSnapshot: true}
        spec:
          gpuMemoryService: {enabled: true}  # expect
          job:
            podTemplateSpec:
              spec:
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
    if enabled(at.value["gpuMemoryService"]) and CLAIM not in named(pod(at.value).get("resourceClaims")):
        text = f'must be prepared in the pod template: resourceClaims has no entry named "{CLAIM}"'
        yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")
