"""DYN404: clients of a GPU memory service that isn't there."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN404", where=COMPONENT, when="checkpoint", stage=Stage.CHECKPOINT)
def checkpoint_gms_clients_need_gms(at: At) -> Hits:
    """A checkpoint's job names clients of a GPU memory service that the component doesn't have.

    Why
        The named containers are wired to the service's sockets. Without the service they would wait for them. It is looked at while the
        checkpoint is switched off too, so that switching it on brings no surprises.

    Fix
        Enable `{gpuMemoryService}`, or remove `gmsClientContainers`.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              checkpoint:
                job:
                  gmsClientContainers: [saver]  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              checkpoint: {job: {gmsClientContainers: [saver]}}
        ```
    """
    gms = at.value.get("gpuMemoryService")
    if at.get("checkpoint.job.gmsClientContainers") and not enabled(gms):
        seen = "absent" if gms is None else "switched off"
        text = words("must be empty without {gpuMemoryService}, which is {seen}", seen=seen)
        yield at.forbidden("checkpoint.job.gmsClientContainers", text)
