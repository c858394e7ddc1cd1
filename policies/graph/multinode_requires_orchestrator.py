"""DYN111: several nodes where nothing can start them together."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import lacking, multinode, node_count, off_grove, opted_out_of_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import SERVICES, Difference, Hits, rule


@rule(
    "DYN111",
    where=SERVICES,
    when="multinode",
    stage=Stage.SCHEDULING,
    needs=("grove", "lws"),
    current_only=Difference(("G-02",), "without both orchestrators the operator fails the graph"),
)
def multinode_requires_orchestrator(at: At) -> Hits:
    """A service spans several nodes, but neither Grove nor LeaderWorkerSet can run it.

    Why
        The pods of one engine that spans nodes must start and stop together. Plain Deployments can't do that, so the graph would end in
        state failed.

    Fix
        Run the graph on Grove, have LeaderWorkerSet and Volcano installed, or keep the {service} on one node.

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
    if multinode(at.value) and not _can_run(at):
        other = lacking(at, "lws", "LeaderWorkerSet with Volcano")
        text = f"must not span {node_count(at.value)} nodes: {off_grove(at)}; {other}"
        yield at.forbidden("multinode", text)


def _can_run(at: At) -> bool:
    """Whether there is an orchestrator; one that is known to be there is enough, so the fact about the other may be unknown."""
    facts, opted_out = at.review.facts, opted_out_of_grove(at.review)
    if facts.lws is True or (facts.grove is True and not opted_out):
        return True
    return bool((not opted_out and at.fact("grove")) or at.fact("lws"))
