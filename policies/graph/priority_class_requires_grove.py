"""DYN106: a priority class for a graph that Grove does not run."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import GROVE_OPT_OUT, off_grove, opted_out_of_grove
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule


@rule("DYN106", where=GRAPH, when="priorityClassName", stage=Stage.SCHEDULING, needs=("grove",))
def priority_class_requires_grove(at: At) -> Hits:
    """A graph has a priority class, but Grove does not run it.

    Why
        The graph's priority class is handed to Grove, which schedules the graph as one gang. Without Grove nobody would read it, and the
        pods would run with the default priority.

    Fix
        Remove `priorityClassName`, or run the graph on Grove. A single {service} can have a priority class in its `{extraPodSpec}`.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          priorityClassName: high  # expect
        ```
        ```yaml
        # facts: {grove: false}
        spec:
          priorityClassName: high  # expect
        ```

    Good
        ```yaml
        spec:
          priorityClassName: high
        ```
    """
    name = at.value["priorityClassName"]
    if name and (reason := off_grove(at)):
        switch = opted_out_of_grove(at.review) and at.review.facts.grove is not False
        fix = f"remove the annotation {GROVE_OPT_OUT}, or priorityClassName" if switch else ""
        yield at.forbidden("priorityClassName", f'must be unset without Grove, got "{name}": {reason}', fix=fix)
