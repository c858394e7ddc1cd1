"""DYN211: a compilation cache whose place is not known."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule


@rule(
    "DYN211",
    where=COMPONENT,
    when="volumeMounts",
    stage=Stage.COMPONENT,
    current_only=Difference(("G-10",), "only vLLM has a default directory; for other engines the operator fails later"),
)
def compilation_cache_mount_required(at: At) -> Hits:
    """The compilation cache says no directory, and the engine has no usual one.

    Why
        vLLM's cache goes to a known directory when none is given. For any other engine the operator can't tell where to mount the claim
        and stops with an error. Only the first flagged mount is the cache.

    Fix
        Set `{mountPoint}` to the directory in which the engine keeps compiled kernels.

    Bad
        ```yaml
        spec:
          backendFramework: sglang
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: kernels, useAsCompilationCache: true}  # expect
        ```

    Good
        ```yaml
        spec:
          backendFramework: sglang
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: kernels, mountPoint: /root/.cache/sglang, useAsCompilationCache: true}
        ```
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: kernels, useAsCompilationCache: true}
        ```
    """
    backend = at.review.spec.get("backendFramework")
    if backend in (None, "", "vllm"):
        return
    for index, mount in enumerate(at.value["volumeMounts"]):
        if mount and mount.get("useAsCompilationCache"):
            if not mount.get("mountPoint"):
                text = f'must name the directory of the compilation cache for backendFramework "{said(backend)}", got nothing'
                yield at.required(("volumeMounts", index, "mountPoint"), text)
            return
