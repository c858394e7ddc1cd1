"""What the pods of a graph on Grove are restored from, where no component has an object of its own."""

from __future__ import annotations

from ...kube.protocol import Node
from ..checkpoint.restoring import Pods, choose_restore, follow_failures
from ..common.keys import key_of
from ..common.resources import CLIQUES
from ..engine.work import Work
from ..render.children import direct_children
from ..render.errors import RenderError
from ..render.graph import Graph
from ..render.merge import object_items
from ..render.names import COMPONENT, GRAPH_NAME, lower_name
from ..render.observed import Observed
from ..render.settings import Settings
from .clique_status import pair_with_runners, why_not
from .snapshots import Snapshots


async def choose_restore_on_grove(work: Work, graph: Graph, seen: Snapshots, settings: Settings, observed: Observed) -> Snapshots:
    """What pods of cliques are restored from. Costs one more render of the set. Raises: ApiError, RenderError."""
    rendered = next((one for one in direct_children(graph.object, settings, observed).children if one["kind"] == CLIQUES), None)
    if rendered is None:
        return seen
    made = work.cache.get(key_of(rendered))
    cold, live, asked = _templates(rendered), _templates(made), _asked(made)
    choices = {}
    for member, one in pair_with_runners(graph, work.cache.owned(made) if made is not None else ()):
        if member.name not in seen.wanted:
            continue
        obj = {**graph.object, "spec": member.fields}
        clique = lower_name(member.name)
        replicas = one["spec"].get("replicas") if one is not None else asked.get(clique, 0)
        pods = Pods(cold[clique], live.get(clique), begun=replicas != 0) if clique in cold else None
        try:
            choice = await choose_restore(work, obj, pods, settings)
        except RenderError as error:
            raise RenderError((*member.path, *error.path[1:]), error.reason) from None
        labels = f"{GRAPH_NAME}={graph.name},{COMPONENT}={member.name}"
        runs = one["spec"].get("replicas", 1) if one is not None else 0  # pods of one that isn't there are not looked for
        choices[member.name] = await follow_failures(work, obj, choice, labels, runs, ready=not why_not(member, one))
    return seen._replace(choices=choices)


def _asked(made: Node | None) -> dict[str, int | None]:
    """The replicas that the template of a set asks for, by the name of the clique or the group: they count before that is there."""
    template = ((made or {}).get("spec") or {}).get("template") or {}
    groups = {str(one.get("name")): one.get("replicas") for one in object_items(template.get("podCliqueScalingGroups"))}
    return {str(one.get("name")): (one.get("spec") or {}).get("replicas") for one in object_items(template.get("cliques"))} | groups


def _templates(cliques: Node | None) -> dict[str, Node]:
    """The pod template of each clique of a set, by the clique's name."""
    found = object_items((((cliques or {}).get("spec") or {}).get("template") or {}).get("cliques"))
    return {str(one.get("name")): _template(one) for one in found}


def _template(clique: Node) -> Node:
    metadata = {name: clique.get(name) or {} for name in ("labels", "annotations")}
    return {"metadata": metadata, "spec": (clique.get("spec") or {}).get("podSpec") or {}}
