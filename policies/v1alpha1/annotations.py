"""Annotations of a service."""

from ...api.paths import Key
from ..annotations import EXECUTORS, VLLM_EXECUTOR
from ..at import At, Findings
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule


@differs("a null annotation counts as absent")
@rule("DYN206", where=COMPONENT_V1ALPHA1, when="annotations", stage=Stage.COMPONENT)
def service_annotation_vllm_executor(at: At) -> Findings:
    """The component's annotation for vLLM's executor has an unknown value.

    Why
        Multi-node vLLM is started by its own multiprocessing or by Ray. Any other value would silently select a default.

    Fix
        Write `mp` or `ray`, or remove the annotation.

    Example
         {worker service}
        -      annotations: {nvidia.com/vllm-distributed-executor-backend: dask}  # expect
        +      annotations: {nvidia.com/vllm-distributed-executor-backend: Ray}
    """
    value = at.value["annotations"].get(VLLM_EXECUTOR)
    if value is not None and value.lower() not in EXECUTORS:
        yield at.not_supported(("annotations", Key(VLLM_EXECUTOR)), value, EXECUTORS)
