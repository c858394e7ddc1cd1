"""DYN146: a graph's topology constraint that constrains nothing."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import services
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN146", where=GRAPH, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_constraint_required(at: At) -> Hits:
    """The graph names a topology, but neither it nor any service names a domain.

    Why
        A constraint without `packDomain` leaves it to the services to say what they are packed within. When none of them does, the
        constraint has no effect at all.

    Fix
        Give the graph's constraint a `packDomain`, or give those {services} a constraint that are to be packed.

    Bad
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default}  # expect
          services:
            worker: {componentType: worker}
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default}
          services:
            frontend: {componentType: frontend}
            worker:
              componentType: worker
              topologyConstraint: {packDomain: rack}
        ```
    """
    if at.value["topologyConstraint"].get("packDomain"):
        return
    if all(service.get("topologyConstraint") is None for service in services(at.review).values()):
        text = words("must name a domain where no {service} has a constraint of its own, got nothing")
        yield at.required("topologyConstraint.packDomain", text)


@topology_service_constraint_required.in_1_2(because="one service with a constraint is enough: a graph may pack only some services")
def topology_service_constraint_required_in_1_2(at: At) -> Hits:
    """There every service needs one, null ones too."""
    if at.value["topologyConstraint"].get("packDomain"):
        return
    for name, service in (at.value.get("services") or {}).items():
        if (service or {}).get("topologyConstraint") is None:
            text = "must be set while the graph's constraint has no packDomain, got nothing"
            yield at.required(("services", Key(name), "topologyConstraint"), text)
