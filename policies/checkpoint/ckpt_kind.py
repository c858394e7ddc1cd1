"""The kind DynamoCheckpoint as such."""

from ..at import At
from ..finding import Level
from ..rule import CHECKPOINT, Hits, Stage, rule


@rule("DYN914", where=CHECKPOINT, level=Level.WARNING, stage=Stage.ADVICE, ratchets=False, since="1.5")
def ckpt_kind_gone(at: At) -> Hits:
    """A DynamoCheckpoint is written, a kind that the Go operator lacks from line 1.5 on.

    Why
        That operator has neither a definition nor a controller for it. Where the definition was kept, a deletion waits for ever for a
        controller that removes the finalizer.

    Fix
        Delete DynamoCheckpoints before the upgrade to line 1.5. There `checkpointRef` names a PodSnapshot.

    Example
    ok  # kind: DynamoGraphDeployment/v1beta1
        spec:  # expect
    bad   identity: {model: m, backendFramework: vllm}
    ok    components:
    ok      - name: worker
    ok        type: worker
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    ok        experimental: {checkpoint: {enabled: true, checkpointRef: snapshot}}
    """
    yield at.warning("", "is of a kind that is gone from line 1.5 on: delete it before the upgrade")
