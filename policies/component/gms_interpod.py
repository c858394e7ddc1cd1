"""A GPU memory service shared between pods."""

from ..at import At
from ..domain import explain_off_grove, interpod_gms, quote_once
from ..review import UPDATE
from ..rule import COMPONENT, GRAPH_COMPONENT, Hits, Stage, differs, rule
from ..words import format_words
from .failover import forbid_switch


@differs(("Q-09",), "as for components of graphs")
@rule("DYN703", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def gms_interpod_immutable(at: At) -> Hits:
    """The GPU memory service moves into pods of its own, or out of them.

    Why
        In mode interPod weights live in pods beside the engines, with claims that all of them share; that set of pods is made once.
        Inside the pod (intraPod) the memory service may be switched on and off freely.

    Fix
        Put the old layout back, or create another graph with the new one; a standalone component can be created under another name.

    Example
        spec:
    bad   backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        --- # becomes
        spec:
    bad   backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         gpuMemoryService:
    bad           mode: InterPod  # expect
    ok        experimental: {gpuMemoryService: {mode: IntraPod}}
    """
    if at.old is not None and interpod_gms(at.value) != interpod_gms(at.old):
        text = forbid_switch(interpod_gms(at.value))
        yield at.immutable("experimental.gpuMemoryService.mode", text, value=at.get("experimental.gpuMemoryService.mode"))


@rule("DYN301", where=GRAPH_COMPONENT, when="experimental", stage=Stage.GMS, needs=("grove",))
def gms_interpod_requires_grove(at: At) -> Hits:
    """The GPU memory service runs in pods of its own, but the graph is not on Grove.

    Why
        Weight servers and engines in different pods share GPUs only if they start together on the same node. Only Grove supports
        this.

    Fix
        Set the mode to {intraPod}, or bring the graph onto Grove: switch Grove on in the operator and remove the annotation
        `nvidia.com/enable-grove`.

    Example
        # facts: {grove: false}
        spec:
    bad   backendFramework: vllm
          components:
            - name: worker  # expect
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental: {gpuMemoryService: {mode: InterPod}}
    ok        experimental: {gpuMemoryService: {mode: IntraPod}}

    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
    bad spec:
    bad   backendFramework: vllm
    bad   components:
    bad     - name: worker  # expect
    bad       type: worker
    bad       podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental: {gpuMemoryService: {mode: InterPod}}
    """
    if interpod_gms(at.value) and (reason := explain_off_grove(at)):
        yield at.forbidden("", format_words('must run on Grove for {gpuMemoryService}.mode "{interPod}", but {reason}', reason=reason))


@rule("DYN302", where=GRAPH_COMPONENT, when="experimental", stage=Stage.GMS)
def gms_interpod_requires_vllm(at: At) -> Hits:
    """The GPU memory service runs in pods of its own, but the engine is not vLLM.

    Why
        Of the engines only vLLM can load weights that a server in another pod holds. The framework must be written down, because it is not
        guessed from images here.

    Fix
        Set `spec.backendFramework: vllm`, or use mode {intraPod}, which suits every engine.

    Example
    bad spec:
    bad   backendFramework: sglang
    bad   components:
    bad     - name: worker  # expect
    bad       type: worker
    bad       podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental: {gpuMemoryService: {mode: InterPod}}

        spec:
    ok    backendFramework: vllm
          components:
            - name: worker  # expect
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
              experimental: {gpuMemoryService: {mode: InterPod}}
    """
    backend = at.review.spec.get("backendFramework")
    if backend != "vllm" and interpod_gms(at.value):
        seen = f'got "{quote_once(backend)}"' if backend else "got nothing"
        text = format_words('must have spec.backendFramework "vllm" for {gpuMemoryService}.mode "{interPod}", {seen}', seen=seen)
        yield at.forbidden("", text)
