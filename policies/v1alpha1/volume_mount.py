"""Volume mounts, whose directory the schema of v1beta1 requires."""

from typing import Final

from ..at import At
from ..rule import COMPONENT_V1ALPHA1, Hits, Stage, rule

_NOTHING: Final = "must name a directory unless useAsCompilationCache is true, got nothing"


@rule("DYN203", where=COMPONENT_V1ALPHA1, when="volumeMounts", stage=Stage.COMPONENT)
def volume_mount_point_required(at: At) -> Hits:
    """A volume mount says no directory.

    Why
        Only the compilation cache has a default path. Every other claim needs its path in the container.

    Fix
        Set `mountPoint`, or flag the mount with `useAsCompilationCache` if it is the cache.

    Example
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: models, mountPoint: /models}
    bad         - {name: data}  # expect
    bad         - {name: more, mountPoint: ""}  # expect
    ok          - {name: kernels, useAsCompilationCache: true}
    """
    for index, entry in enumerate(at.value["volumeMounts"]):
        mount = entry or {}
        if not mount.get("mountPoint") and not mount.get("useAsCompilationCache"):
            yield at.required(("volumeMounts", index, "mountPoint"), _NOTHING)
