"""DYN909: several compilation caches in one component."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule
from dynamo_webhooks.policies.words import Words

_ONE: Final = "is the only cache: another mount that v1alpha1 flags is ignored"


@rule(
    "DYN909",
    where=COMPONENT,
    when="volumeMounts",
    level=Level.WARNING,
    stage=Stage.ADVICE,
    current_only=Difference(("G-10",), "1.2 silently ignores a second flagged mount"),
)
def warn_compilation_cache_first_only(at: At) -> Hits:
    """A component flags several mounts as its compilation cache.

    Why
        An engine has one cache, and only the first flagged mount is made that.

    Fix
        Keep the flag `useAsCompilationCache` on one mount, and give the others a `mountPoint`.

    Fix in v1beta1
        Use v1alpha1 to take the flag from every mount but one; `compilationCache` shows the first alone.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: kernels, mountPoint: /kernels, useAsCompilationCache: true}
                - {name: more, mountPoint: /more, useAsCompilationCache: true}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: kernels, mountPoint: /kernels, useAsCompilationCache: true}
                - {name: models, mountPoint: /models}
        ```
    """
    mounts = at.value["volumeMounts"]
    if len(mounts) < 2:
        return
    flagged = [index for index, mount in enumerate(mounts) if mount and mount.get("useAsCompilationCache")]
    for index in flagged[1:]:
        text = Words(f"is ignored: only the first, volumeMounts[{flagged[0]}], is the cache", _ONE)
        yield at.warning(("volumeMounts", index, "useAsCompilationCache"), text)
