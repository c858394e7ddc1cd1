"""DYN144: services with topology constraints in a graph without one."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN144", where=GRAPH, when="services.*.topologyConstraint", stage=Stage.TOPOLOGY)
def topology_spec_required(at: At) -> Hits:
    """A service has a topology constraint, but the graph names no topology.

    Why
        A service's constraint names a domain only. Which ClusterTopology the domain belongs to is said once, by the graph's constraint.

    Fix
        Add `spec.topologyConstraint` with the `{topologyProfile}` that the {services}' domains come from.

    Bad
        ```yaml
        spec:  # expect
          services:
            worker:
              componentType: worker
              topologyConstraint: {packDomain: rack}
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default}
          services:
            worker:
              componentType: worker
              topologyConstraint: {packDomain: rack}
        ```
    """
    if at.value.get("topologyConstraint") is not None:
        return
    names = [name for name, service in at.value["services"].items() if service and service.get("topologyConstraint") is not None]
    if names:
        shown = f'"{min(names)}"' + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        text = words("must be set while {services} have constraints ({shown}), got nothing", shown=shown)
        yield at.required("topologyConstraint", text)
