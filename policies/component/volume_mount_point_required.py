"""DYN203: a volume that is mounted nowhere."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import Words

_NOTHING: Final = Words("must name a directory unless useAsCompilationCache is true, got nothing", "must name a directory, got nothing")


@rule("DYN203", where=COMPONENT, when="volumeMounts", stage=Stage.COMPONENT)
def volume_mount_point_required(at: At) -> Hits:
    """A volume mount says no directory.

    Why
        Only the compilation cache has a usual place. Every other claim must be told where it appears in the container.

    Fix
        Set `mountPoint`, or flag the mount with `useAsCompilationCache` if that is what it is.

    Fix in v1beta1
        Set `mountPath`.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: models, mountPoint: /models}
                - {name: data}  # expect
                - {name: more, mountPoint: ""}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: models, mountPoint: /models}
                - {name: kernels, useAsCompilationCache: true}
        ```
    """
    for index, entry in enumerate(at.value["volumeMounts"]):
        mount = entry or {}
        if not mount.get("mountPoint") and not mount.get("useAsCompilationCache"):
            yield at.required(("volumeMounts", index, "mountPoint"), _NOTHING)
