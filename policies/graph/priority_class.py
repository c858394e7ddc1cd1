"""The priority class."""

from ..at import At
from ..domain import GROVE_OPT_OUT, explain_off_grove, opts_out_of_grove
from ..rule import GRAPH, Hits, Stage, rule


@rule("DYN106", where=GRAPH, when="priorityClassName", stage=Stage.SCHEDULING, needs=("grove",))
def priority_class_requires_grove(at: At) -> Hits:
    """A graph has a priority class, but Grove does not run it.

    Why
        Grove schedules the graph as one gang with this priority class. Without Grove, the class is ignored, and the
        pods run with the default priority.

    Fix
        Remove `priorityClassName`, or run the graph on Grove. A single {service} can have a priority class in its `{extraPodSpec}`.

    Example
    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
    bad spec:
    bad   priorityClassName: high  # expect

    bad # facts: {grove: false}
    bad spec:
    bad   priorityClassName: high  # expect
    ok  spec: {priorityClassName: high}
    """
    name = at.value["priorityClassName"]
    if name and (reason := explain_off_grove(at)):
        switch = opts_out_of_grove(at.review) and at.review.facts.grove is not False
        fix = f"remove the annotation {GROVE_OPT_OUT}, or priorityClassName" if switch else ""
        yield at.forbidden("priorityClassName", f'must be unset without Grove, got "{name}": {reason}', fix=fix)
