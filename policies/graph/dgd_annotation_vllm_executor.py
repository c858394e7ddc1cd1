"""DYN104: the annotation that chooses how vLLM spreads over nodes."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import EXECUTORS, VLLM_EXECUTOR
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH_ANNOTATIONS, Hits, rule


@rule("DYN104", where=GRAPH_ANNOTATIONS, when=VLLM_EXECUTOR, stage=Stage.METADATA)
def dgd_annotation_vllm_executor(at: At) -> Hits:
    """The graph's vLLM executor annotation names no executor.

    Why
        Multi-node vLLM is started either by its own multiprocessing or by Ray. Any other word would quietly fall back to a default.

    Fix
        Write `mp` or `ray` (case does not matter, blanks do), or remove the annotation.

    Bad
        ```yaml
        metadata:
          annotations:
            nvidia.com/vllm-distributed-executor-backend: "mp "  # expect
        ```

    Good
        ```yaml
        metadata:
          annotations:
            nvidia.com/vllm-distributed-executor-backend: Ray
        ```
    """
    value = at.value[VLLM_EXECUTOR]
    if value.lower() not in EXECUTORS:
        yield at.not_supported((Key(VLLM_EXECUTOR),), value, EXECUTORS)


@dgd_annotation_vllm_executor.in_1_2("Q-04", because="a null annotation counts as absent", when=())
def dgd_annotation_vllm_executor_in_1_2(at: At) -> Hits:
    """A null reads as an empty text there."""
    if VLLM_EXECUTOR in at.value and (at.value[VLLM_EXECUTOR] or "").lower() not in EXECUTORS:
        yield at.not_supported((Key(VLLM_EXECUTOR),), at.value[VLLM_EXECUTOR] or "", EXECUTORS)
