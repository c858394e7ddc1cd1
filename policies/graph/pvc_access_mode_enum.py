"""DYN127: access modes that Kubernetes doesn't have."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import CLAIMS, Difference, Hits, rule

_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT: Final = {"RWO": _MODES[0], "ROX": _MODES[1], "RWX": _MODES[2], "RWOP": _MODES[3]}


@rule(
    "DYN127",
    where=CLAIMS,
    when="volumeAccessMode",
    stage=Stage.STORAGE,
    current_only=Difference(("G-07",), "the API server would refuse the claim"),
)
def pvc_access_mode_enum(at: At) -> Hits:
    """A claim is to be created with an access mode that doesn't exist.

    Why
        Kubernetes knows four access modes and refuses a claim with any other, long after the graph was accepted.

    Fix
        Write one of the four modes as Kubernetes spells them; short forms such as `RWX` are not understood.

    Bad
        ```yaml
        spec:
          pvcs:
            - name: models
              create: true
              storageClass: shared
              size: 100Gi
              volumeAccessMode: RWX  # expect
        ```

    Good
        ```yaml
        spec:
          pvcs:
            - {name: models, create: true, storageClass: shared, size: 100Gi, volumeAccessMode: ReadWriteMany}
        ```
    """
    mode = at.value["volumeAccessMode"]
    if at.value.get("create") and mode and mode not in _MODES:
        meant = _SHORT.get(mode.upper())
        fix, mend = (f"write {meant}", Mend(meant)) if meant else ("", None)
        yield at.not_supported("volumeAccessMode", mode, _MODES, fix=fix, mend=mend)
