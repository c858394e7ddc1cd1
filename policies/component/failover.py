"""The mode and the standby engines of failover, in the pod of the active one and in pods of their own, and what they need."""

from typing import Final

from ..at import At, Findings
from ..components import INTER_POD, INTRA_POD, interpod_failover, read_failover, read_gms
from ..gpu import count_gpus
from ..review import UPDATE, Fields
from ..rule import COMPONENT, DGD, Stage, differs, rule
from ..words import VersionText, format_words, quote_once

EMPTY_MODE: Final = "failover without a mode is intra-pod, the schema's default"


def is_intrapod(component: Fields) -> bool:
    """Whether a component's standby engines run in the pod of the active one: also with an absent or empty mode."""
    failover = read_failover(component)
    return failover is not None and (failover.get("mode") or INTRA_POD) == INTRA_POD


def interpod_without_gms(component: Fields) -> bool:
    """Whether there is inter-pod failover and no GPU memory service, whose rules check GPUs and component types."""
    return interpod_failover(component) and read_gms(component) is None


def one_mode(at: At) -> VersionText:
    """The fix for two blocks with different modes; only a graph can have several layouts."""
    return format_words("set both modes to {intraPod} or both to {interPod}" if at.review.kind == DGD else "set both modes to {intraPod}")


def forbid_switch(on: bool) -> VersionText:
    """The requirement on an update that moves a process into pods of its own (`on`), or out of them."""
    return format_words("must not become {interPod} after creation" if on else "must stay {interPod}, and enabled, after creation")


@differs("an absent number equals 1; standalone components are checked like those of graphs")
@rule("DYN705", where=COMPONENT, when="experimental", on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def failover_shadows_immutable(at: At) -> Findings:
    """The number of standby engines changes after creation.

    Why
        Standby engines in their own pods belong to a set of pods that is created only once. An absent number is 1.

    Fix
        Restore the old `numShadows`, or create another graph with the new number; a standalone component can be created under another
        name.

    Example
         {vllm worker with a GPU}
               experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
         --- # becomes
         {vllm worker}
        +      replicas: 2
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
               experimental:
                 gpuMemoryService: {mode: InterPod}
                 failover:
                   mode: InterPod
        -          numShadows: 2  # expect
        +          numShadows: 1
    """
    if at.old is None or not interpod_failover(at.value) or not interpod_failover(at.old):
        return
    now, before = _shadows(at.value), _shadows(at.old)
    if now != before:
        yield at.immutable("experimental.failover.numShadows", f"must stay {before} after creation, got {now}", value=now)


def _shadows(component: Fields) -> int:
    shadows = (read_failover(component) or {}).get("numShadows")
    return 1 if shadows is None else int(shadows)


@differs(EMPTY_MODE)
@rule("DYN341", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_mode_mismatch(at: At) -> Findings:
    """Intra-pod failover and the GPU memory service have different modes.

    Why
        Both settings describe one pod layout: standby engines in the same pod can share GPUs only with a memory service in that pod.

    Fix
        Set the same mode in both.

    Example
         metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
         spec:
        -  backendFramework: vllm
           {worker component with a GPU}
               experimental:
        -        gpuMemoryService: {mode: InterPod}
        +        gpuMemoryService: {mode: IntraPod}
                 failover: {mode: IntraPod}  # expect
    """
    gms = read_gms(at.value) if is_intrapod(at.value) else None
    if gms is not None and gms.get("mode") not in (None, "", INTRA_POD):
        text = format_words('must have the mode of {gpuMemoryService}, "{interPod}", got "{intraPod}"')
        yield at.invalid("experimental.failover", None, text, fix=one_mode(at))


@differs(EMPTY_MODE)
@rule("DYN342", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_requires_gms(at: At) -> Findings:
    """Intra-pod failover is enabled without a GPU memory service.

    Why
        Both engines in the pod use the same GPUs. Each would fill them with its own weights; the memory service holds one copy for both.

    Fix
        Enable `{gpuMemoryService}` with mode {intraPod}, or switch failover off.

    Example
         metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
         spec:
           components:
        -    - name: other
        -      type: worker
        -      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental:
        -        failover: {}  # expect
             - name: worker
               type: worker
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental:
        -        failover: {mode: IntraPod}  # expect
        +      experimental: {gpuMemoryService: {}, failover: {}}
    """
    if is_intrapod(at.value) and read_gms(at.value) is None:
        yield at.forbidden("experimental.failover", format_words("must not be enabled in mode {intraPod} without {gpuMemoryService}"))


@differs("reconciliation refuses every engine but vLLM", lacking=True)
@rule("DYN351", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_requires_vllm(at: At) -> Findings:
    """Intra-pod failover is enabled, but the engine isn't vLLM.

    Why
        The standby engine waits for a file lock that the active engine holds. Only vLLM supports that; for other engines the operator
        fails. If `backendFramework` isn't set, the engine is detected later, from the command.

    Fix
        Set `backendFramework` to vllm if that is the engine, or disable failover.

    Example
         metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
         spec:
        -  backendFramework: sglang
        +  backendFramework: vllm
           {worker component with a GPU}
               experimental:
                 gpuMemoryService: {}
                 failover: {}  # expect

        -# kind: DynamoComponentDeployment/v1beta1
        -spec:
        -  backendFramework: trtllm
        -  type: worker
        -  podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -  experimental:
        -    gpuMemoryService: {}
        -    failover: {mode: IntraPod}  # expect
    """
    backend = at.review.spec.get("backendFramework")
    if backend not in (None, "", "vllm") and is_intrapod(at.value):
        text = format_words(
            'must not be enabled in mode {intraPod} for backendFramework "{seen}": only vllm supports it', seen=quote_once(backend)
        )
        yield at.forbidden("experimental.failover", text)


_MORE: Final = VersionText("in a graph on Grove mode interPod allows more", "only v1alpha1 allows more, in pods of their own")


@differs(EMPTY_MODE)
@rule("DYN343", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_intrapod_shadows(at: At) -> Findings:
    """Intra-pod failover must have exactly one standby engine.

    Why
        The pod holds a fixed pair: one active engine and one standby. Only inter-pod failover can have more. 0 counts as absent, because
        typed clients write it for an unset number.

    Fix
        Set `numShadows` to 1 or leave it out.

    Example
         metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
         {worker with a GPU}
               experimental:
                 gpuMemoryService: {}
                 failover:
                   mode: IntraPod
        -          numShadows: 2  # expect
        +          numShadows: 1
    """
    shadows = (read_failover(at.value) or {}).get("numShadows")
    if shadows not in (None, 0, 1) and is_intrapod(at.value):
        pair = format_words("must be 1 in mode {intraPod}, where a pod holds a fixed pair of engines, got {shadows}", shadows=shadows)
        yield at.invalid("experimental.failover.numShadows", shadows, format_words("{pair}; {more}", pair=pair, more=_MORE))


_NO_ENGINES: Final = ("epp", "frontend", "planner")


@rule("DYN349", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_component_type(at: At) -> Findings:
    """Inter-pod failover is enabled for a component without an engine.

    Why
        Standby engines take over weights on GPUs. Frontends, planners and endpoint pickers have none; use more replicas for them.

    Fix
        Disable failover here, or set the `{componentType}` to that of a worker if it is one.

    Example
         spec:
           components:
             - name: frontend  # expect
               type: frontend
        -      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental:
        -        failover: {mode: InterPod, numShadows: 1}  # expect: failover-interpod-requires-gms
        +      replicas: 2
    """
    kind = at.value.get("type")
    # where the GPU memory service is on, gms-worker-only refuses these and others
    if kind in _NO_ENGINES and interpod_without_gms(at.value):
        yield at.forbidden("", format_words('must run an engine for failover in mode {interPod}, got {componentType} "{seen}"', seen=kind))


@differs("GPUs are counted as the reconciler counts them, and a wrong number is reported at its field")
@rule("DYN347", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_gpu_invalid(at: At) -> Findings:
    """Inter-pod failover is enabled, but the number of GPUs isn't a whole number.

    Why
        Engines and weight servers claim whole GPUs. If the GPU memory service is enabled, its own rule reports this.

    Fix
        Write the number of GPUs as a whole number.

    Example
         spec:
        +  backendFramework: vllm
           {worker component}
               {containers of a pod}
                     - name: main
                       resources:
                         requests:
        -                  nvidia.com/gpu: 1500m  # expect
        +                  nvidia.com/gpu: "2"
               experimental:
        +        gpuMemoryService:
        +          mode: InterPod
                 failover: {mode: InterPod, numShadows: 1}  # expect: failover-interpod-requires-gms
    """
    if interpod_without_gms(at.value):
        gpus = count_gpus(at.value)
        if gpus.number is None:
            yield at.invalid(gpus.path, gpus.text, f'must be a whole number of GPUs, got "{gpus.text}"')


@differs("standalone components are checked like those of graphs")
@rule("DYN704", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def failover_interpod_immutable(at: At) -> Findings:
    """Inter-pod failover is enabled or disabled after creation.

    Why
        Standby engines in their own pods belong to a set of pods that is created only once, with the component.

    Fix
        Restore the old `{failover}` block, or create another graph with the new one; a standalone component can be created under another
        name.

    Example
         {vllm worker with a GPU}
        -      experimental: {gpuMemoryService: {mode: InterPod}}
        +      experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
         --- # becomes
         {vllm worker}
        +      replicas: 2
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
               experimental:
                 gpuMemoryService: {mode: InterPod}
                 failover: {mode: InterPod, numShadows: 1}  # expect
    """
    if at.old is not None and interpod_failover(at.value) != interpod_failover(at.old):
        yield at.immutable("experimental.failover", forbid_switch(interpod_failover(at.value)))


@rule("DYN345", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_mode_mismatch(at: At) -> Findings:
    """Inter-pod failover and the GPU memory service have different modes.

    Why
        Standby engines in their own pods can reach the weights only if the memory service also has its own pod. Without a mode, the
        service is in the engine's pod.

    Fix
        Set the same mode in both.

    Example
         {vllm worker with a GPU}
               experimental:
        -        gpuMemoryService: {}
        +        gpuMemoryService:
        +          mode: InterPod
                 failover: {mode: InterPod, numShadows: 1}  # expect
    """
    gms = read_gms(at.value)
    if interpod_failover(at.value) and gms is not None and gms.get("mode") != INTER_POD:
        other = format_words('which is "{intraPod}"') if gms.get("mode") else "which is unset"
        text = format_words('must have the mode of {gpuMemoryService}, {other}, got "{interPod}"', other=other)
        yield at.invalid("experimental.failover", None, text, fix=one_mode(at))


@differs("an absent number is 1, the schema's default")
@rule("DYN346", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_shadows(at: At) -> Findings:
    """Inter-pod failover has no standby engine.

    Why
        Failover needs at least one standby engine. An absent number is 1.

    Fix
        Set `numShadows` to 1, or disable failover.

    Example
         spec:
           backendFramework: vllm
           components:
        +    - name: other
        +      type: worker
        +      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        +      experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod}}
             - name: worker
               type: worker
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental:
        -        gpuMemoryService: {mode: InterPod}
        -        failover:
        -          mode: InterPod
        -          numShadows: 0  # expect
        +      experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if interpod_failover(at.value):
        written = (read_failover(at.value) or {}).get("numShadows")
        shadows = 1 if written is None else written
        if shadows < 1:
            # v1beta1 knows one standby engine only
            text = format_words("must be {wanted} in mode {interPod}, got {shadows}", wanted=VersionText("1 or more", "1"), shadows=shadows)
            yield at.invalid("experimental.failover.numShadows", shadows, text)


@rule("DYN344", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_requires_gms(at: At) -> Findings:
    """Inter-pod failover is enabled without a GPU memory service.

    Why
        Standby engines use the GPUs of the active one. The memory service holds the single copy of the weights that they all map.

    Fix
        Enable `{gpuMemoryService}` with mode {interPod}, or switch failover off.

    Example
         {vllm worker with a GPU}
               experimental:
        +        gpuMemoryService:
        +          mode: InterPod
                 failover: {mode: InterPod, numShadows: 1}  # expect
    """
    if interpod_without_gms(at.value):
        yield at.forbidden("experimental.failover", format_words("must not be enabled in mode {interPod} without {gpuMemoryService}"))


@differs("GPUs are counted as the reconciler counts them: any vendor's resource name, as quantities")
@rule("DYN348", where=COMPONENT, when="experimental", stage=Stage.FAILOVER)
def failover_interpod_requires_gpu(at: At) -> Findings:
    """Inter-pod failover is enabled, but the component requests no GPU.

    Why
        The standby takes over the GPUs of the active engine, so the component needs GPUs. If the GPU memory service is enabled, its own
        rule reports this.

    Fix
        Set {resources.limits.gpu} to the number of GPUs.

    Example
         spec:
        +  backendFramework: vllm
           components:
             - name: worker  # expect
               type: worker
        -      experimental:
        -        failover: {mode: InterPod, numShadows: 1}  # expect: failover-interpod-requires-gms
        +      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        +      experimental: {gpuMemoryService: {mode: InterPod}, failover: {mode: InterPod, numShadows: 1}}
    """
    if interpod_without_gms(at.value):
        gpus = count_gpus(at.value)
        if gpus.number is not None and gpus.number < 1:
            seen = f'got "{gpus.text}"' if gpus.text else "got none"
            text = format_words("must have at least one GPU in {resources.limits.gpu} for failover in mode {interPod}, {seen}", seen=seen)
            yield at.forbidden("", text)
