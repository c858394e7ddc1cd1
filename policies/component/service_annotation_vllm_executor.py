"""DYN206: the annotation of one component that chooses how vLLM spreads over nodes."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import EXECUTORS, VLLM_EXECUTOR
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN206", where=COMPONENT, when="annotations", stage=Stage.COMPONENT)
def service_annotation_vllm_executor(at: At) -> Hits:
    """A component's vLLM executor annotation names no executor.

    Why
        Multi-node vLLM is started either by its own multiprocessing or by Ray. Any other word would quietly fall back to a default.

    Fix
        Write `mp` or `ray`, or remove the annotation.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              annotations: {nvidia.com/vllm-distributed-executor-backend: dask}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              annotations: {nvidia.com/vllm-distributed-executor-backend: Ray}
        ```
    """
    value = at.value["annotations"].get(VLLM_EXECUTOR)
    if value is not None and value.lower() not in EXECUTORS:
        yield at.not_supported(("annotations", Key(VLLM_EXECUTOR)), value, EXECUTORS)


@service_annotation_vllm_executor.in_1_2("Q-04", because="a null annotation counts as absent")
def service_annotation_vllm_executor_in_1_2(at: At) -> Hits:
    """A null reads as an empty text there."""
    annotations = at.value["annotations"]
    if VLLM_EXECUTOR in annotations and (annotations[VLLM_EXECUTOR] or "").lower() not in EXECUTORS:
        yield at.not_supported(("annotations", Key(VLLM_EXECUTOR)), annotations[VLLM_EXECUTOR] or "", EXECUTORS)
