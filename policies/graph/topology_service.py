"""Topology constraints of services."""

from ..at import At
from ..domain import check_domain, list_components
from ..review import UPDATE
from ..rule import GRAPH, GRAPH_COMPONENT, Hits, Stage, differs, rule
from ..words import format_words


@differs((), "one component with a constraint is enough: a graph may pack only some of them")
@rule("DYN146", where=GRAPH, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_constraint_required(at: At) -> Hits:
    """The graph names a topology, but neither it nor any service names a domain.

    Why
        A constraint without `packDomain` leaves it to the services to say what they are packed within. When none of them does, the
        constraint has no effect at all.

    Fix
        Give the graph's constraint a `packDomain`, or give those {services} a constraint that are to be packed.

    Example
        spec:
          topologyConstraint: {clusterTopologyName: default}  # expect
    bad   components: [{name: worker, type: worker}]
    ok    components: [{name: frontend, type: frontend}, {name: worker, type: worker, topologyConstraint: {packDomain: rack}}]
    """
    if at.value["topologyConstraint"].get("packDomain"):
        return
    if all(component.get("topologyConstraint") is None for _, _, component in list_components(at.value)):
        text = format_words("must name a domain where no {service} has a constraint of its own, got nothing")
        yield at.required("topologyConstraint.packDomain", text)


@rule("DYN143", where=GRAPH_COMPONENT, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_domain_format(at: At) -> Hits:
    """A service's topology domain is malformed.

    Why
        Domains are named in lower-case letters, digits and dashes. Any other spelling can't be found in a ClusterTopology.

    Fix
        Write the domain as the ClusterTopology spells it, `rack` for example.

    Example
        spec:
          topologyConstraint: {clusterTopologyName: default, packDomain: zone}
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       topologyConstraint:
    bad         packDomain: Rack  # expect
    ok    components: [{name: worker, type: worker, topologyConstraint: {packDomain: rack}}]
    """
    yield from check_domain(at, "topologyConstraint.packDomain", at.value["topologyConstraint"].get("packDomain"))


@rule("DYN142", where=GRAPH_COMPONENT, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_domain_required(at: At) -> Hits:
    """A service has a topology constraint without a domain.

    Why
        The domain is all that a service's constraint says: within what its pods are to be packed. Without it the constraint is empty.

    Fix
        Name a domain of the graph's ClusterTopology, or remove the {service}'s constraint.

    Example
        spec:
          topologyConstraint: {clusterTopologyName: default, packDomain: zone}
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       topologyConstraint: {}  # expect
    ok    components: [{name: worker, type: worker, topologyConstraint: {packDomain: rack}}]
    """
    if not at.value["topologyConstraint"].get("packDomain"):
        yield at.required("topologyConstraint.packDomain", "must name a domain, got nothing")


@rule("DYN707", where=GRAPH_COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def topology_service_immutable(at: At) -> Hits:
    """The topology constraint of a service changes after creation.

    Why
        Pods are placed once; a new constraint would hold for some replicas of the service and not for others.

    Fix
        Put the old domain back, or create the graph anew with the other one.

    Example
        spec:
          topologyConstraint: {clusterTopologyName: default}
          components: [{name: worker, topologyConstraint: {packDomain: rack}}]
        --- # becomes
        spec:
          topologyConstraint: {clusterTopologyName: default}
    bad   components:
    bad     - name: worker
    bad       topologyConstraint: {packDomain: host}  # expect
    ok    components: [{name: worker, topologyConstraint: {packDomain: rack}, replicas: 2}]
    """
    if at.old is None:
        return
    now, before = at.value.get("topologyConstraint"), at.old.get("topologyConstraint")
    if (now is None) != (before is None):
        text = format_words(
            "must not be added to an existing {service}" if before is None else "must not be taken from an existing {service}"
        )
        yield at.immutable("topologyConstraint", text)
    elif now is not None and (now.get("packDomain") or "") != (before.get("packDomain") or ""):
        kept = f'must keep packDomain "{before.get("packDomain") or ""}", got "{now.get("packDomain") or ""}"'
        yield at.immutable("topologyConstraint", kept)
