"""DYN208: shared memory of a negative size."""

from dynamo_webhooks.api.quantity import parse
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule


@rule(
    "DYN208",
    where=COMPONENT,
    when="sharedMemory",
    stage=Stage.COMPONENT,
    current_only=Difference(("G-06",), "Kubernetes refuses the pod later"),
)
def shm_size_negative(at: At) -> Hits:
    """Shared memory has a negative size.

    Why
        Kubernetes refuses a pod with such a volume, so the component would never start. The schema of v1alpha1 knows that; an object
        written as v1beta1 gets past it.

    Fix
        Write a positive size, such as 16Gi.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              sharedMemory: {size: -1Gi}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker: {componentType: worker, sharedMemory: {size: 1Gi}}
        ```
    """
    memory = at.value["sharedMemory"]
    size = memory.get("size")
    if size is not None and not memory.get("disabled") and parse(size) < 0:
        yield at.invalid("sharedMemory.size", size, f"must be more than zero, got {size}")
