"""The mode and the standby engines of failover, and those in the pod of the active one."""

from typing import Final

from ..at import At
from ..domain import INTRA_POD, interpod_failover, quote_once, read_failover, read_gms
from ..review import UPDATE, Fields
from ..rule import COMPONENT, DGD, Hits, Stage, differs, rule
from ..words import Words, format_words

EMPTY_MODE: Final = "failover without a mode is intra-pod, the schema's default"


def is_intrapod(component: Fields) -> bool:
    """Whether a component's standby engines run in the pod of the active one: also with an absent or empty mode."""
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


@differs(("Q-09",), "an absent number equals 1; standalone components are judged like those of graphs")
@rule("DYN705", where=COMPONENT, when="experimental", on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def failover_shadows_immutable(at: At) -> Hits:
    """The number of standby engines changes after creation.

    Why
        Standby engines in pods of their own belong to the set of pods that is made once. An absent number is 1.

    Fix
        Put the old `numShadows` back, or create another graph with the new one; a standalone component can be created under another name.

    Example
        {vllm worker with a GPU}
              experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
        --- # becomes
        {vllm worker}
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


@differs(("Q-10",), EMPTY_MODE)
@rule("DYN341", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_mode_mismatch(at: At) -> Hits:
    """Intra-pod failover and the GPU memory service name different layouts.

    Why
        Both switches describe one pod layout: standby engines in the same pod can share GPUs only with a memory service in that pod.

    Fix
        Give both the same mode.

    Example
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
    bad   backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         gpuMemoryService: {mode: InterPod}
    bad         failover: {mode: IntraPod}  # expect
    ok        experimental: {gpuMemoryService: {mode: IntraPod}, failover: {mode: IntraPod}}
    """
    gms = read_gms(at.value) if is_intrapod(at.value) else None
    if gms is not None and gms.get("mode") not in (None, "", INTRA_POD):
        text = format_words('must have the mode of {gpuMemoryService}, "{interPod}", got "{intraPod}"')
        yield at.invalid("experimental.failover", None, text, fix=one_mode(at))


@differs(("Q-10",), EMPTY_MODE)
@rule("DYN342", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_requires_gms(at: At) -> Hits:
    """Intra-pod failover has no GPU memory service to share weights through.

    Why
        Both engines of the pod use the same GPUs. Each alone would fill them with its weights; the memory service holds one copy for both.

    Fix
        Enable `{gpuMemoryService}` with mode {intraPod}, or switch failover off.

    Example
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          components:
    bad     - name: other
    bad       type: worker
    bad       podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         failover: {}  # expect
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         failover: {mode: IntraPod}  # expect
    ok        experimental: {gpuMemoryService: {}, failover: {}}
    """
    if is_intrapod(at.value) and read_gms(at.value) is None:
        yield at.forbidden("experimental.failover", format_words("must not be enabled in mode {intraPod} without {gpuMemoryService}"))


@differs(("G-05",), "reconciliation refuses every engine but vLLM", lacking=True)
@rule("DYN351", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_requires_vllm(at: At) -> Hits:
    """Intra-pod failover is on, but the engine is not vLLM.

    Why
        A standby engine waits for a file lock beside the active one. Only vLLM can do that; for other engines the operator stops with an
        error. A framework that isn't written down is found out later, from the command.

    Fix
        Set `backendFramework` to vllm if that is what runs, or switch failover off.

    Example
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
    bad   backendFramework: sglang
    ok    backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         gpuMemoryService: {}
    bad         failover: {}  # expect
    ok        experimental: {gpuMemoryService: {}, failover: {}}

    bad # kind: DynamoComponentDeployment/v1beta1
    bad spec:
    bad   backendFramework: trtllm
    bad   type: worker
    bad   podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad   experimental:
    bad     gpuMemoryService: {}
    bad     failover: {mode: IntraPod}  # expect
    """
    backend = at.review.spec.get("backendFramework")
    if backend not in (None, "", "vllm") and is_intrapod(at.value):
        text = format_words(
            'must not be enabled in mode {intraPod} for backendFramework "{seen}": only vllm can stand by', seen=quote_once(backend)
        )
        yield at.forbidden("experimental.failover", text)


_MORE: Final = Words("in a graph on Grove mode interPod allows more", "only v1alpha1 allows more, in pods of their own")


@differs(("Q-10",), EMPTY_MODE)
@rule("DYN343", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_shadows(at: At) -> Hits:
    """Intra-pod failover asks for another number of standby engines than one.

    Why
        The pod holds a fixed pair: one engine that serves and one standby. Only standbys in pods of their own can be more. A 0 counts as
        absent, because typed clients write it for an unset number.

    Fix
        Set `numShadows` to 1 or leave it out.

    Example
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        {worker with a GPU}
    bad       experimental:
    bad         gpuMemoryService: {}
    bad         failover:
    bad           mode: IntraPod
    bad           numShadows: 2  # expect
    ok        experimental: {gpuMemoryService: {}, failover: {mode: IntraPod, numShadows: 1}}
    """
    shadows = (read_failover(at.value) or {}).get("numShadows")
    if shadows not in (None, 0, 1) and is_intrapod(at.value):
        pair = format_words("must be 1 in mode {intraPod}, where a pod holds a fixed pair of engines, got {shadows}", shadows=shadows)
        yield at.invalid("experimental.failover.numShadows", shadows, format_words("{pair}; {more}", pair=pair, more=_MORE))
