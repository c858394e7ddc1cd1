"""Whether a component can be checkpointed and restored, and which snapshot it may name."""

from ..at import At, Findings
from ..components import WORKERS, explain_workers_only, has_checkpoint, interpod_gms, read_failover, read_feature, read_gms
from ..patterns import LABEL_WANTED, is_label
from ..review import Fields
from ..rule import CHECKPOINT, CHECKPOINT_KIND, COMPONENT, DCD, Stage, differs, rule
from ..words import format_words

OFF = "for operator 1.2, only the schema checks a disabled checkpoint"


@rule("DYN407", where={**COMPONENT, **CHECKPOINT}, stage=Stage.CHECKPOINT, needs=("checkpoint",), since="1.4")
def checkpoint_gate(at: At) -> Findings:
    """A component has a checkpoint, but checkpoints are disabled in the operator.

    Why
        The checkpoint would be neither created nor restored, and pods that wait for it would never start.

    Fix
        Disable the checkpoint, or have checkpoints enabled in the operator's configuration.

    Example
         # facts: {checkpoint: false}
         {worker with an image}
               experimental:
        -        checkpoint: {enabled: true}  # expect
        +        checkpoint: {enabled: false}

        -# kind: DynamoCheckpoint/v1alpha1
        -# facts: {checkpoint: false}
        -spec:  # expect
        -  identity: {model: m, backendFramework: vllm}
    """
    of_component = at.review.kind != CHECKPOINT_KIND
    if of_component and not has_checkpoint(at.value):
        return
    if not at.fact("checkpoint"):
        yield at.forbidden(
            "experimental.checkpoint" if of_component else "", "must not be used while checkpoints are switched off in the operator"
        )


@differs(OFF)
@rule("DYN402", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, until="1.4")
def checkpoint_job_auto_only(at: At) -> Findings:
    """A checkpoint that the operator doesn't create has settings for the job that creates it.

    Why
        The operator runs the job only in mode Auto; otherwise you create the checkpoint yourself. This is checked even if the checkpoint
        is disabled, as in the schema.

    Fix
        Remove `job`, or set the mode to Auto.

    Example
         {worker}
               experimental:
                 checkpoint:
        -          mode: Manual
        +          mode: Auto
                   job: {}  # expect
    """
    checkpoint = read_feature(at.value, "checkpoint") or {}
    seen = checkpoint.get("mode")
    if seen not in (None, "", "Auto") and checkpoint.get("job") is not None:
        text = format_words('must not be set unless {checkpoint}.mode is "Auto", got mode "{seen}"', seen=seen)
        yield at.forbidden("experimental.checkpoint.job", text)


@differs(OFF)
@rule("DYN401", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT)
def checkpoint_job_with_ref(at: At) -> Findings:
    """A checkpoint refers to an existing one, but also configures the job that would create one.

    Why
        `job` configures the job that creates a checkpoint. With `checkpointRef`, no job runs, so `job` has no effect. This is checked even
        if the checkpoint is disabled, as in the schema.

    Fix
        Remove `job` or `checkpointRef`.

    Example
         {worker}
               experimental:
                 checkpoint:
                   checkpointRef: warm
        -          job: {}  # expect
    """
    checkpoint = read_feature(at.value, "checkpoint") or {}
    ref = checkpoint.get("checkpointRef")
    if checkpoint.get("job") is not None and ref:
        yield at.forbidden("experimental.checkpoint.job", f'must not be set beside checkpointRef "{ref}": no checkpoint is made then')


@rule("DYN408", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, since="1.4")
def checkpoint_layout_unsupported(at: At) -> Findings:
    """A component with a checkpoint has standby engines, or its weights in other pods.

    Why
        A checkpoint saves a single pod. It doesn't include standby engines, or weights in other pods.

    Fix
        Disable the checkpoint, or remove failover and use the GPU memory service in mode {intraPod}.

    Example
         spec:
        -  backendFramework: vllm
           {worker component}
               podTemplate:
                 spec: {containers: [{name: main, image: "example/vllm:1.5.0", resources: {limits: {nvidia.com/gpu: "1"}}}]}
               experimental:
        -        gpuMemoryService: {mode: InterPod}
        +        gpuMemoryService: {mode: IntraPod}
                 checkpoint: {enabled: true, checkpointRef: c}  # expect

        -{vllm worker}
        -      podTemplate:
        -        spec: {containers: [{name: main, image: "example/vllm:1.5.0", resources: {limits: {nvidia.com/gpu: "1"}}}]}
        -      experimental:
        -        gpuMemoryService: {mode: InterPod}
        -        failover: {mode: InterPod, numShadows: 1}
        -        checkpoint: {enabled: true, checkpointRef: c}  # expect
    """
    if not has_checkpoint(at.value):
        return
    if interpod_gms(at.value):
        yield at.forbidden(
            "experimental.checkpoint", format_words('must not be enabled while {gpuMemoryService} has the mode "{interPod}"')
        )
    if read_failover(at.value) is not None:
        yield at.forbidden("experimental.checkpoint", format_words("must not be enabled together with {failover}"))


@differs(OFF)
@rule("DYN403", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT)
def checkpoint_target_name(at: At) -> Findings:
    """The target of a checkpoint has an invalid container name.

    Why
        The state of one container is saved, and container names must be DNS labels. This is checked even if the checkpoint is disabled, as
        in the schema.

    Fix
        Write the name of a container of the pod, or leave the field out for `main`.

    Example
         {worker}
               experimental:
        -        checkpoint: {targetContainerName: Main}  # expect
        +        checkpoint: {targetContainerName: main}
    """
    name = at.get("experimental.checkpoint.targetContainerName")
    if name and not is_label(name):
        text = f'{LABEL_WANTED}, got "{name}"'
        yield at.invalid("experimental.checkpoint.targetContainerName", name, text)


_CLIENTS = ("experimental", "checkpoint", "job", "gmsClientContainers")


@differs(OFF)
@rule("DYN406", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT)
def checkpoint_gms_client_name(at: At) -> Findings:
    """A client of the GPU memory service in a checkpoint's job has an invalid container name.

    Why
        Each entry is the name of a container, which must be a DNS label. This is checked even if the checkpoint is disabled, as in the
        schema.

    Fix
        Write the name of a container of the job: lower-case letters, digits and inner dashes, at most 63.

    Example
         {worker with a GPU}
               experimental:
                 gpuMemoryService: {}
                 checkpoint:
                   enabled: false
                   job:
                     gmsClientContainers:
                       - saver
        -              - Loader  # expect
        +              - loader
    """
    for index, name in enumerate(at.get(_CLIENTS) or ()):
        if not is_label(name or ""):
            text = f'{LABEL_WANTED}, got "{name or ""}"'
            yield at.invalid((*_CLIENTS, index), name, text)


@differs(OFF)
@rule("DYN405", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT)
def checkpoint_gms_clients_intrapod_only(at: At) -> Findings:
    """A checkpoint's job names clients of a GPU memory service that runs in its own pods.

    Why
        A job has one pod, and its clients reach the service through a volume of that pod, so they can't reach a service in another pod.

    Fix
        Set the service's mode to {intraPod}, or remove `gmsClientContainers`.

    Example
         spec:
        -  backendFramework: vllm
           {worker component with a GPU}
               experimental:
        -        gpuMemoryService: {mode: InterPod}
        +        gpuMemoryService: {mode: IntraPod}
                 checkpoint:
                   enabled: false
                   job:
                     gmsClientContainers: [saver]  # expect
    """
    if at.get(_CLIENTS) and interpod_gms(at.value):
        text = format_words('must be empty unless {gpuMemoryService}.mode is "{intraPod}", got mode "{interPod}"')
        yield at.forbidden(_CLIENTS, text)


@differs(OFF)
@rule("DYN404", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT)
def checkpoint_gms_clients_need_gms(at: At) -> Findings:
    """A checkpoint's job names clients of a GPU memory service, but the component has none.

    Why
        The named containers connect to the sockets of the service, and would wait for it. This is checked even if the checkpoint is
        disabled, so that enabling it can't fail.

    Fix
        Enable `{gpuMemoryService}`, or remove `gmsClientContainers`.

    Example
         {worker}
        -      experimental:
        -        checkpoint:
        -          enabled: false
        -          job:
        -            gmsClientContainers: [saver]  # expect
        +      podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
        +      experimental: {gpuMemoryService: {}, checkpoint: {enabled: false, job: {gmsClientContainers: [saver]}}}
    """
    if at.get(_CLIENTS) and read_gms(at.value) is None:
        yield at.forbidden(_CLIENTS, format_words("must be empty without {gpuMemoryService}"))


_GRAPH = "DynamoGraphDeployment"


# inferred for line 1.5: it may be of 1.6 only
@rule("DYN409", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, ratchets=False, since="1.5")
def checkpoint_use_of_workers(at: At) -> Findings:
    """A component that isn't a worker has a checkpoint.

    Why
        A checkpoint saves the state of an engine, and only workers have one.

    Fix
        Remove or disable the checkpoint.

    Example
         spec:
           components:
        -    - name: frontend
        -      type: frontend
        -      podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.5.0"}]}}
        -      experimental:
        -        checkpoint: {enabled: true, checkpointRef: snapshot}  # expect
        +    - name: worker
        +      type: worker
        +      podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        +      experimental: {checkpoint: {enabled: true, checkpointRef: snapshot}}
    """
    if has_checkpoint(at.value) and at.value.get("type") not in WORKERS:
        yield at.forbidden("experimental.checkpoint", f"must be unset {explain_workers_only(at.value)}")


# inferred for line 1.5: it may be of 1.6 only
@rule("DYN410", where={DCD: "spec"}, when="experimental", stage=Stage.CHECKPOINT, ratchets=False, since="1.5")
def checkpoint_use_of_graphs(at: At) -> Findings:
    """A standalone worker names a snapshot.

    Why
        The operator gives snapshots only to components that it creates for a graph.

    Fix
        Remove `checkpointRef`, or set it in a component of a graph.

    Example
         # kind: DynamoComponentDeployment/v1beta1
        +metadata:
        +  ownerReferences: [{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, name: g, uid: "1", controller: true}]
         spec:
           type: worker
           podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        -  experimental:
        -    checkpoint: {enabled: true, checkpointRef: snapshot}  # expect
        +  experimental: {checkpoint: {enabled: true, checkpointRef: snapshot}}
    """
    checkpoint = read_feature(at.value, "checkpoint") or {}
    if at.value.get("type") in WORKERS and str(checkpoint.get("checkpointRef") or "").strip() and not _is_of_graph(at.review.metadata):
        yield at.forbidden("experimental.checkpoint.checkpointRef", "must be unset for a component outside a graph")


def _is_of_graph(metadata: Fields) -> bool:
    owners = [owner or {} for owner in metadata.get("ownerReferences") or ()]
    return any(
        owner.get("controller") is True and owner.get("kind") == _GRAPH and str(owner.get("apiVersion")).startswith("nvidia.com/")
        for owner in owners
    )
