"""Multinode components and the orchestrator."""

from typing import Final

from ..at import At
from ..domain import explain_absence, explain_off_grove, is_multinode, node_count, provide, way_to_grove
from ..rule import GRAPH_COMPONENT, Difference, Hits, Stage, rule
from ..words import format_words

_LWS: Final = "LeaderWorkerSet with Volcano"


@rule(
    "DYN111",
    where=GRAPH_COMPONENT,
    when="multinode",
    stage=Stage.SCHEDULING,
    needs=("grove", "lws"),
    differs=Difference(("G-02",), "without both orchestrators the operator fails the graph", lacking=True),
)
def multinode_requires_orchestrator(at: At) -> Hits:
    """A service spans several nodes, but neither Grove nor LeaderWorkerSet can run it.

    Why
        The pods of one engine that spans nodes must start and stop together. Plain Deployments can't do that, so the graph would end in
        state failed.

    Fix
        Install Grove, which most clusters run such graphs on, or LeaderWorkerSet with Volcano; or keep the {service} on one node. A graph
        that was created without Grove must be created anew to run there, without the annotation `nvidia.com/enable-grove: "false"`.

    Example
    bad # facts: {grove: false, lws: false}
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       multinode: {nodeCount: 2}  # expect

    bad # facts: {lws: false}
    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       multinode: {nodeCount: 2}  # expect
    ok  # facts: {grove: false, lws: true}
    ok  spec: {components: [{name: worker, type: worker, multinode: {nodeCount: 2}}]}
    """
    if is_multinode(at.value) and not _can_run(at):
        lacks = explain_absence(at, "lws", _LWS)
        text = f"must not span {node_count(at.value)} nodes: {explain_off_grove(at)}; {lacks}"
        other = provide(at, "lws", _LWS)
        fix = format_words("{grove}, the usual way, or {other}; else keep the {service} on one node", grove=way_to_grove(at), other=other)
        yield at.forbidden("multinode", text, fix=fix)


def _can_run(at: At) -> bool:
    """Whether there is an orchestrator; one that is known to be there is enough, so the fact about the other may be unknown."""
    return at.review.facts.lws is True or not explain_off_grove(at) or bool(at.fact("lws"))
