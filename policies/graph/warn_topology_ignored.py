"""DYN906: topology constraints of a graph that Grove does not run."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import off_grove, opted_out_of_grove
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import TOPOLOGY, Difference, Hits, rule


@rule(
    "DYN906",
    where=TOPOLOGY,
    stage=Stage.ADVICE,
    level=Level.WARNING,
    current_only=Difference(("Q-08",), "constraints without effect are reported instead of silently dropped"),
)
def warn_topology_ignored(at: At) -> Hits:
    """The graph has topology constraints, but Grove does not run it.

    Why
        Only Grove packs pods by topology. Elsewhere the constraints are checked for their form and then ignored.

    Fix
        Run the graph on Grove, or remove the constraints and use the affinity of `{extraPodSpec}`.

    Bad
        ```yaml
        # facts: {grove: false}
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}  # expect
        ```
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}  # expect
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
        ```
    """
    # an unknown Grove is silence: advice must not keep a graph from being judged
    if at.review.facts.grove is False or opted_out_of_grove(at.review):
        yield at.warning("", f"is ignored, because {off_grove(at)}")
