"""Topology constraints of a graph and of its services, and the cluster's topology."""

from collections.abc import Iterator
from typing import Any, Final

from ...api.paths import Path
from ..at import At, Findings
from ..facts import Unknown
from ..grove import explain_off_grove, opts_out_of_grove
from ..patterns import check_domain, is_domain
from ..review import CREATE, UPDATE, Fields, Review, is_line_1_4
from ..rule import GRAPH, GRAPH_COMPONENT, GRAPH_OBJECT, TOPOLOGY, Stage, differs, rule
from ..words import VersionText, format_words, quote_all

# why the look-ups differ from the Go operator 1.2, the same for all of them
_CREATIONS_ONLY: Final = "only creations are checked, so that updates don't fail after changes of the cluster"

_PLURAL: Final = {"ClusterTopology": "ClusterTopologies", "ClusterTopologyBinding": "ClusterTopologyBindings"}


def _kind_of(review: Review) -> str:
    """Grove's kind that lists a cluster's domains: another one since operator 1.4."""
    return "ClusterTopologyBinding" if is_line_1_4(review) else "ClusterTopology"


def _levels(at: At) -> tuple[str, ...] | None:
    """The domains of the graph's ClusterTopology from broad to narrow; None when it is not known, not readable or not there.

    Those three have rules of their own (topology-cluster-not-found, topology-cluster-unreadable), so that one gap is reported once.
    """
    topologies = at.review.facts.clusterTopologies
    if topologies is None or isinstance(topologies, Unknown):
        return None
    constraint = at.review.spec.get("topologyConstraint") or {}
    return topologies.get(constraint.get("clusterTopologyName") or "")


@differs(_CREATIONS_ONLY)
@rule("DYN147", where=TOPOLOGY, when="clusterTopologyName", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_cluster_not_found(at: At) -> Findings:
    """The graph names a ClusterTopology that the cluster doesn't have.

    Why
        Grove reads the domains from the ClusterTopology. Without it, the graph's pods are never scheduled.

    Fix
        Name one that exists (`kubectl get clustertopologies`, since operator 1.4 `clustertopologybindings`), or create it first.

    Example
         spec:
           topologyConstraint:
        -    clusterTopologyName: production  # expect
        +    clusterTopologyName: default
             packDomain: rack
    """
    name, topologies = at.value["clusterTopologyName"], at.review.facts.clusterTopologies
    # None is the case of topology-cluster-unreadable
    if not name or topologies is None or (not isinstance(topologies, Unknown) and name in topologies) or explain_off_grove(at):
        return
    known = quote_all(at.fact("clusterTopologies")) or "none"
    yield at.not_found("clusterTopologyName", name, f'must name a {_kind_of(at.review)} of this cluster, got "{name}"; it has {known}')


@differs(_CREATIONS_ONLY)
@rule("DYN148", where=TOPOLOGY, when="clusterTopologyName", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_cluster_unreadable(at: At) -> Findings:
    """The graph names a ClusterTopology, but ClusterTopologies can't be read.

    Why
        A graph with a wrong topology or domain is never scheduled. If ClusterTopologies can't be read, the name can't be checked, so the
        graph is refused.

    Fix
        Install Grove's ClusterTopology resource and let the webhook read it, or remove the topology constraints.

    Example
        -# facts: {clusterTopologies: null}
        +# facts: {clusterTopologies: {default: [zone, rack]}}
         spec:
           topologyConstraint:
             clusterTopologyName: default  # expect
             packDomain: rack
    """
    name = at.value["clusterTopologyName"]
    if name and at.review.facts.clusterTopologies is None and not explain_off_grove(at):
        kind = _kind_of(at.review)
        text = f'must name a {kind} that can be looked up, got "{name}": the cluster does not serve {_PLURAL[kind]}'
        yield at.invalid("clusterTopologyName", name, text)


@differs(_CREATIONS_ONLY)
@rule("DYN150", where=GRAPH_COMPONENT, when="topologyConstraint", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_domain_broader(at: At) -> Findings:
    """A component is packed within a broader domain than its graph.

    Why
        The graph's constraint applies to all of its pods. A component that may spread wider contradicts it.

    Fix
        Set the graph's domain or a narrower one for the {service}, or a broader one for the graph.

    Example
         spec:
           topologyConstraint: {clusterTopologyName: default, packDomain: rack}
           components:
        -    - {name: worker, type: worker, topologyConstraint: {packDomain: zone}}  # expect
        +    - {name: worker, type: worker, topologyConstraint: {packDomain: host}}
    """
    known, domain = _levels(at), at.value["topologyConstraint"].get("packDomain")
    graph = (at.review.spec.get("topologyConstraint") or {}).get("packDomain")
    if known is None or domain not in known or graph not in known:
        return
    if known.index(domain) < known.index(graph) and not explain_off_grove(at):
        yield at.invalid("", domain, f'must not be packed within a broader domain than the graph, got "{domain}" under "{graph}"')


@differs(_CREATIONS_ONLY)
@rule("DYN149", where=GRAPH, when="topologyConstraint", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_domain_unknown(at: At) -> Findings:
    """A topology domain isn't in the ClusterTopology that the graph names.

    Why
        Pods can only be packed within domains that the ClusterTopology lists.

    Fix
        Choose one of the listed domains, or name another ClusterTopology.

    Example
         spec:
           topologyConstraint:
             clusterTopologyName: default
        -    packDomain: room  # expect
        +    packDomain: zone
           {worker component}
               topologyConstraint:
        -        packDomain: numa  # expect
        +        packDomain: rack
    """
    known = _levels(at)
    if known is None:
        return
    # format rules report malformed ones
    unknown = [(path, domain) for path, domain in _domains(at) if domain not in known and is_domain(domain)]
    if unknown and not explain_off_grove(at):
        listed = quote_all(known) or "none"
        for path, domain in unknown:
            yield at.invalid(path, domain, f'must be a domain of the {_kind_of(at.review)} ({listed}), got "{domain}"')


def _domains(at: At) -> Iterator[tuple[Path, str]]:
    if domain := at.value["topologyConstraint"].get("packDomain"):
        yield ("topologyConstraint", "packDomain"), domain
    for index, _, component in at.components:
        if domain := (component.get("topologyConstraint") or {}).get("packDomain"):
            yield ("components", index, "topologyConstraint", "packDomain"), domain


@rule("DYN145", where=TOPOLOGY, stage=Stage.TOPOLOGY)
def topology_profile_required(at: At) -> Findings:
    """The graph's topology constraint names no ClusterTopology.

    Why
        Domains such as `rack` are defined by a ClusterTopology, which lists them from broad to narrow.

    Fix
        Write the name of a ClusterTopology of the cluster as `{topologyProfile}`.

    Example
         spec:
           topologyConstraint:
        -    clusterTopologyName: ""  # expect
        +    clusterTopologyName: "default"
             packDomain: zone
    """
    if not at.value.get("clusterTopologyName"):
        yield at.required("clusterTopologyName", f"must name a {_kind_of(at.review)}, got nothing")


@rule("DYN141", where=TOPOLOGY, when="packDomain", stage=Stage.TOPOLOGY)
def topology_spec_domain_format(at: At) -> Findings:
    """The graph's topology domain is malformed.

    Why
        Domain names consist of lower-case letters, digits and dashes. Any other name can't be in a ClusterTopology.

    Fix
        Write the domain as in the ClusterTopology, for example `rack`.

    Example
         spec:
           topologyConstraint:
             clusterTopologyName: default
        -    packDomain: Rack  # expect
        +    packDomain: rack
    """
    yield from check_domain(at, "packDomain", at.value["packDomain"])


_FIELDS = ("clusterTopologyName", "packDomain")


@rule("DYN706", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def topology_spec_immutable(at: At) -> Findings:
    """The topology constraint of a graph changes after creation.

    Why
        Pods are placed once; a new constraint would apply only to new pods.

    Fix
        Restore the old constraint, or delete the graph and create it with the new one.

    Example
        -spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}}
        ---- # becomes
        -spec:
        -  topologyConstraint: {clusterTopologyName: default, packDomain: rack}  # expect

         spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}}
         --- # becomes
        -spec: {backendFramework: null}  # expect
        +spec: {topologyConstraint: {clusterTopologyName: default, packDomain: zone}, env: [{name: A, value: b}]}
    """
    if at.old is None:
        return
    now, before = at.get("spec.topologyConstraint"), at.was("spec.topologyConstraint")
    if now is not None and before is not None:
        if _values(now) != _values(before):
            yield at.immutable(
                "spec.topologyConstraint", format_words("must stay {before}, got {now}", before=_describe(before), now=_describe(now))
            )
    elif before is not None:
        yield at.immutable("spec.topologyConstraint", format_words("must stay {before}, got none", before=_describe(before)))
    elif now is not None:
        yield at.immutable("spec.topologyConstraint", "must not be added to an existing graph")


def _values(constraint: Fields) -> list[Any]:
    return [constraint.get(field) or "" for field in _FIELDS]


def _describe(constraint: Fields) -> VersionText:
    profile, domain = _values(constraint)
    return format_words('{topologyProfile} "{profile}" and packDomain "{domain}"', profile=profile, domain=domain)


@rule("DYN144", where=GRAPH, when="components.*.topologyConstraint", stage=Stage.TOPOLOGY)
def topology_spec_required(at: At) -> Findings:
    """A component has a topology constraint, but the graph names no ClusterTopology.

    Why
        A component's constraint names only a domain. The graph's constraint names the ClusterTopology that defines the domain.

    Fix
        Add `spec.topologyConstraint` with the `{topologyProfile}` that defines the domains of the {services}.

    Example
         spec:  # expect
        +  topologyConstraint: {clusterTopologyName: default}
           components: [{name: worker, type: worker, topologyConstraint: {packDomain: rack}}]
    """
    if at.value.get("topologyConstraint") is not None:
        return
    names = [name for _, name, component in at.components if component.get("topologyConstraint") is not None]
    if names:
        shown = f'"{min(names)}"' + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        text = format_words("must be set while {services} have constraints ({shown}), got nothing", shown=shown)
        yield at.required("topologyConstraint", text)


@differs("one component with a constraint is enough: a graph may pack only some of them")
@rule("DYN146", where=GRAPH, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_constraint_required(at: At) -> Findings:
    """The graph names a ClusterTopology, but neither the graph nor any component names a domain.

    Why
        If the graph's constraint has no `packDomain`, each component's constraint names the domain to pack within. If no component has
        one, the constraint has no effect.

    Fix
        Set `packDomain` in the graph's constraint, or add a constraint to each of the {services} that are to be packed.

    Example
         spec:
           topologyConstraint: {clusterTopologyName: default}  # expect
        -  components: [{name: worker, type: worker}]
        +  components: [{name: frontend, type: frontend}, {name: worker, type: worker, topologyConstraint: {packDomain: rack}}]
    """
    if at.value["topologyConstraint"].get("packDomain"):
        return
    if all(component.get("topologyConstraint") is None for _, _, component in at.components):
        text = format_words("must name a domain where no {service} has a constraint of its own, got nothing")
        yield at.required("topologyConstraint.packDomain", text)


@rule("DYN143", where=GRAPH_COMPONENT, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_domain_format(at: At) -> Findings:
    """A component's topology domain is malformed.

    Why
        Domain names consist of lower-case letters, digits and dashes. Any other name can't be in a ClusterTopology.

    Fix
        Write the domain as in the ClusterTopology, for example `rack`.

    Example
         spec:
           topologyConstraint: {clusterTopologyName: default, packDomain: zone}
           {worker component}
               topologyConstraint:
        -        packDomain: Rack  # expect
        +        packDomain: rack
    """
    yield from check_domain(at, "topologyConstraint.packDomain", at.value["topologyConstraint"].get("packDomain"))


@rule("DYN142", where=GRAPH_COMPONENT, when="topologyConstraint", stage=Stage.TOPOLOGY)
def topology_service_domain_required(at: At) -> Findings:
    """A component has a topology constraint without a domain.

    Why
        A component's constraint only names the domain within which its pods are packed. Without a domain, it has no effect.

    Fix
        Name a domain of the graph's ClusterTopology, or remove the {service}'s constraint.

    Example
         spec:
           topologyConstraint: {clusterTopologyName: default, packDomain: zone}
           {worker component}
        -      topologyConstraint: {}  # expect
        +      topologyConstraint:
        +        packDomain: rack
    """
    if not at.value["topologyConstraint"].get("packDomain"):
        yield at.required("topologyConstraint.packDomain", "must name a domain, got nothing")


@rule("DYN707", where=GRAPH_COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def topology_service_immutable(at: At) -> Findings:
    """The topology constraint of a component changes after creation.

    Why
        Pods are placed once; a new constraint would apply only to new replicas of the component.

    Fix
        Restore the old domain, or delete the graph and create it with the new one.

    Example
         spec:
           topologyConstraint: {clusterTopologyName: default}
           components: [{name: worker, topologyConstraint: {packDomain: rack}}]
         --- # becomes
         spec:
           topologyConstraint: {clusterTopologyName: default}
           components:
             - name: worker
        -      topologyConstraint: {packDomain: host}  # expect
        +      topologyConstraint: {packDomain: rack}
        +      replicas: 2
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


@differs("constraints without effect are reported instead of silently dropped", lacking=True)
@rule("DYN906", where=TOPOLOGY, stage=Stage.ADVICE)
def warn_topology_ignored(at: At) -> Findings:
    """The graph has topology constraints, but Grove does not run it.

    Why
        Only Grove packs pods by topology. Without it, the constraints are validated and then ignored.

    Fix
        Run the graph on Grove, or remove the constraints and use the affinity of `{extraPodSpec}`.

    Example
        -# facts: {grove: false}
        -spec:
        -  topologyConstraint: {clusterTopologyName: default, packDomain: zone}  # expect

        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         spec:
           topologyConstraint: {clusterTopologyName: default, packDomain: zone}  # expect
    """
    # an unknown Grove is silence: advice must not keep a graph from being judged
    if at.review.facts.grove is False or opts_out_of_grove(at.review):
        yield at.warning("", f"is ignored, because {explain_off_grove(at)}")
