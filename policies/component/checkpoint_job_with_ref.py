"""DYN401: a job for a checkpoint that exists."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN401", where=COMPONENT, when="checkpoint", stage=Stage.CHECKPOINT)
def checkpoint_job_with_ref(at: At) -> Hits:
    """A checkpoint names an existing one, and how to make one.

    Why
        `job` changes the job that makes a checkpoint. With `checkpointRef` none is made, so the changes would have no effect. It is looked
        at while the checkpoint is switched off too, as the schema does.

    Fix
        Remove `job` or `checkpointRef`.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              checkpoint:
                checkpointRef: warm
                job: {}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              checkpoint: {enabled: true, checkpointRef: warm}
        ```
    """
    checkpoint = at.value["checkpoint"]
    ref = checkpoint.get("checkpointRef")
    if checkpoint.get("job") is not None and ref:
        yield at.forbidden("checkpoint.job", f'must not be set beside checkpointRef "{ref}": no checkpoint is made then')
