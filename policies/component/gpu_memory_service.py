"""The GPU memory service of a component."""

from typing import Final

from ..at import At, Findings
from ..components import MAIN, WORKERS, has_checkpoint, interpod_gms, is_enabled, list_containers, read_gms
from ..gpu import count_gpus
from ..grove import explain_absence, explain_off_grove
from ..patterns import LABEL_WANTED, is_label
from ..review import UPDATE
from ..rule import CHECKPOINT, CHECKPOINT_KIND, COMPONENT, GRAPH_COMPONENT, Stage, differs, rule
from ..words import format_words, quote_once
from .failover import forbid_switch

_GMS: Final = ("experimental", "gpuMemoryService")


@differs("without DRA the operator fails the component", lacking=True)
@rule("DYN307", where=COMPONENT, when="experimental", stage=Stage.GMS, needs=("dra",))
def gms_requires_dra(at: At) -> Findings:
    """A component has a GPU memory service, but dynamic resource allocation (DRA) isn't available.

    Why
        Containers share a GPU through a ResourceClaim of `resource.k8s.io/v1`. If the cluster doesn't serve this API, or the operator is
        configured not to use it, the component fails later.

    Fix
        Enable dynamic resource allocation in cluster and operator, or disable the service.

    Example
        -# facts: {dra: false}
         {worker with a GPU}
               experimental:
                 gpuMemoryService: {}  # expect
    """
    if read_gms(at.value) is not None and not at.fact("dra"):
        reason = explain_absence(at, "dra", "dynamic resource allocation (resource.k8s.io/v1)")
        yield at.forbidden(_GMS, f"must not be enabled here, since GPUs are shared by a claim: {reason}")


@differs("GPUs are counted as the reconciler counts them: any vendor's resource name, also in the main container, as quantities")
@rule("DYN305", where=COMPONENT, when="experimental", stage=Stage.GMS)
def gms_requires_gpu(at: At) -> Findings:
    """A component has a GPU memory service, but requests no GPU.

    Why
        The service claims as many GPUs as the component requests. The resource name of any vendor counts, in `resources` and in the main
        container. If both a limit and a request are set, the limit counts.

    Fix
        Set {resources.limits.gpu} to the number of GPUs, as a whole number.

    Example
         spec:
           components:
        +    - name: other
        +      type: worker
        +      podTemplate: {spec: {containers: [{name: main, resources: {limits: {amd.com/gpu: "1"}}}]}}
        +      experimental: {gpuMemoryService: {}}
        +    - name: slice
        +      type: worker
        +      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/mig-1g.5gb: "1"}}}]}}
        +      experimental: {gpuMemoryService: {}}
             - name: worker
               type: worker
        -      experimental:
        -        gpuMemoryService: {}  # expect
        +      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        +      experimental: {gpuMemoryService: {}}

        -{worker}
        -      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 500m}}}]}}
        -      experimental:
        -        gpuMemoryService: {}  # expect

        -{worker}
        -      podTemplate:
        -        spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "0"}, requests: {nvidia.com/gpu: "4"}}}]}
        -      experimental:
        -        gpuMemoryService: {}  # expect

        -{worker}
        -      podTemplate: {spec: {containers: [{name: main, resources: {limits: {example.com/accelerator: "1"}}}]}}
        -      experimental:
        -        gpuMemoryService: {}  # expect
    """
    if read_gms(at.value) is not None:
        gpus = count_gpus(at.value)
        if gpus.number is None or gpus.number < 1:
            seen = f'got "{gpus.text}"' if gpus.text else "got none"
            yield at.forbidden(_GMS, format_words("must have at least one whole GPU to share in {resources.limits.gpu}, {seen}", seen=seen))


@rule(
    "DYN306",
    where={**COMPONENT, **CHECKPOINT},
    when=("experimental", "gpuMemoryService"),
    stage=Stage.SNAPSHOT,
    needs=("allowGmsSnapshot",),
    until="1.4",
)
def gms_snapshot_gate(at: At) -> Findings:
    """A component combines a checkpoint with a GPU memory service, which the operator doesn't allow.

    Why
        Snapshots of pods with weights in shared GPU memory are experimental. The operator allows them only with the environment variable
        `DYN_OPERATOR_ALLOW_GMS_SNAPSHOT=1`.

    Fix
        Disable the checkpoint or the GPU memory service, or allow the combination in the operator.

    Example
        +# facts: {allowGmsSnapshot: true}
         {worker with a GPU}
               experimental:
                 gpuMemoryService: {}
                 checkpoint: {checkpointRef: c}  # expect

        -# kind: DynamoCheckpoint/v1alpha1
        -wired without facts  # expect

        +{worker with a GPU}
        +      experimental: {gpuMemoryService: {}}
    """
    of_component = at.review.kind != CHECKPOINT_KIND
    gms = read_gms(at.value) is not None if of_component else is_enabled(at.value.get("gpuMemoryService"))
    if gms and (not of_component or has_checkpoint(at.value)) and not at.fact("allowGmsSnapshot"):
        other = format_words("{gpuMemoryService}") if of_component else "the checkpoint"
        text = format_words(
            "must not be enabled together with {other} unless the operator runs with DYN_OPERATOR_ALLOW_GMS_SNAPSHOT=1", other=other
        )
        yield at.forbidden("experimental.checkpoint" if of_component else "gpuMemoryService", text)


@rule("DYN304", where=COMPONENT, when="experimental", stage=Stage.GMS)
def gms_worker_only(at: At) -> Findings:
    """A component that isn't a worker has a GPU memory service.

    Why
        The service holds model weights for engines. Frontends, planners and endpoint pickers have no engine, and for a custom type the
        operator doesn't know.

    Fix
        Set `{componentType}` to worker, prefill or decode, or switch the service off.

    Example
         spec:
           components:
        -    - name: frontend
        -      type: frontend
        +    - name: decode
        +      type: decode
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental:
        -        gpuMemoryService: {}  # expect
        +      experimental: {gpuMemoryService: {}}
    """
    kind = at.value.get("type")
    if kind not in WORKERS and read_gms(at.value) is not None:
        seen = f'got "{kind}"' if kind else "got nothing"
        text = format_words("must be on a component whose {componentType} is one of {wanted}, {seen}", wanted=", ".join(WORKERS), seen=seen)
        yield at.forbidden(_GMS, text)


_CLIENTS = ("experimental", "gpuMemoryService", "extraClientContainers")


@differs("the schema makes the list a set; this rule finds objects that bypassed the schema", lacking=True)
@rule("DYN309", where=COMPONENT, when="experimental", removes=True, stage=Stage.GMS)
def gms_extra_client_duplicate(at: At) -> Findings:
    """An extra client of the GPU memory service is named twice.

    Why
        The list is a set of names. A duplicate is usually a mistake for another name.

    Fix
        Name each container once.

    Example
         {worker}
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}, {name: probe, image: "x/y:1"}]}}
               experimental:
                 gpuMemoryService:
                   extraClientContainers:
                     - probe
        -            - probe  # expect
        +            - main
    """
    seen: set[str] = set()
    for index, name in enumerate(at.get(_CLIENTS) or ()):
        if name and name in seen:
            yield at.duplicate((*_CLIENTS, index), name, f'must be named once, got "{name}" again')
        seen.add(name)


@differs("a disabled service has no clients")
@rule("DYN303", where=COMPONENT, when="experimental", stage=Stage.GMS)
def gms_extra_client_name(at: At) -> Findings:
    """An extra client of the GPU memory service has an invalid container name.

    Why
        Each entry is the name of a container, which must be a DNS label. The name is checked even if the service is disabled, as in the
        schema, so that enabling it can't fail.

    Fix
        Write the name of a container of the pod: lower-case letters, digits and inner dashes, at most 63.

    Example
         {worker}
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}, {name: probe, image: "x/y:1"}]}}
               experimental:
                 gpuMemoryService:
        -          extraClientContainers: [Probe]  # expect
        +          extraClientContainers: [probe]
    """
    for index, name in enumerate(at.get(_CLIENTS) or ()):
        if not is_label(name or ""):
            text = f'{LABEL_WANTED}, got "{name or ""}"'
            yield at.invalid((*_CLIENTS, index), name, text)


@differs("a misspelled client would be silently ignored", lacking=True)
@rule("DYN308", where=COMPONENT, when="experimental", stage=Stage.GMS)
def gms_extra_client_unknown(at: At) -> Findings:
    """An extra client of the GPU memory service isn't a container of the pod.

    Why
        The named containers get the claim and the socket directory of the service. An unknown name is silently ignored, and the intended
        container can't reach the service. Init containers can't be clients.

    Fix
        Name a container in `{extraPodSpec}.containers`, or remove the entry. The main container is always a client.

    Example
         {worker with a pod}
                   containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}, {name: probe, image: "example/probe:1"}]
               experimental:
                 gpuMemoryService:
                   extraClientContainers:
        -            - prob  # expect
        +            - probe
    """
    if clients := at.get(_CLIENTS):
        known = {MAIN, *(container.get("name") for container in list_containers(at.value))}
        for index, name in enumerate(clients):
            # a malformed name is refused by gms-extra-client-name
            if name and name not in known and is_label(name):
                yield at.not_found((*_CLIENTS, index), name, f'must name a container of the pod, got "{name}"')


@differs("standalone components are checked like those of graphs")
@rule("DYN703", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def gms_interpod_immutable(at: At) -> Findings:
    """The GPU memory service moves into its own pods, or out of them.

    Why
        In mode interPod, the weights are in separate pods that share claims with the engines; this set of pods is created only once. In
        mode intraPod, you may enable and disable the service at any time.

    Fix
        Restore the old layout, or create another graph with the new one; a standalone component can be created under another name.

    Example
         spec:
        -  backendFramework: vllm
           {worker component with a GPU}
         --- # becomes
         spec:
        -  backendFramework: vllm
           {worker component with a GPU}
               experimental:
                 gpuMemoryService:
        -          mode: InterPod  # expect
        +          mode: IntraPod
    """
    if at.old is not None and interpod_gms(at.value) != interpod_gms(at.old):
        text = forbid_switch(interpod_gms(at.value))
        yield at.immutable("experimental.gpuMemoryService.mode", text, value=at.get("experimental.gpuMemoryService.mode"))


@rule("DYN301", where=GRAPH_COMPONENT, when="experimental", stage=Stage.GMS, needs=("grove",))
def gms_interpod_requires_grove(at: At) -> Findings:
    """The GPU memory service runs in its own pods, but the graph isn't on Grove.

    Why
        Weight servers and engines in different pods can share GPUs only if they start together on the same node, which only Grove
        supports.

    Fix
        Set the mode to {intraPod}, or bring the graph onto Grove: switch Grove on in the operator and remove the annotation
        `nvidia.com/enable-grove`.

    Example
         # facts: {grove: false}
         spec:
        -  backendFramework: vllm
           components:
             - name: worker  # expect
               type: worker
               podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental: {gpuMemoryService: {mode: InterPod}}
        +      experimental: {gpuMemoryService: {mode: IntraPod}}

        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        -spec:
        -  backendFramework: vllm
        -  components:
        -    - name: worker  # expect
        -      type: worker
        -      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental: {gpuMemoryService: {mode: InterPod}}
    """
    if interpod_gms(at.value) and (reason := explain_off_grove(at)):
        yield at.forbidden("", format_words('must run on Grove for {gpuMemoryService}.mode "{interPod}", but {reason}', reason=reason))


@rule("DYN302", where=GRAPH_COMPONENT, when="experimental", stage=Stage.GMS)
def gms_interpod_requires_vllm(at: At) -> Findings:
    """The GPU memory service runs in its own pods, but the engine isn't vLLM.

    Why
        Only vLLM can load weights from a server in another pod. Set the framework explicitly; it isn't guessed from images here.

    Fix
        Set `spec.backendFramework: vllm`, or use mode {intraPod}, which suits every engine.

    Example
        -spec:
        -  backendFramework: sglang
        -  components:
        -    - name: worker  # expect
        -      type: worker
        -      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        -      experimental: {gpuMemoryService: {mode: InterPod}}

         spec:
        +  backendFramework: vllm
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
