"""DYN428: a checkpoint job without a running memory server."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.checkpoint._wiring import BY_AUTHOR, SERVER, server
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CHECKPOINT, Hits, rule


@rule("DYN428", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_server_container(at: At) -> Hits:
    """The pod of a checkpoint with a GPU memory service doesn't run the server as a restartable init container.

    Why
        The server must be up before the engine starts and stay up beside it, which is what an init container with restartPolicy
        Always does. The GPU memory service of a checkpoint only describes the pod; the operator changes nothing in the pod
        template, so its author wires it.

    Fix
        Add an init container named gms-server with `restartPolicy: Always`.

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
                containers:
                  - name: main
                    resources: {claims: [{name: intrapod-shared-gpu}]}
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
        ```
        Without the restart policy the pod would wait for the server to end.
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
    if not enabled(at.value["gpuMemoryService"]):
        return
    found = server(at.value)
    if found is None:
        yield _absent(at)
    elif found.get("restartPolicy") != "Always":
        seen = f'"{found["restartPolicy"]}"' if found.get("restartPolicy") else "none"
        text = f'must be prepared in the pod template: init container "{SERVER}" must have the restartPolicy "Always", got {seen}'
        yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@ckpt_server_container.in_1_2("G-26", because="the job hangs: a server in a non-restartable init container never ends")
def ckpt_server_container_in_1_2(at: At) -> Hits:
    """Any init container of that name will do."""
    if enabled(at.value["gpuMemoryService"]) and server(at.value) is None:
        yield _absent(at)


def _absent(at: At) -> Finding:
    text = f'must be prepared in the pod template: no init container named "{SERVER}"'
    return at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")
