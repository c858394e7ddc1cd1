"""The PodCliqueSet of a graph: all its components in one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ....api.paths import format_path
from ....conversion.lens.protocol import Fields
from ....policies.domain import GROVE_STRATEGIES, GROVE_UPDATE_STRATEGY
from ..checkpoint.restore import Restore
from ..errors import RenderError
from ..graph import Graph, Member, check_templates, is_inter_pod, replicas_in, size_of
from ..merge import string_map
from ..multinode.role import check_nodes
from ..names import GRAPH_NAME, lower_name
from ..objects import make_child
from ..settings import Settings
from ..template import own_templates
from . import inter_pod, names, override
from .cliques import cliques
from .member import grove_member

API_VERSION: Final = "grove.io/v1alpha1"
MOST: Final = 3 * 1024 * 1024  # bytes of one request, which API servers fix
LEAST: Final = 2000  # bytes of a clique that shares GPUs, beside what its author says


def clique_set(graph: Graph, settings: Settings, restarts: Mapping[str, str], restores: Mapping[str, Restore]) -> list[Fields]:
    """The set of a graph; none for a graph without components. The restarts are marks by component, the restores their snapshots.

    Raises: RenderError if a component has no valid pods: the set is made whole or not at all.
    """
    if not graph.members:
        return []
    for one in graph.members:
        check_nodes(one.nodes, one.path)
        override.check_roles(one)
        check_templates(graph, one)
    _check_names(graph.members)
    _check_size(graph)
    # Grove doesn't use accounts of the namespace
    ours = settings._replace(service_account="")
    made = [
        clique
        for one in graph.members
        for clique in cliques(grove_member(graph, one, ours, restarts.get(one.name, "")), ours, restores.get(one.name))
    ]
    labels = {**string_map(graph.spec.get("labels")), GRAPH_NAME: graph.name}
    annotations = string_map(graph.spec.get("annotations"))
    out = make_child(
        API_VERSION, "PodCliqueSet", names.set_name(graph), graph.namespace, labels=labels, annotations=annotations, owner=graph.object
    )
    strategy = graph.annotations.get(GROVE_UPDATE_STRATEGY)
    said = {"updateStrategy": {"type": strategy}} if strategy in GROVE_STRATEGIES else {}
    out["spec"] = {**said, "replicas": 1, "template": {**_template(graph, made), "terminationDelay": settings.termination_delay}}
    return [out]


def _check_names(members: Iterable[Member]) -> None:
    """Raises: RenderError if two components would make a clique of one name."""
    made: dict[str, Member] = {}
    for one in members:
        for name in names.cliques(one):
            other = made.setdefault(name, one)
            if other is not one:
                does = f"would make the PodClique {name} of Grove, as {format_path(other.path)} ({other.name}) does"
                raise RenderError((*one.path, "name"), f"must be another one: {one.name} {does}; rename one of both")


def _check_size(graph: Graph) -> None:
    """Raises: RenderError for a set that no API server takes, before it is rendered: of a short graph that may take a minute."""
    shared, least = size_of(graph.spec.get("env")), 0
    for one in graph.members:
        pod = shared + max(size_of(template) for template in own_templates({**one.fields})) + (LEAST if is_inter_pod(one.fields) else 0)
        least += pod * len(names.cliques(one))
        if least > MOST:
            text = f"must be short enough for a PodCliqueSet of {MOST} bytes, which is all that an API server takes"
            raise RenderError((*one.path, "podTemplate"), f"{text}; it would have {least} at least: use fewer nodes, or shorter templates")


def _template(graph: Graph, made: list[Fields]) -> Fields:
    waits = any(one["spec"].get("startsAfter") for one in made)
    out: Fields = {
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "cliqueStartupType": "CliqueStartupTypeExplicit" if waits else "CliqueStartupTypeAnyOrder",
        "cliques": made,
    }
    groups = [_group(one) for one in graph.members if names.is_grouped(one)]
    templates = [one for member in graph.members if is_inter_pod(member.fields) for one in inter_pod.claim_templates(member)]
    constraint = override.of_set(graph)
    if graph.spec.get("priorityClassName"):
        out["priorityClassName"] = graph.spec["priorityClassName"]
    return {
        **out,
        **({"podCliqueScalingGroups": groups} if groups else {}),
        **({"resourceClaimTemplates": templates} if templates else {}),
        **({"topologyConstraint": constraint} if constraint else {}),
    }


def _group(member: Member) -> Fields:
    """The scaling group of a component. Grove refuses a set with one of no replicas: it is made with the fewest, then scaled to zero."""
    constraint = override.of_component(member)
    return {
        "name": lower_name(member.name),
        "cliqueNames": names.cliques(member),
        "replicas": replicas_in(member.fields) or names.least(member),
        "minAvailable": names.least(member),
        **({"resourceSharing": inter_pod.sharing(member)} if is_inter_pod(member.fields) else {}),
        **({"topologyConstraint": constraint} if constraint else {}),
    }
