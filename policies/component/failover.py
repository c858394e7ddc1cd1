"""The mode and the standby engines of failover."""

from typing import Final

from ..at import At
from ..domain import INTRA_POD, interpod_failover, read_failover, read_gms
from ..review import UPDATE, Fields
from ..rule import COMPONENT, DGD, Difference, Hits, Stage, rule
from ..words import Words, format_words

EMPTY_MODE: Final = "failover without a mode is intra-pod, the schema's default"


def intrapod(at: At) -> bool:
    """Whether a component's standby engines run in the pod of the active one."""
    return is_intrapod(at.value)


def is_intrapod(component: Fields) -> bool:
    """As `intrapod`: also with an absent or empty mode."""
    failover = read_failover(component)
    return failover is not None and (failover.get("mode") or INTRA_POD) == INTRA_POD


def interpod_without_gms(component: Fields) -> bool:
    """Whether there is inter-pod failover and no GPU memory service, whose rules check GPUs and component types."""
    return interpod_failover(component) and read_gms(component) is None


def one_mode(at: At) -> Words:
    """The fix for two blocks with different modes; only a graph can have several layouts."""
    return format_words("set both modes to {intraPod} or both to {interPod}" if at.review.kind == DGD else "set both modes to {intraPod}")


def forbid_switch(on: bool) -> Words:
    """The requirement on an update that moves a process into pods of its own (`on`), or out of them."""
    return format_words("must not become {interPod} after creation" if on else "must stay {interPod}, and enabled, after creation")


@rule(
    "DYN705",
    where=COMPONENT,
    when="experimental",
    on=(UPDATE,),
    stage=Stage.IMMUTABLE,
    ratchets=False,
    differs=Difference(("Q-09",), "an absent number equals 1; standalone components are judged like those of graphs"),
)
def failover_shadows_immutable(at: At) -> Hits:
    """The number of standby engines changes after creation.

    Why
        Standby engines in pods of their own belong to the set of pods that is made once. An absent number is 1.

    Fix
        Put the old `numShadows` back, or create another graph with the new one; a standalone component can be created under another name.

    Example
        spec:
          backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
              experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
        --- # becomes
        spec:
          backendFramework: vllm
          components:
            - name: worker
              type: worker
    ok        replicas: 2
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         gpuMemoryService: {mode: InterPod}
    bad         failover:
    bad           mode: InterPod
    bad           numShadows: 2  # expect
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if at.old is None or not interpod_failover(at.value) or not interpod_failover(at.old):
        return
    now, before = _shadows(at.value), _shadows(at.old)
    if now != before:
        yield at.immutable("experimental.failover.numShadows", f"must stay {before} after creation, got {now}", value=now)


def _shadows(component: Fields) -> int:
    found = (read_failover(component) or {}).get("numShadows")
    return 1 if found is None else int(found)
