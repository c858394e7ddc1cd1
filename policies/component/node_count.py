"""The number of nodes."""

from typing import Final

from ..at import At
from ..domain import node_count
from ..rule import COMPONENT, Difference, Hits, Stage, rule

# Every node is a child object of its own, or several, and Kubernetes supports clusters of 5,000 nodes: a fifth of the largest cluster for
# one replica is more than any engine has been spread over, and far below the number that exhausts memory.
LIMIT: Final = 1_000


@rule(
    "DYN210",
    where=COMPONENT,
    when="multinode",
    stage=Stage.COMPONENT,
    differs=Difference(("Q-05",), "a huge count costs the Go operator seconds and memory; from 2**30 it crashes"),
)
def node_count_limit(at: At) -> Hits:
    """One replica spans an absurd number of nodes.

    Why
        The operator makes children for every node of a replica. A slip of the keyboard must not keep it and the API server
        busy for hours.

    Fix
        Write the number of nodes that one replica of the model is spread over, at most 1000.

    Example
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       multinode:
    bad         nodeCount: 20000000  # expect
    ok  spec: {components: [{name: worker, type: worker, multinode: {nodeCount: 16}}]}
    """
    nodes = node_count(at.value)
    if nodes > LIMIT:
        yield at.invalid("multinode.nodeCount", nodes, f"must be at most {LIMIT}, got {nodes}")
