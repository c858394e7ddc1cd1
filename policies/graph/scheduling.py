"""Rules for what schedules the pods of a graph."""

from typing import Final

from ..annotations import GROVE_OPT_OUT
from ..at import At, Findings
from ..components import count_nodes, is_multinode
from ..grove import DISAGGREGATED, explain_absence, explain_off_grove, opts_out_of_grove, provider, suggest_grove, suggest_install
from ..rule import GRAPH, GRAPH_COMPONENT, Stage, differs, rule
from ..words import format_words

_LWS: Final = "LeaderWorkerSet with Volcano"


@differs("without both orchestrators the operator fails the graph", lacking=True)
@rule("DYN111", where=GRAPH_COMPONENT, when="multinode", stage=Stage.SCHEDULING, needs=("grove", "lws"))
def multinode_requires_orchestrator(at: At) -> Findings:
    """A component spans several nodes, but the cluster has neither Grove nor LeaderWorkerSet.

    Why
        The pods of an engine that spans several nodes must start and stop together. Deployments can't do that, so the graph would fail.

    Fix
        Install Grove (usual) or LeaderWorkerSet with Volcano, or keep the {service} on one node. A graph that was created without Grove
        must be created again to run there, without the annotation `nvidia.com/enable-grove: "false"`.

    Example
        -# facts: {grove: false, lws: false}
        -{worker}
        -      multinode: {nodeCount: 2}  # expect

        -# facts: {lws: false}
        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        +# facts: {grove: false, lws: true}
         {worker}
               multinode: {nodeCount: 2}  # expect
    """
    if is_multinode(at.value) and not _can_run(at):
        lacks = explain_absence(at, "lws", _LWS)
        text = f"must not span {count_nodes(at.value)} nodes: {explain_off_grove(at)}; {lacks}"
        other = suggest_install(at, "lws", _LWS)
        fix = format_words("{grove}, the usual way, or {other}; else keep the {service} on one node", grove=suggest_grove(at), other=other)
        yield at.forbidden("multinode", text, fix=fix)


def _can_run(at: At) -> bool:
    """Returns whether there is an orchestrator; one that is known to exist is enough, so the fact about the other may be unknown.

    A graph that is to be a DisaggregatedSet is not refused: its reconciler reports whether it can be one.
    """
    return at.review.facts.lws is True or not explain_off_grove(at) or provider(at) == DISAGGREGATED or bool(at.fact("lws"))


@rule("DYN106", where=GRAPH, when="priorityClassName", stage=Stage.SCHEDULING, needs=("grove",))
def priority_class_requires_grove(at: At) -> Findings:
    """A graph has a priority class, but Grove does not run it.

    Why
        On Grove, the graph is scheduled as one gang with this priority class. Without Grove, the class is ignored, and the pods have the
        default priority.

    Fix
        Remove `priorityClassName`, or run the graph on Grove. A single {service} can have a priority class in its `{extraPodSpec}`.

    Example
        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        -spec:
        -  priorityClassName: high  # expect

        -# facts: {grove: false}
         spec:
           priorityClassName: high  # expect
    """
    name = at.value["priorityClassName"]
    if name and (reason := explain_off_grove(at)):
        switch = opts_out_of_grove(at.review) and at.review.facts.grove is not False
        fix = f"remove the annotation {GROVE_OPT_OUT}, or priorityClassName" if switch else ""
        yield at.forbidden("priorityClassName", f'must be unset without Grove, got "{name}": {reason}', fix=fix)
