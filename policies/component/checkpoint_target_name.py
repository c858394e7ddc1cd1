"""DYN403: a checkpoint of a container that can't exist."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import LABEL_WANTED, is_label
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN403", where=COMPONENT, when="checkpoint", stage=Stage.CHECKPOINT)
def checkpoint_target_name(at: At) -> Hits:
    """A checkpoint's target has a name that no container can have.

    Why
        The state of one container is kept, and names of containers are DNS labels. Any other text finds nothing. It is looked at while the
        checkpoint is switched off too, as the schema does.

    Fix
        Write the name of a container of the pod, or leave the field out for `main`.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              checkpoint: {targetContainerName: Main}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              checkpoint: {targetContainerName: main}
        ```
    """
    name = at.value["checkpoint"].get("targetContainerName")
    if name and not is_label(name):
        text = f'{LABEL_WANTED}, got "{name}"'
        yield at.invalid("checkpoint.targetContainerName", name, text)
