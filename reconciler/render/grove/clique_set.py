"""The PodCliqueSet of a graph: all its components in one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.graph import is_inter_pod, size_of
from dynamo_webhooks.reconciler.render.grove import inter_pod, names, override
from dynamo_webhooks.reconciler.render.grove.cliques import cliques
from dynamo_webhooks.reconciler.render.grove.member import grove_member
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.multinode.role import check_nodes
from dynamo_webhooks.reconciler.render.names import GRAPH_NAME, low
from dynamo_webhooks.reconciler.render.objects import child

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.checkpoint.restore import Restore
    from dynamo_webhooks.reconciler.render.graph import Graph, Member
    from dynamo_webhooks.reconciler.render.settings import Settings

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
    _check_names(graph.members)
    _check_size(graph)
    # Grove doesn't use accounts of the namespace
    ours = settings._replace(service_account="")
    made = [
        clique
        for one in graph.members
        for clique in cliques(grove_member(graph, one, ours, restarts.get(one.name, "")), ours, restores.get(one.name))
    ]
    labels = {**texts(graph.spec.get("labels")), GRAPH_NAME: graph.name}
    annotations = texts(graph.spec.get("annotations"))
    out = child(
        API_VERSION, "PodCliqueSet", names.set_name(graph), graph.namespace, labels=labels, annotations=annotations, owner=graph.object
    )
    out["spec"] = {"replicas": 1, "template": {**_template(graph, made), "terminationDelay": settings.termination_delay}}
    return [out]


def _check_names(members: Iterable[Member]) -> None:
    """Raises: RenderError if two components would make a clique of one name."""
    made: dict[str, Member] = {}
    for one in members:
        for name in names.cliques(one):
            other = made.setdefault(name, one)
            if other is not one:
                does = f"would make the PodClique {name} of Grove, as {render(other.path)} ({other.name}) does"
                raise RenderError((*one.path, "name"), f"must be another one: {one.name} {does}; rename one of both")


def _check_size(graph: Graph) -> None:
    """Raises: RenderError for a set that no API server takes, before it is rendered: of a short graph that may take a minute."""
    shared, least = size_of(graph.spec.get("env")), 0
    for one in graph.members:
        pod = shared + size_of(one.fields.get("podTemplate")) + (LEAST if is_inter_pod(one.fields) else 0)
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
    replicas = member.fields.get("replicas")
    constraint = override.of_component(member)
    return {
        "name": low(member.name),
        "cliqueNames": names.cliques(member),
        "replicas": 1 if replicas is None else replicas,
        "minAvailable": names.least(member),
        **({"resourceSharing": inter_pod.sharing(member)} if is_inter_pod(member.fields) else {}),
        **({"topologyConstraint": constraint} if constraint else {}),
    }
