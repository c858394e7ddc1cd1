"""The compilation cache."""

from ..at import At
from ..domain import quote_once
from ..rule import COMPONENT, Difference, Hits, Stage, rule


@rule(
    "DYN211",
    where=COMPONENT,
    when="compilationCache",
    stage=Stage.COMPONENT,
    differs=Difference(("G-10",), "only vLLM has a default directory; for other engines the operator fails later", lacking=True),
)
def compilation_cache_mount_required(at: At) -> Hits:
    """The compilation cache says no directory, and the engine has no usual one.

    Why
        vLLM's cache goes to a known directory when none is given. For any other engine the operator doesn't know where to mount the claim
        and stops with an error. Only the first flagged mount is the cache.

    Fix
        Set `{mountPoint}` to the directory in which the engine keeps compiled kernels.

    Example
        spec:
          backendFramework: sglang
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       compilationCache: {pvcName: kernels}  # expect
    ok    components: [{name: worker, type: worker, compilationCache: {pvcName: kernels, mountPath: /root/.cache/sglang}}]

    ok  spec: {backendFramework: vllm, components: [{name: worker, type: worker, compilationCache: {pvcName: kernels}}]}
    """
    backend = at.review.spec.get("backendFramework")
    if backend in (None, "", "vllm"):
        return
    if not at.value["compilationCache"].get("mountPath"):
        text = f'must name the directory of the compilation cache for backendFramework "{quote_once(backend)}", got nothing'
        yield at.required("compilationCache.mountPath", text)
