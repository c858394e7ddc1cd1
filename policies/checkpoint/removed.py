"""The kind of checkpoints, which later releases of the operator remove."""

from ..at import At, Findings
from ..rule import CHECKPOINT, Stage, rule


@rule("DYN914", where=CHECKPOINT, stage=Stage.ADVICE, ratchets=False, since="1.5")
def ckpt_kind_gone(at: At) -> Findings:
    """A DynamoCheckpoint is written, a kind that the Go operator no longer has since 1.5.

    Why
        Operator 1.5 has neither a definition nor a controller for this kind. If the definition was kept, deletions wait forever, because
        no controller removes the finalizer.

    Fix
        Delete DynamoCheckpoints before the upgrade to operator 1.5. There, `checkpointRef` names a PodSnapshot.

    Example
        -spec:  # expect
        -  identity: {model: m, backendFramework: vllm}

        +# kind: DynamoGraphDeployment/v1beta1
        +{worker with an image}
        +      experimental: {checkpoint: {enabled: true, checkpointRef: snapshot}}
    """
    yield at.warning("", "is of a kind that operator 1.5 no longer has: delete it before the upgrade")
