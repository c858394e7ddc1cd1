"""Fields of a graph that have no effect."""

from ...api.paths import Key
from ..at import At
from ..domain import GROVE_OPT_OUT, explain_off_grove, opts_out_of_grove
from ..rule import GRAPH_ANNOTATIONS, TOPOLOGY, Hits, Stage, differs, rule


@differs(("Q-26",), "a value that looks like an opt-out, but is none, gets a warning", lacking=True)
@rule("DYN908", where=GRAPH_ANNOTATIONS, when=GROVE_OPT_OUT, stage=Stage.ADVICE)
def warn_grove_annotation(at: At) -> Hits:
    """The Grove annotation has a value that is neither true nor false.

    Why
        Only `false` keeps a graph off Grove. `no`, `0` or an empty text look as if they did, but the graph runs on Grove all the same.

    Fix
        Write `"false"` to keep the graph off Grove, `"true"` or no annotation to run it there.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/enable-grove: "no"  # expect
    ok  metadata: {annotations: {nvidia.com/enable-grove: "False"}}
    """
    value = at.value[GROVE_OPT_OUT]
    if value.lower() not in ("true", "false"):
        yield at.warning((Key(GROVE_OPT_OUT),), f'must be "true" or "false", got "{value}"')


@differs(("Q-08",), "constraints without effect are reported instead of silently dropped", lacking=True)
@rule("DYN906", where=TOPOLOGY, stage=Stage.ADVICE)
def warn_topology_ignored(at: At) -> Hits:
    """The graph has topology constraints, but Grove does not run it.

    Why
        Only Grove packs pods by topology. Elsewhere the constraints are checked for their form and then ignored.

    Fix
        Run the graph on Grove, or remove the constraints and use the affinity of `{extraPodSpec}`.

    Example
    bad # facts: {grove: false}
    bad spec:
    bad   topologyConstraint: {clusterTopologyName: default, packDomain: zone}  # expect

    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
    bad spec:
    bad   topologyConstraint: {clusterTopologyName: default, packDomain: zone}  # expect
    ok  spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}}
    """
    # an unknown Grove is silence: advice must not keep a graph from being judged
    if at.review.facts.grove is False or opts_out_of_grove(at.review):
        yield at.warning("", f"is ignored, because {explain_off_grove(at)}")
