"""Which components may start from a checkpoint, and which snapshot they may name."""

from ..at import At
from ..domain import WORKERS, explain_workers_only, has_checkpoint, read_feature
from ..review import Fields
from ..rule import COMPONENT, DCD, Hits, Stage, rule

_GRAPH = "DynamoGraphDeployment"


# inferred for line 1.5: it may be of 1.6 only
@rule("DYN409", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, ratchets=False, since="1.5")
def checkpoint_use_of_workers(at: At) -> Hits:
    """A component that is no worker asks for a checkpoint.

    Why
        A checkpoint keeps the state of an engine, and only workers have one.

    Fix
        Remove the checkpoint, or switch it off.

    Example
        spec:
          components:
    bad     - name: frontend
    bad       type: frontend
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.5.0"}]}}
    bad       experimental:
    bad         checkpoint: {enabled: true, checkpointRef: snapshot}  # expect
    ok      - name: worker
    ok        type: worker
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    ok        experimental: {checkpoint: {enabled: true, checkpointRef: snapshot}}
    """
    if has_checkpoint(at.value) and at.value.get("type") not in WORKERS:
        yield at.forbidden("experimental.checkpoint", f"must be unset {explain_workers_only(at.value)}")


# inferred for line 1.5: it may be of 1.6 only
@rule("DYN410", where={DCD: "spec"}, when="experimental", stage=Stage.CHECKPOINT, ratchets=False, since="1.5")
def checkpoint_use_of_graphs(at: At) -> Hits:
    """A standalone worker names a snapshot.

    Why
        Only the operator gives a snapshot to a component, which it makes of a graph.

    Fix
        Remove `checkpointRef`, or write it into the component of a graph.

    Example
        # kind: DynamoComponentDeployment/v1beta1
    ok  metadata:
    ok    ownerReferences: [{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, name: g, uid: "1", controller: true}]
        spec:
          type: worker
          podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    bad   experimental:
    bad     checkpoint: {enabled: true, checkpointRef: snapshot}  # expect
    ok    experimental: {checkpoint: {enabled: true, checkpointRef: snapshot}}
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
