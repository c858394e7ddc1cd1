"""The size of shared memory: v1beta1 has one field for it, in which 0 is no volume."""

from ...api.quantity import is_zero
from ..at import At
from ..rule import COMPONENT_V1ALPHA1, Hits, Stage, rule


@rule("DYN204", where=COMPONENT_V1ALPHA1, when="sharedMemory", stage=Stage.COMPONENT)
def shm_size_required(at: At) -> Hits:
    """Shared memory is configured, but has no size.

    Why
        The block replaces the usual volume of 8Gi. Without a size it looks like a mistake; set `disabled` to have no volume.

    Fix
        Set `sharedMemory.size`, set `disabled: true` for no volume at all, or leave the block out.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       sharedMemory: {}  # expect
    bad     other:
    bad       componentType: worker
    bad       sharedMemory:
    bad         size: 0Gi  # expect
    ok      worker: {componentType: worker, sharedMemory: {size: 16Gi}}
    ok      frontend: {componentType: frontend, sharedMemory: {disabled: true}}
    """
    memory = at.value["sharedMemory"]
    if not memory.get("disabled"):
        size = memory.get("size")
        if size is None or is_zero(size):
            seen = "nothing" if size is None else size
            yield at.required("sharedMemory.size", f"must be more than zero unless disabled is true, got {seen}")
