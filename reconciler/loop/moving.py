"""Moving a graph to Grove or away from it: what ran ends before anything is asked for again, and Services go from owner to owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import NotServedError
from dynamo_webhooks.reconciler.loop.kinds import CLIQUES
from dynamo_webhooks.reconciler.loop.pathway import Pathway, pathway
from dynamo_webhooks.reconciler.loop.pods import pods_of
from dynamo_webhooks.reconciler.loop.surroundings import grove_of
from dynamo_webhooks.reconciler.render.children import render

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.observed import Observed
    from dynamo_webhooks.reconciler.render.settings import Settings

_REACHED_BY: Final = frozenset({"Service", "Ingress", "VirtualService"})


def pathway_of(work: Work, graph: Node) -> Pathway:
    """Where a graph runs or is to run."""
    usable, served = grove_of(work.settings, work.known())
    gone = CLIQUES in work.cache.lacking() and CLIQUES not in work.cache.unreadable()
    return pathway(graph, work.cache.owned(graph), usable=usable and not gone, served=served and not gone)


async def waits_for(work: Work, graph: Node, way: Pathway) -> str:
    """What has yet to end before a graph may run elsewhere; empty when it runs where it is to. Raises: ApiError."""
    if not way.moving:
        return ""
    where = "to Grove" if way.grove else "away from Grove"
    if way.old:
        return f"moves {where}: {way.old[0]['kind']} {way.old[0]['metadata']['name']} must end first"
    pods = await pods_of(work, graph)
    return f"moves {where}: {len(pods)} pods must end first, the oldest is {pods[0]['metadata']['name']}" if pods else ""


async def end(work: Work, way: Pathway) -> None:
    """Deletes what runs a graph where it is not to run any more. Raises: ApiError, StandDownError."""
    for one in way.old:
        if not one["metadata"].get("deletionTimestamp"):
            try:
                await work.writer.drop(one)
            except NotServedError:
                continue  # it went with its kind


def left_to_components(work: Work, graph: Node, settings: Settings, observed: Observed, wanted: set[tuple[str, str]]) -> frozenset[str]:
    """Names of what a graph had on Grove, and its components take over: clients keep the Service that they know."""
    mine = {(one["kind"], one["metadata"]["name"]) for one in work.cache.owned(graph) if one["kind"] in _REACHED_BY}
    if mine <= wanted:
        return frozenset()
    below = {(one["kind"], one["metadata"]["name"]) for one in render(graph, settings, observed).children}
    return frozenset(name for kind, name in mine & below)
