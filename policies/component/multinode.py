"""Components on several nodes."""

from ..at import At
from ..domain import LPX, WORKERS, explain_workers_only, is_multinode, node_count
from ..review import UPDATE
from ..rule import COMPONENT, Hits, Stage, rule


@rule("DYN238", where=COMPONENT, when="multinode", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def multinode_type_unsupported(at: At) -> Hits:
    """A component that is no worker spans several nodes.

    Why
        Only engines divide their work between nodes. A component that was stored so may stay, or lose `multinode`.

    Fix
        Remove `multinode`.

    Example
        spec:
          components:
    bad     - name: frontend
    bad       type: frontend
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.6.0"}]}}
    ok      - name: worker
    ok        type: worker
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
              multinode: {nodeCount: 2}  # expect
    """
    kind = at.value.get("type")
    if kind in WORKERS or (kind != LPX and at.was("multinode") is not None and at.was("type") == kind):
        return
    yield at.forbidden("multinode", f"must be unset {explain_workers_only(at.value)}")


@rule("DYN725", where=COMPONENT, on=(UPDATE,), when="multinode", stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def multinode_count_immutable(at: At) -> Hits:
    """The number of nodes of a replica changes after creation.

    Why
        The pods of a replica are started as one group with a fixed number of ranks.

    Fix
        Put the old number back, or create another component with the new one.

    Example
        {worker}
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
              multinode: {nodeCount: 2}
        --- # becomes
        {worker}
    ok        replicas: 2
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
    bad       multinode: {nodeCount: 4}  # expect
    ok        multinode: {nodeCount: 2}
    """
    if at.old is None or not is_multinode(at.value) or not is_multinode(at.old):
        return
    if (now := node_count(at.value)) != (was := node_count(at.old)):
        yield at.immutable("multinode.nodeCount", f"must stay {was} after creation, got {now}", value=now)
