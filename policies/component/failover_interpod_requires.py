"""What failover to standby engines in pods of their own needs."""

from ..at import At
from ..gpu import gpu_count
from ..rule import COMPONENT, Difference, Hits, Stage, rule
from ..words import format_words
from .failover import interpod_without_gms


@rule("DYN344", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_requires_gms(at: At) -> Hits:
    """Inter-pod failover has no GPU memory service to share weights through.

    Why
        Standby engines use the GPUs of the active one. The memory service holds the one copy of the weights that all of them map.

    Fix
        Enable `{gpuMemoryService}` with mode {interPod}, or switch failover off.

    Example
        spec:
          backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         failover: {mode: InterPod, numShadows: 1}  # expect
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if interpod_without_gms(at.value):
        yield at.forbidden("experimental.failover", format_words("must not be enabled in mode {interPod} without {gpuMemoryService}"))


@rule(
    "DYN348",
    where=COMPONENT,
    when="experimental",
    stage=Stage.FAILOVER,
    differs=Difference(("Q-12", "Q-13"), "GPUs are counted as in reconciliation: any vendor's, as quantities"),
)
def failover_interpod_requires_gpu(at: At) -> Hits:
    """Inter-pod failover is on, but the component asks for no GPU.

    Why
        Failover hands the GPUs of one engine to the next; without GPUs there is nothing to hand over. Where the GPU memory service is on,
        its own rule reports this.

    Fix
        Set {resources.limits.gpu} to the number of GPUs.

    Example
        spec:
    ok    backendFramework: vllm
          components:
            - name: worker  # expect
              type: worker
    bad       experimental:
    bad         failover: {mode: InterPod, numShadows: 1}  # expect: failover-interpod-requires-gms
    ok        podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if interpod_without_gms(at.value):
        gpus = gpu_count(at.value)
        if gpus.number is not None and gpus.number < 1:
            seen = f'got "{gpus.seen}"' if gpus.seen else "got none"
            text = format_words("must have at least one GPU in {resources.limits.gpu} for failover in mode {interPod}, {seen}", seen=seen)
            yield at.forbidden("", text)
