"""What the pods of a graph on Grove are restored from, where no component has an object of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.clique_status import running, why_not
from dynamo_webhooks.reconciler.loop.keys import key_of
from dynamo_webhooks.reconciler.loop.kinds import CLIQUES
from dynamo_webhooks.reconciler.loop.restore_failures import Restoring, followed
from dynamo_webhooks.reconciler.loop.restoring import Pods, choice_for
from dynamo_webhooks.reconciler.render.children import direct_children
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.names import COMPONENT, GRAPH_NAME, low

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.snapshots import Snapshots
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.graph import Graph, Member
    from dynamo_webhooks.reconciler.render.observed import Observed
    from dynamo_webhooks.reconciler.render.settings import Settings


async def chosen_on_grove(work: Work, graph: Graph, seen: Snapshots, settings: Settings, observed: Observed) -> Snapshots:
    """What pods of cliques are restored from. Costs one more render of the set. Raises: ApiError, RenderError."""
    rendered = next((one for one in direct_children(graph.object, settings, observed).children if one["kind"] == CLIQUES), None)
    if rendered is None:
        return seen
    made = work.cache.get(key_of(rendered))
    cold, live, asked = _templates(rendered), _templates(made), _asked(made)
    standings, restores, waits = {}, {}, set()
    for member, one in running(graph, work.cache.owned(made) if made is not None else ()):
        if member.name not in seen.wanted:
            continue
        obj = {**graph.object, "spec": member.fields}
        clique = low(member.name)
        replicas = one["spec"].get("replicas") if one is not None else asked.get(clique, 0)
        pods = Pods(cold[clique], live.get(clique), begun=replicas != 0) if clique in cold else None
        try:
            choice = await choice_for(work, obj, pods, settings)
        except RenderError as error:
            raise RenderError((*member.path, *error.path[1:]), error.reason) from None
        choice = await followed(work, obj, choice, _runs(graph, member, one))
        if choice.standing is not None:
            standings[member.name] = choice.standing
        if choice.restore is not None:
            restores[member.name] = choice.restore
        if choice.waits:
            waits.add(member.name)
    return seen._replace(on_grove=standings, restores=restores, waits=frozenset(waits))


def _runs(graph: Graph, member: Member, one: Node | None) -> Restoring:
    """What runs a component on Grove. Pods of one that isn't there are not looked for."""
    replicas = one["spec"].get("replicas", 1) if one is not None else 0
    labels = f"{GRAPH_NAME}={graph.name},{COMPONENT}={member.name}"
    return Restoring(labels, replicas, not why_not(member, one))


def _asked(made: Node | None) -> dict[str, int | None]:
    """The replicas that the template of a set asks for, by the name of the clique or the group: they count before that is there."""
    template = ((made or {}).get("spec") or {}).get("template") or {}
    groups = {str(one.get("name")): one.get("replicas") for one in items(template.get("podCliqueScalingGroups"))}
    return {str(one.get("name")): (one.get("spec") or {}).get("replicas") for one in items(template.get("cliques"))} | groups


def _templates(cliques: Node | None) -> dict[str, Node]:
    """The pod template of each clique of a set, by the clique's name."""
    found = items((((cliques or {}).get("spec") or {}).get("template") or {}).get("cliques"))
    return {str(one.get("name")): _template(one) for one in found}


def _template(clique: Node) -> Node:
    metadata = {name: clique.get(name) or {} for name in ("labels", "annotations")}
    return {"metadata": metadata, "spec": (clique.get("spec") or {}).get("podSpec") or {}}
