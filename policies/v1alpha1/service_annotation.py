"""Annotations of a component, which v1beta1 lacks."""

from ...api.paths import Key
from ..at import At
from ..domain import EXECUTORS, VLLM_EXECUTOR
from ..rule import COMPONENT_V1ALPHA1, Difference, Hits, Stage, rule


@rule(
    "DYN206",
    where=COMPONENT_V1ALPHA1,
    when="annotations",
    stage=Stage.COMPONENT,
    differs=Difference(("Q-04",), "a null annotation counts as absent"),
)
def service_annotation_vllm_executor(at: At) -> Hits:
    """A component's vLLM executor annotation names no executor.

    Why
        Multi-node vLLM is started either by its own multiprocessing or by Ray. Any other word would quietly fall back to a default.

    Fix
        Write `mp` or `ray`, or remove the annotation.

    Example
        spec:
          services:
            worker:
              componentType: worker
    bad       annotations: {nvidia.com/vllm-distributed-executor-backend: dask}  # expect
    ok        annotations: {nvidia.com/vllm-distributed-executor-backend: Ray}
    """
    value = at.value["annotations"].get(VLLM_EXECUTOR)
    if value is not None and value.lower() not in EXECUTORS:
        yield at.not_supported(("annotations", Key(VLLM_EXECUTOR)), value, EXECUTORS)
