"""The graph's own topology constraint."""

from typing import Any

from ..at import At
from ..domain import is_domain, list_components
from ..finding import Mend
from ..review import UPDATE, Fields
from ..rule import GRAPH, GRAPH_OBJECT, TOPOLOGY, Hits, Stage, rule
from ..words import Words, format_words


@rule("DYN141", where=TOPOLOGY, when="packDomain", stage=Stage.TOPOLOGY)
def topology_spec_domain_format(at: At) -> Hits:
    """The graph's topology domain is malformed.

    Why
        Domains are named in lower-case letters, digits and dashes. Any other spelling can't be found in a ClusterTopology.

    Fix
        Write the domain as the ClusterTopology spells it, `rack` for example.

    Example
    bad spec:
    bad   topologyConstraint:
    bad     clusterTopologyName: default
    bad     packDomain: Rack  # expect
    ok  spec: {topologyConstraint: {clusterTopologyName: default, packDomain: rack}}
    """
    domain = at.value["packDomain"]
    if domain and not is_domain(domain):
        text = f'must be lower-case letters, digits and inner dashes, got "{domain}"'
        yield at.invalid("packDomain", domain, text, mend=Mend(domain.lower()) if is_domain(domain.lower()) else None)


_FIELDS = ("clusterTopologyName", "packDomain")


@rule("DYN706", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def topology_spec_immutable(at: At) -> Hits:
    """The topology constraint of a graph changes after creation.

    Why
        Pods are placed once; a new constraint would hold for some of them and not for others.

    Fix
        Put the old constraint back, or create the graph anew with the other one.

    Example
    bad spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}}
    bad --- # becomes
    bad spec:
    bad   topologyConstraint: {clusterTopologyName: default, packDomain: rack}  # expect

        spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}}
        --- # becomes
    bad spec: {backendFramework: null}  # expect
    ok  spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}, env: [{name: A, value: b}]}
    """
    if at.old is None:
        return
    now, before = at.get("spec.topologyConstraint"), at.was("spec.topologyConstraint")
    if now is not None and before is not None:
        if _values(now) != _values(before):
            yield at.immutable(
                "spec.topologyConstraint", format_words("must stay {before}, got {now}", before=_shown(before), now=_shown(now))
            )
    elif before is not None:
        yield at.immutable("spec.topologyConstraint", format_words("must stay {before}, got none", before=_shown(before)))
    elif now is not None:
        yield at.immutable("spec.topologyConstraint", "must not be added to an existing graph")


def _values(constraint: Fields) -> list[Any]:
    return [constraint.get(field) or "" for field in _FIELDS]


def _shown(constraint: Fields) -> Words:
    profile, domain = _values(constraint)
    return format_words('{topologyProfile} "{profile}" and packDomain "{domain}"', profile=profile, domain=domain)


@rule("DYN144", where=GRAPH, when="components.*.topologyConstraint", stage=Stage.TOPOLOGY)
def topology_spec_required(at: At) -> Hits:
    """A service has a topology constraint, but the graph names no topology.

    Why
        A service's constraint names a domain only. The graph's constraint names the domain's ClusterTopology.

    Fix
        Add `spec.topologyConstraint` with the `{topologyProfile}` that the {services}' domains come from.

    Example
    bad spec: {components: [{name: worker, type: worker, topologyConstraint: {packDomain: rack}}]}  # expect
    ok  spec:
    ok    topologyConstraint: {clusterTopologyName: default}
    ok    components: [{name: worker, type: worker, topologyConstraint: {packDomain: rack}}]
    """
    if at.value.get("topologyConstraint") is not None:
        return
    names = [name for _, name, component in list_components(at.value) if component.get("topologyConstraint") is not None]
    if names:
        shown = f'"{min(names)}"' + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        text = format_words("must be set while {services} have constraints ({shown}), got nothing", shown=shown)
        yield at.required("topologyConstraint", text)
