"""The compilation cache and the shared memory of a component."""

from ...api.quantity import parse
from ..at import At, Findings
from ..rule import COMPONENT, Stage, differs, rule
from ..words import quote_once


@differs("only vLLM has a default directory; for other engines the operator fails later", lacking=True)
@rule("DYN211", where=COMPONENT, when="compilationCache", stage=Stage.COMPONENT)
def compilation_cache_mount_required(at: At) -> Findings:
    """`compilationCache.mountPath` is missing, and this engine has no default.

    Why
        For vLLM, the cache has a default path. For any other engine, the operator doesn't know where to mount the claim, and fails. Only
        the first flagged mount is the cache.

    Fix
        Set `{mountPoint}` to the directory in which the engine stores compiled kernels.

    Example
         spec:
           backendFramework: sglang
           {worker component}
        -      compilationCache: {pvcName: kernels}  # expect
        +      compilationCache: {pvcName: kernels, mountPath: /root/.cache/sglang}

        +spec: {backendFramework: vllm, components: [{name: worker, type: worker, compilationCache: {pvcName: kernels}}]}
    """
    backend = at.review.spec.get("backendFramework")
    if backend in (None, "", "vllm"):
        return
    if not at.value["compilationCache"].get("mountPath"):
        text = f'must name the directory of the compilation cache for backendFramework "{quote_once(backend)}", got nothing'
        yield at.required("compilationCache.mountPath", text)


@differs("Kubernetes refuses the pod later", lacking=True)
@rule("DYN208", where=COMPONENT, when="sharedMemorySize", stage=Stage.COMPONENT)
def shm_size_negative(at: At) -> Findings:
    """Shared memory has a negative size.

    Why
        Kubernetes refuses a pod with such a volume, so the component would never start. Only the schema of v1alpha1 checks this, not that
        of v1beta1.

    Fix
        Write a positive size, such as 16Gi.

    Example
         {worker}
        -      sharedMemorySize: -1Gi  # expect
        +      sharedMemorySize: 1Gi
    """
    size = at.value["sharedMemorySize"]
    if parse(size) < 0:
        yield at.invalid("sharedMemorySize", size, f"must be more than zero, got {size}")
