"""Moving a graph to Grove or away from it: what ran ends before anything is asked for again, and Services go from owner to owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...kube.errors import NotServedError
from ...kube.protocol import Node
from ..common.resources import CLIQUES
from ..engine.cluster_settings import read_grove
from ..engine.work import Work
from ..render.children import render
from ..render.observed import Observed
from ..render.settings import Settings
from .orchestrator import Orchestrator, pathway
from .pods import pods_of

_REACHED_BY: Final = frozenset({"Service", "Ingress", "VirtualService"})


def find_orchestrator(work: Work, graph: Node) -> Orchestrator:
    """Where a graph runs or is to run."""
    usable, served = read_grove(work.settings, work.known())
    gone = CLIQUES in work.cache.lacking() and CLIQUES not in work.cache.unreadable()
    return pathway(graph, work.cache.owned(graph), usable=usable and not gone, served=served and not gone)


async def find_blocking_pods(work: Work, graph: Node, way: Orchestrator) -> str:
    """What has yet to end before a graph may run elsewhere; empty when it runs where it is to. Raises: ApiError."""
    if not way.moving:
        return ""
    where = "to Grove" if way.grove else "away from Grove"
    if way.old:
        return f"moves {where}: {way.old[0]['kind']} {way.old[0]['metadata']['name']} must end first"
    pods = await pods_of(work, graph)
    return f"moves {where}: {len(pods)} pods must end first, the oldest is {pods[0]['metadata']['name']}" if pods else ""


async def finish_switch(work: Work, way: Orchestrator) -> None:
    """Deletes what runs a graph where it is not to run any more. Raises: ApiError, StandDownError."""
    for one in way.old:
        if not one["metadata"].get("deletionTimestamp"):
            try:
                await work.writer.drop(one)
            except NotServedError:
                continue  # it went with its kind


def find_shared_services(
    graph: Node, owned: Sequence[Node], settings: Settings, observed: Observed, wanted: set[tuple[str, str]]
) -> frozenset[str]:
    """Names of children on Grove that components take over: clients keep the Service that they know. Pure."""
    mine = {(child["kind"], child["metadata"]["name"]) for child in owned if child["kind"] in _REACHED_BY}
    if mine <= wanted:
        return frozenset()
    below = {(one["kind"], one["metadata"]["name"]) for one in render(graph, settings, observed).children}
    return frozenset(name for kind, name in mine & below)
