"""DYN402: a job where nobody makes a checkpoint."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import mode, words


@rule("DYN402", where=COMPONENT, when="checkpoint", stage=Stage.CHECKPOINT, until="1.5")
def checkpoint_job_auto_only(at: At) -> Hits:
    """A checkpoint that the operator doesn't make has settings of the job that makes it.

    Why
        Only in mode Auto the operator runs the job that `job` changes; otherwise somebody else makes the checkpoint in their own way. It is
        looked at while the checkpoint is switched off too, as the schema does.

    Fix
        Remove `job`, or set the mode to Auto.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              checkpoint:
                mode: Manual
                job: {}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              checkpoint: {mode: Auto, job: {}}
        ```
    """
    checkpoint = at.value["checkpoint"]
    seen = checkpoint.get("mode")
    if seen not in (None, "", "Auto") and checkpoint.get("job") is not None:
        text = words('must not be set unless {checkpoint}.mode is "Auto", got mode "{seen}"', seen=mode(seen))
        yield at.forbidden("checkpoint.job", text)
