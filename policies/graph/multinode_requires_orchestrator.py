"""DYN111: several nodes where nothing can start them together."""

from policies.at import At
from policies.domain import multinode, node_count, off_grove, opted_out_of_grove
from policies.order import Stage
from policies.rule import SERVICES, Difference, Hits, rule


@rule(
    "DYN111",
    where=SERVICES,
    when="multinode",
    stage=Stage.SCHEDULING,
    needs=("grove", "lws"),
    current_only=Difference(
        ("G-02",), "a graph that the operator is sure to fail is refused where both orchestrators are known to be missing"
    ),
)
def multinode_requires_orchestrator(at: At) -> Hits:
    """A service spans several nodes, but neither Grove nor LeaderWorkerSet can run it.

    Why
        The pods of one engine that spans nodes must start and stop together. Plain Deployments can't do that, so the graph would end in
        state failed.

    Fix
        Run the graph on Grove, have LeaderWorkerSet and Volcano installed, or keep the service on one node.

    Bad
        ```yaml
        # facts: {grove: false, lws: false}
        spec:
          services:
            worker:
              componentType: worker
              multinode: {nodeCount: 2}  # expect
        ```
        ```yaml
        # facts: {lws: false}
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          services:
            worker:
              componentType: worker
              multinode: {nodeCount: 2}  # expect
        ```

    Good
        ```yaml
        # facts: {grove: false, lws: true}
        spec:
          services:
            worker:
              componentType: worker
              multinode: {nodeCount: 2}
        ```
    """
    facts = at.review.facts
    if multinode(at.value) and facts.lws is False and (facts.grove is False or opted_out_of_grove(at.review)):
        text = f"must not span {node_count(at.value)} nodes: {off_grove(at)}, and LeaderWorkerSet with Volcano is not served"
        yield at.forbidden("multinode", text)
