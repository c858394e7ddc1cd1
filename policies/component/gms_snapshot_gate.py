"""DYN306: checkpoints of a GPU memory service, which must be allowed expressly."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CHECKPOINT, CHECKPOINT_KIND, COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN306", where={**COMPONENT, **CHECKPOINT}, when="gpuMemoryService", stage=Stage.SNAPSHOT, needs=("allowGmsSnapshot",), until="1.5")
def gms_snapshot_gate(at: At) -> Hits:
    """A checkpoint and a GPU memory service are combined, which the operator does not allow.

    Why
        A snapshot of a pod whose weights lie in shared GPU memory is experimental. The operator takes part only when it is told to with the
        environment variable `DYN_OPERATOR_ALLOW_GMS_SNAPSHOT=1`.

    Fix
        Switch off the checkpoint or the GPU memory service, or have the gate opened in the operator.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              checkpoint: {enabled: true, checkpointRef: c}  # expect
        ```
        ```yaml
        # kind: DynamoCheckpoint/v1alpha1
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
                    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
                    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
        ```

    Good
        ```yaml
        # facts: {allowGmsSnapshot: true}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              checkpoint: {enabled: true, checkpointRef: c}
        ```
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              checkpoint: {enabled: false}
        ```
    """
    if not enabled(at.value["gpuMemoryService"]):
        return
    of_component = at.review.kind != CHECKPOINT_KIND
    if of_component and not enabled(at.value.get("checkpoint")):
        return
    if not at.fact("allowGmsSnapshot"):
        other = words("{gpuMemoryService}") if of_component else "the checkpoint"
        text = words(
            "must not be enabled together with {other} unless the operator runs with DYN_OPERATOR_ALLOW_GMS_SNAPSHOT=1", other=other
        )
        yield at.forbidden("checkpoint" if of_component else "gpuMemoryService", text)
