"""DYN204: shared memory of no size."""

from dynamo_webhooks.api.quantity import is_zero
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import Words, words


@rule("DYN204", where=COMPONENT, when="sharedMemory", stage=Stage.COMPONENT)
def shm_size_required(at: At) -> Hits:
    """Shared memory is configured, but has no size.

    Why
        The block replaces the usual volume of 8Gi. Without a size it can't be told from a mistake; to have none there is `disabled`.

    Fix
        Set `sharedMemory.size`, set `disabled: true` for no volume at all, or leave the block out.

    Fix in v1beta1
        Set `sharedMemorySize`, set it to 0 for no volume at all, or leave the block out.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              sharedMemory: {}  # expect
            other:
              componentType: worker
              sharedMemory:
                size: 0Gi  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker: {componentType: worker, sharedMemory: {size: 16Gi}}
            frontend: {componentType: frontend, sharedMemory: {disabled: true}}
        ```
    """
    memory = at.value["sharedMemory"]
    if not memory.get("disabled"):
        size = memory.get("size")
        if size is None or is_zero(size):
            seen = "nothing" if size is None else size
            text = words("must be more than zero{unless}, got {seen}", unless=Words(" unless disabled is true", ""), seen=seen)
            yield at.required("sharedMemory.size", text)
