"""DYN406: a client in a checkpoint's job whose name no container can have."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import LABEL_WANTED, is_label
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN406", where=COMPONENT, when="checkpoint", stage=Stage.CHECKPOINT)
def checkpoint_gms_client_name(at: At) -> Hits:
    """A client of the GPU memory service in a checkpoint's job has a name that no container can have.

    Why
        The entries are names of containers, which are DNS labels. One that is none can't be found in the job's pod. It is looked at while
        the checkpoint is switched off too, as the schema does.

    Fix
        Write the name of a container of the job: lower-case letters, digits and inner dashes, at most 63.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              checkpoint:
                job:
                  gmsClientContainers:
                    - saver
                    - Loader  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              checkpoint: {job: {gmsClientContainers: [saver, loader]}}
        ```
    """
    for index, name in enumerate(at.get("checkpoint.job.gmsClientContainers") or ()):
        if not is_label(name or ""):
            text = f'{LABEL_WANTED}, got "{name or ""}"'
            yield at.invalid(("checkpoint", "job", "gmsClientContainers", index), name, text)
