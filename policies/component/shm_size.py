"""The size of shared memory."""

from ...api.quantity import parse
from ..at import At
from ..rule import COMPONENT, Difference, Hits, Stage, rule


@rule(
    "DYN208",
    where=COMPONENT,
    when="sharedMemorySize",
    stage=Stage.COMPONENT,
    differs=Difference(("G-06",), "Kubernetes refuses the pod later", lacking=True),
)
def shm_size_negative(at: At) -> Hits:
    """Shared memory has a negative size.

    Why
        Kubernetes refuses a pod with such a volume, so the component would never start. The schema of v1alpha1 knows that; an object
        written as v1beta1 gets past it.

    Fix
        Write a positive size, such as 16Gi.

    Example
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       sharedMemorySize: -1Gi  # expect
    ok  spec: {components: [{name: worker, type: worker, sharedMemorySize: 1Gi}]}
    """
    size = at.value["sharedMemorySize"]
    if parse(size) < 0:
        yield at.invalid("sharedMemorySize", size, f"must be more than zero, got {size}")
