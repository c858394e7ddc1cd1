"""Failover to standby engines in pods of their own, and what it needs."""

from typing import Final

from ..at import At
from ..domain import INTER_POD, interpod_failover, read_failover, read_gms
from ..gpu import gpu_count
from ..review import UPDATE
from ..rule import COMPONENT, Hits, Stage, differs, rule
from ..words import Words, format_words
from .failover import forbid_switch, interpod_without_gms, one_mode

_NO_ENGINES: Final = ("epp", "frontend", "planner")


@rule("DYN349", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_component_type(at: At) -> Hits:
    """Inter-pod failover is on for a component that runs no engine.

    Why
        Standby engines take over weights on GPUs. Frontends, planners and endpoint pickers hold none; they are made safe with replicas.

    Fix
        Switch failover off here, or set the `{componentType}` to that of a worker if it is one.

    Example
    bad spec:
    bad   components:
    bad     - name: frontend  # expect
    bad       type: frontend
    bad       podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         failover: {mode: InterPod, numShadows: 1}  # expect: failover-interpod-requires-gms
    ok  spec: {components: [{name: frontend, type: frontend, replicas: 2}]}
    """
    kind = at.value.get("type")
    # where the GPU memory service is on, gms-worker-only refuses these and others
    if kind in _NO_ENGINES and interpod_without_gms(at.value):
        yield at.forbidden("", format_words('must run an engine for failover in mode {interPod}, got {componentType} "{seen}"', seen=kind))


@differs(("Q-12", "Q-13"), "GPUs are counted as in reconciliation, and a wrong number is reported at its field")
@rule("DYN347", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_gpu_invalid(at: At) -> Hits:
    """Inter-pod failover is on, and the number of GPUs is no whole number.

    Why
        Engines and weight servers claim the same GPUs by their number. Half a GPU can't be claimed. Where the GPU memory service is on, its
        own rule reports this.

    Fix
        Write the number of GPUs as a whole number.

    Example
        spec:
    ok    backendFramework: vllm
          components:
            - name: worker
              type: worker
    bad       podTemplate:
    bad         spec:
    bad           containers:
    bad             - name: main
    bad               resources:
    bad                 requests:
    bad                   nvidia.com/gpu: 1500m  # expect
    bad       experimental:
    bad         failover: {mode: InterPod, numShadows: 1}  # expect: failover-interpod-requires-gms
    ok        podTemplate: {spec: {containers: [{name: main, resources: {requests: {nvidia.com/gpu: "2"}}}]}}
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if interpod_without_gms(at.value):
        gpus = gpu_count(at.value)
        if gpus.number is None:
            yield at.invalid(gpus.path, gpus.seen, f'must be a whole number of GPUs, got "{gpus.seen}"')


@differs(("Q-09",), "as for components of graphs")
@rule("DYN704", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def failover_interpod_immutable(at: At) -> Hits:
    """Inter-pod failover is switched on or off after creation.

    Why
        Standby engines in pods of their own belong to the set of pods that is made once, when the component is created.

    Fix
        Put the old `{failover}` block back, or create another graph with the new one; a standalone component can be created
        under another name.

    Example
        {vllm worker with a GPU}
    bad       experimental: {gpuMemoryService: {mode: InterPod}}
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
        --- # becomes
        {vllm worker}
    ok        replicas: 2
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         gpuMemoryService: {mode: InterPod}
    bad         failover: {mode: InterPod, numShadows: 1}  # expect
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if at.old is not None and interpod_failover(at.value) != interpod_failover(at.old):
        yield at.immutable("experimental.failover", forbid_switch(interpod_failover(at.value)))


@rule("DYN345", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_mode_mismatch(at: At) -> Hits:
    """Inter-pod failover and the GPU memory service name different layouts.

    Why
        Standby engines in pods of their own reach the weights only where the memory service has a pod of its own, too. A service without
        a mode is in the pod of the engine.

    Fix
        Give both the same mode.

    Example
        {vllm worker with a GPU}
    bad       experimental:
    bad         gpuMemoryService: {}
    bad         failover: {mode: InterPod, numShadows: 1}  # expect
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    gms = read_gms(at.value)
    if interpod_failover(at.value) and gms is not None and gms.get("mode") != INTER_POD:
        other = format_words('which is "{intraPod}"') if gms.get("mode") else "which is unset"
        text = format_words('must have the mode of {gpuMemoryService}, {other}, got "{interPod}"', other=other)
        yield at.invalid("experimental.failover", None, text, fix=one_mode(at))


@differs((), "an absent number is 1, the schema's default")
@rule("DYN346", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_shadows(at: At) -> Hits:
    """Inter-pod failover asks for no standby engine.

    Why
        Without at least one standby there is nothing to fail over to. A number that isn't written is 1.

    Fix
        Set `numShadows` to 1, or switch failover off.

    Example
        spec:
          backendFramework: vllm
          components:
    ok      - name: other
    ok        type: worker
    ok        podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod}}
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         gpuMemoryService: {mode: InterPod}
    bad         failover:
    bad           mode: InterPod
    bad           numShadows: 0  # expect
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if interpod_failover(at.value):
        written = (read_failover(at.value) or {}).get("numShadows")
        shadows = 1 if written is None else written
        if shadows < 1:
            # v1beta1 knows one standby engine only
            text = format_words("must be {wanted} in mode {interPod}, got {shadows}", wanted=Words("1 or more", "1"), shadows=shadows)
            yield at.invalid("experimental.failover.numShadows", shadows, text)


@rule("DYN344", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_requires_gms(at: At) -> Hits:
    """Inter-pod failover has no GPU memory service to share weights through.

    Why
        Standby engines use the GPUs of the active one. The memory service holds the one copy of the weights that all of them map.

    Fix
        Enable `{gpuMemoryService}` with mode {interPod}, or switch failover off.

    Example
        {vllm worker with a GPU}
    bad       experimental:
    bad         failover: {mode: InterPod, numShadows: 1}  # expect
    ok        experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if interpod_without_gms(at.value):
        yield at.forbidden("experimental.failover", format_words("must not be enabled in mode {interPod} without {gpuMemoryService}"))


@differs(("Q-12", "Q-13"), "GPUs are counted as in reconciliation: any vendor's, as quantities")
@rule("DYN348", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
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
