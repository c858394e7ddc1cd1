"""Volumes of a service."""

from typing import Final

from ...api.quantity import is_zero
from ..at import At, Findings
from ..review import Fields
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule


@rule("DYN204", where=COMPONENT_V1ALPHA1, when="sharedMemory", stage=Stage.COMPONENT)
def shm_size_required(at: At) -> Findings:
    """Shared memory is configured, but has no size.

    Why
        The block replaces the default volume of 8Gi, so it needs a size.

    Fix
        Set `sharedMemory.size`, set `disabled: true` for no volume at all, or leave the block out.

    Example
         spec:
           services:
        -    worker:
        -      componentType: worker
        -      sharedMemory: {}  # expect
        -    other:
        -      componentType: worker
        -      sharedMemory:
        -        size: 0Gi  # expect
        +    worker: {componentType: worker, sharedMemory: {size: 16Gi}}
        +    frontend: {componentType: frontend, sharedMemory: {disabled: true}}
    """
    memory = at.value["sharedMemory"]
    if not memory.get("disabled"):
        size = memory.get("size")
        if size is None or is_zero(size):
            seen = "nothing" if size is None else size
            yield at.required("sharedMemory.size", f"must be more than zero unless disabled is true, got {seen}")


_NOTHING: Final = "must name a directory unless useAsCompilationCache is true, got nothing"


@rule("DYN203", where=COMPONENT_V1ALPHA1, when="volumeMounts", stage=Stage.COMPONENT)
def volume_mount_point_required(at: At) -> Findings:
    """A volume mount has no path.

    Why
        Only the compilation cache has a default path. Every other mount needs its path in the container.

    Fix
        Set `mountPoint`, or set `useAsCompilationCache` if the mount is the cache.

    Example
         {worker service}
               volumeMounts:
                 - {name: models, mountPoint: /models}
        -        - {name: data}  # expect
        -        - {name: more, mountPoint: ""}  # expect
        +        - {name: kernels, useAsCompilationCache: true}
    """
    mounts: list[Fields | None] = at.value["volumeMounts"]
    for index, mount in enumerate(mounts):
        if not mount or not (mount.get("mountPoint") or mount.get("useAsCompilationCache")):
            yield at.required(("volumeMounts", index, "mountPoint"), _NOTHING)


@differs("1.2 silently ignores a second flagged mount", lacking=True)
@rule("DYN909", where=COMPONENT_V1ALPHA1, when="volumeMounts.useAsCompilationCache=true", stage=Stage.ADVICE)
def warn_compilation_cache_first_only(at: At) -> Findings:
    """A component flags several mounts as its compilation cache.

    Why
        An engine has one cache; only the first flagged mount is used.

    Fix
        Keep the flag `useAsCompilationCache` on one mount, and give the others a `mountPoint`.

    Example
         {worker service}
               volumeMounts:
                 - {name: kernels, mountPoint: /kernels, useAsCompilationCache: true}
        -        - {name: more, mountPoint: /more, useAsCompilationCache: true}  # expect
        +        - {name: models, mountPoint: /models}
    """
    flagged = [index for index, mount in enumerate(at.value["volumeMounts"]) if mount and mount.get("useAsCompilationCache")]
    for index in flagged[1:]:
        text = f"is ignored: only the first, volumeMounts[{flagged[0]}], is the cache"
        yield at.warning(("volumeMounts", index, "useAsCompilationCache"), text)
