"""The multinode layout of a graph's component."""

from ..at import At
from ..domain import WORKERS, is_line_1_6, is_multinode
from ..review import UPDATE
from ..rule import COMPONENT, Difference, Hits, Stage, rule


@rule(
    "DYN702",
    where=COMPONENT,
    on=(UPDATE,),
    stage=Stage.IMMUTABLE,
    ratchets=False,
    differs=Difference(("Q-09",), "a standalone component has the same child objects as one of a graph"),
)
def dgd_node_layout_immutable(at: At) -> Hits:
    """A component goes from one node to several, or back.

    Why
        One node is one pod a replica, several nodes are a group of pods with a leader: different child objects, which can't turn
        into each other. On lines before 1.6 the number of nodes of a multi-node component may change. Since line 1.6 only workers
        span several nodes, and a stored component of another type may lose `multinode`.

    Fix
        Put the old layout back, or create another graph with the new one; a standalone component can be created under another name.

    Example
    bad spec: {components: [{name: worker}]}
    bad --- # becomes
    bad spec:
    bad   components:
    bad     - {name: worker, multinode: {nodeCount: 2}}  # expect

    bad # kind: DynamoComponentDeployment/v1beta1
    bad spec: {multinode: {nodeCount: 2}}
    ok  spec: {components: [{name: worker, multinode: {nodeCount: 2}}]}
        --- # becomes
    bad spec: {replicas: 2}  # expect
    ok  spec: {components: [{name: worker, multinode: {nodeCount: 4}}]}
    """
    if at.old is None or (spread := is_multinode(at.value)) == is_multinode(at.old):
        return
    if spread or at.value.get("type") in WORKERS or not is_line_1_6(at.review):
        was, now = ("one node", "several nodes") if spread else ("several nodes", "one node")
        yield at.immutable("multinode", f"must stay on {was}, got {now}")
