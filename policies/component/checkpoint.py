"""Whether a component can be checkpointed and restored."""

from ..at import At
from ..domain import LABEL_WANTED, has_checkpoint, interpod_gms, is_label, read_failover, read_feature
from ..rule import CHECKPOINT, CHECKPOINT_KIND, COMPONENT, Difference, Hits, Stage, rule
from ..words import format_words

OFF = "on line 1.2 a checkpoint that is off is the schema's business"


@rule("DYN407", where={**COMPONENT, **CHECKPOINT}, stage=Stage.CHECKPOINT, needs=("checkpoint",), since="1.4")
def checkpoint_gate(at: At) -> Hits:
    """A checkpoint is asked for, but checkpoints are switched off in the operator.

    Why
        Nothing would make or restore it, and pods that wait for one would never start.

    Fix
        Switch the checkpoint off, or have checkpoints switched on in the operator's configuration.

    Example
        # facts: {checkpoint: false}
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    bad       experimental:
    bad         checkpoint: {enabled: true}  # expect
    ok        experimental: {checkpoint: {enabled: false}}

    bad # kind: DynamoCheckpoint/v1alpha1
    bad # facts: {checkpoint: false}
    bad spec:  # expect
    bad   identity: {model: m, backendFramework: vllm}
    """
    of_component = at.review.kind != CHECKPOINT_KIND
    if of_component and not has_checkpoint(at.value):
        return
    if not at.fact("checkpoint"):
        yield at.forbidden(
            "experimental.checkpoint" if of_component else "", "must not be used while checkpoints are switched off in the operator"
        )


@rule("DYN402", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, until="1.4", differs=Difference((), OFF))
def checkpoint_job_auto_only(at: At) -> Hits:
    """A checkpoint that the operator doesn't make has settings of the job that makes it.

    Why
        The operator runs the job that `job` configures only in mode Auto; otherwise you make the checkpoint yourself. The rule also applies
        while the checkpoint is disabled, as in the schema.

    Fix
        Remove `job`, or set the mode to Auto.

    Example
        spec:
          components:
            - name: worker
              type: worker
    bad       experimental:
    bad         checkpoint:
    bad           mode: Manual
    bad           job: {}  # expect
    ok        experimental: {checkpoint: {mode: Auto, job: {}}}
    """
    checkpoint = read_feature(at.value, "checkpoint") or {}
    seen = checkpoint.get("mode")
    if seen not in (None, "", "Auto") and checkpoint.get("job") is not None:
        text = format_words('must not be set unless {checkpoint}.mode is "Auto", got mode "{seen}"', seen=seen)
        yield at.forbidden("experimental.checkpoint.job", text)


@rule("DYN401", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, differs=Difference((), OFF))
def checkpoint_job_with_ref(at: At) -> Hits:
    """A checkpoint names an existing one, and how to make one.

    Why
        `job` changes the job that makes a checkpoint. With `checkpointRef` none is made, so the changes would have no effect. It is looked
        at while the checkpoint is switched off too, as the schema does.

    Fix
        Remove `job` or `checkpointRef`.

    Example
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       experimental:
    bad         checkpoint:
    bad           checkpointRef: warm
    bad           job: {}  # expect
    ok  spec: {components: [{name: worker, type: worker, experimental: {checkpoint: {checkpointRef: warm}}}]}
    """
    checkpoint = read_feature(at.value, "checkpoint") or {}
    ref = checkpoint.get("checkpointRef")
    if checkpoint.get("job") is not None and ref:
        yield at.forbidden("experimental.checkpoint.job", f'must not be set beside checkpointRef "{ref}": no checkpoint is made then')


@rule("DYN408", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, since="1.4")
def checkpoint_layout_unsupported(at: At) -> Hits:
    """A component with a checkpoint has standby engines, or its weights in other pods.

    Why
        A checkpoint saves one pod with all that it needs. Weights in pods of their own, and standby engines, are not in it.

    Fix
        Switch the checkpoint off, or remove failover and use the GPU memory service in mode {intraPod}.

    Example
        spec:
    bad   backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate:
                spec: {containers: [{name: main, image: "example/vllm:1.5.0", resources: {limits: {nvidia.com/gpu: "1"}}}]}
    bad       experimental:
    bad         gpuMemoryService: {mode: InterPod}
    bad         checkpoint: {enabled: true, checkpointRef: c}  # expect
    ok        experimental: {gpuMemoryService: {mode: IntraPod}, checkpoint: {enabled: true, checkpointRef: c}}

    bad spec:
    bad   backendFramework: vllm
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       podTemplate:
    bad         spec: {containers: [{name: main, image: "example/vllm:1.5.0", resources: {limits: {nvidia.com/gpu: "1"}}}]}
    bad       experimental:
    bad         gpuMemoryService: {mode: InterPod}
    bad         failover: {mode: InterPod, numShadows: 1}
    bad         checkpoint: {enabled: true, checkpointRef: c}  # expect
    """
    if not has_checkpoint(at.value):
        return
    if interpod_gms(at.value):
        yield at.forbidden(
            "experimental.checkpoint", format_words('must not be enabled while {gpuMemoryService} has the mode "{interPod}"')
        )
    if read_failover(at.value) is not None:
        yield at.forbidden("experimental.checkpoint", format_words("must not be enabled together with {failover}"))


@rule("DYN403", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, differs=Difference((), OFF))
def checkpoint_target_name(at: At) -> Hits:
    """A checkpoint's target has a name that no container can have.

    Why
        The state of one container is kept, and names of containers are DNS labels. Any other text finds nothing. It is looked at while the
        checkpoint is switched off too, as the schema does.

    Fix
        Write the name of a container of the pod, or leave the field out for `main`.

    Example
        spec:
          components:
            - name: worker
              type: worker
    bad       experimental:
    bad         checkpoint: {targetContainerName: Main}  # expect
    ok        experimental: {checkpoint: {targetContainerName: main}}
    """
    name = at.get("experimental.checkpoint.targetContainerName")
    if name and not is_label(name):
        text = f'{LABEL_WANTED}, got "{name}"'
        yield at.invalid("experimental.checkpoint.targetContainerName", name, text)
