"""Components that span several nodes."""

from typing import Final

from ..at import At, Findings
from ..components import LPX, WORKERS, count_nodes, explain_workers_only, is_multinode
from ..review import UPDATE, is_line_1_6
from ..rule import COMPONENT, Stage, differs, rule


@differs("a standalone component has the same child objects as one of a graph")
@rule("DYN702", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_node_layout_immutable(at: At) -> Findings:
    """A component changes from one node to several, or back.

    Why
        On one node, a replica is a single pod; on several nodes, it is a group of pods with a leader. These are different child objects,
        which can't be converted. Before operator 1.6, the number of nodes of a multi-node component may change without Grove. Since
        operator 1.6, only workers span several nodes, and an existing component of another type may drop `multinode`, unless its type
        changes, too.

    Fix
        Restore the old layout, or create another graph with the new one; a standalone component can be created under another name.

    Example
        -spec: {components: [{name: worker}]}
        +spec: {components: [{name: worker, multinode: {nodeCount: 2}}]}
         --- # becomes
         spec:
           components:
        -    - {name: worker, multinode: {nodeCount: 2}}  # expect
        +    - {name: worker, multinode: {nodeCount: 2}, replicas: 2}

        -# kind: DynamoComponentDeployment/v1beta1
        -spec: {multinode: {nodeCount: 2}}
        ---- # becomes
        -spec: {replicas: 2}  # expect
    """
    if at.old is None or (spread := is_multinode(at.value)) == is_multinode(at.old):
        return
    kind = at.value.get("type")
    if spread or kind in WORKERS or kind != at.was("type") or not is_line_1_6(at.review):
        was, now = ("one node", "several nodes") if spread else ("several nodes", "one node")
        yield at.immutable("multinode", f"must stay on {was}, got {now}")


# Every node is a child object of its own, or several, and Kubernetes supports clusters of 5,000 nodes: a fifth of the largest cluster for
# one replica is more than any engine has been spread over, and far below the number that exhausts memory.
MAX_NODES: Final = 1_000


@differs("a huge count costs the Go operator seconds and memory; from 2**30 it crashes")
@rule("DYN210", where=COMPONENT, when="multinode", stage=Stage.COMPONENT)
def node_count_limit(at: At) -> Findings:
    """A replica spans far too many nodes.

    Why
        The operator creates children for every node of a replica. A typing error must not keep the operator and the API server busy for
        hours.

    Fix
        Write the number of nodes for one replica of the model, at most 1000.

    Example
         {worker}
               multinode:
        -        nodeCount: 20000000  # expect
        +        nodeCount: 16
    """
    nodes = count_nodes(at.value)
    if nodes > MAX_NODES:
        yield at.invalid("multinode.nodeCount", nodes, f"must be at most {MAX_NODES}, got {nodes}")


@rule("DYN238", where=COMPONENT, when="multinode", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def multinode_type_unsupported(at: At) -> Findings:
    """A component that isn't a worker spans several nodes.

    Why
        Only engines can divide their work between nodes. An existing component may keep `multinode` as it is, or drop it.

    Fix
        Remove `multinode`.

    Example
         spec:
           components:
        -    - name: frontend
        -      type: frontend
        -      podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.6.0"}]}}
        +    - name: worker
        +      type: worker
        +      podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
               multinode: {nodeCount: 2}  # expect
    """
    kind = at.value.get("type")
    if kind in WORKERS or (kind != LPX and at.was("type") == kind and at.was("multinode") == at.value["multinode"]):
        return
    yield at.forbidden("multinode", f"must be unset {explain_workers_only(at.value)}")


@rule("DYN725", where=COMPONENT, on=(UPDATE,), when="multinode", stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def multinode_count_immutable(at: At) -> Findings:
    """The number of nodes for each replica changes after creation.

    Why
        The pods of a replica start as one group with a fixed number of ranks.

    Fix
        Restore the old number, or create another graph with the new one.

    Example
         {worker}
               podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
               multinode: {nodeCount: 2}
         --- # becomes
         {worker}
        +      replicas: 2
               podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
        -      multinode: {nodeCount: 4}  # expect
        +      multinode: {nodeCount: 2}
    """
    if at.old is None or at.value.get("type") not in WORKERS or not is_multinode(at.value) or not is_multinode(at.old):
        return  # of other types, multinode-type-unsupported refuses it
    if (now := count_nodes(at.value)) != (was := count_nodes(at.old)):
        yield at.immutable("multinode.nodeCount", f"must stay {was} after creation, got {now}", value=now)
