"""DYN909: several compilation caches in one component."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule


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
        text = f"is ignored: only the first, volumeMounts[{flagged[0]}], is the cache"
        yield at.warning(("volumeMounts", index, "useAsCompilationCache"), text)
