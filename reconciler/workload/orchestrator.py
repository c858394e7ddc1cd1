"""The place where a graph runs: on Grove, or as objects of components. It stays there until its owner asks for the other.

Then the old objects end before new ones are created, and Services go from owner to owner. The children of the graph show where it runs.
A condition records Grove, whose objects vanish with its API, and a move, in the middle of which the graph owns neither.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...kube.errors import NotServedError
from ...kube.protocol import Node
from ..common.conditions import Condition, condition_of
from ..common.keys import kind_and_name
from ..common.resources import CLIQUE, CLIQUE_GROUP, CLIQUES, COMPONENT
from ..engine.cluster_settings import read_served
from ..engine.context import Context
from ..render.children import render
from ..render.names import ENABLE_GROVE, WORKLOAD_PROVIDER, is_provided_by_grove
from ..render.observed import ObservedState
from ..render.settings import Settings
from .pods import list_pods

ORCHESTRATOR: Final = "Orchestrator"  # the condition of a graph
_GROVE_KINDS: Final = (CLIQUE, CLIQUE_GROUP)  # what another operator's status says of a graph on Grove, whose objects may not be seen here
_GROVE: Final = "Grove"
_MOVING: Final = "Moving"
_LOST: Final = "GroveNotServed"
_REACHED_BY: Final = frozenset({"Service", "Ingress", "VirtualService"})


class Orchestrator(NamedTuple):
    """The place where a graph runs or is to run."""

    grove: bool
    runs: bool = False  # whether it runs on one of both at all
    moving: bool = False  # whether what ran on the other must end first
    old: Sequence[Any] = ()  # the objects that ran it on the other
    lost: bool = False  # whether it runs on Grove, which can't be asked
    served: bool = True  # whether the cluster serves Grove
    bound: bool = False  # whether an annotation of line 1.5 says where, which no user can change


def choose_orchestrator(graph: Node, owned: Sequence[Node], *, usable: bool, served: bool) -> Orchestrator:
    """Chooses where a graph runs, from its children. Grove is `usable` where it is served and not switched off."""
    alive = {child["kind"] for child in owned if not child["metadata"].get("deletionTimestamp")}
    status = graph.get("status") or {}
    before = condition_of(status, ORCHESTRATOR).get("reason")
    ran = before in (_GROVE, _LOST) or any(
        (component or {}).get("componentKind") in _GROVE_KINDS for component in (status.get("components") or {}).values()
    )
    runs = False if COMPONENT in alive else True if CLIQUES in alive or ran else None
    annotations = graph["metadata"].get("annotations") or {}
    switch = str(annotations.get(ENABLE_GROVE, "")).lower()
    kept = usable if runs is None else runs
    grove = is_provided_by_grove(annotations)
    bound = grove is not None
    if grove is None:
        grove = switch != "false" and (usable or runs is True if switch == "true" else kept)
    new, other = (CLIQUES, COMPONENT) if grove else (COMPONENT, CLIQUES)
    old = [child for child in owned if child["kind"] == other and (served or other != CLIQUES)]
    leaves = runs is not None and runs is not grove
    return Orchestrator(
        grove, runs is not None, new not in alive and (leaves or before == _MOVING), old, grove and not usable, served, bound
    )


def make_orchestrator_condition(orchestrator: Orchestrator, graph: Node, blocker: str = "") -> Condition | None:
    """Makes the condition that reports where a graph runs; None for one that has never run on Grove."""
    generation = graph["metadata"].get("generation")
    if blocker:
        return Condition(ORCHESTRATOR, "False", _MOVING, blocker, generation)
    if orchestrator.lost:
        why = "is switched off" if orchestrator.served else "is not served by the cluster"
        remedy = f"{WORKLOAD_PROVIDER} keeps it there" if orchestrator.bound else f'{ENABLE_GROVE}: "false" moves it away from there'
        text = f"the graph runs on Grove, which {why}, and is left alone; {remedy}"
        return Condition(ORCHESTRATOR, "False", _LOST, text, generation)
    if orchestrator.grove:
        return Condition(ORCHESTRATOR, "True", _GROVE, "the graph runs on Grove", generation)
    if condition_of(graph.get("status") or {}, ORCHESTRATOR):
        return Condition(ORCHESTRATOR, "True", "Components", "each component runs by itself", generation)
    return None


def is_switching(graph: Node) -> bool:
    """Whether a graph's status says that it moves."""
    return bool(condition_of(graph.get("status") or {}, ORCHESTRATOR).get("reason") == _MOVING)


def find_orchestrator(context: Context, graph: Node) -> Orchestrator:
    """Finds where a graph runs or is to run."""
    served, switch = read_served(context.detector.known).grove, context.settings.orchestrators.grove.enabled
    usable = served if switch is None else switch
    gone = CLIQUES in context.cache.unavailable() and CLIQUES not in context.cache.unreadable()
    return choose_orchestrator(graph, context.cache.owned(graph), usable=usable and not gone, served=served and not gone)


async def find_blocking_pods(context: Context, graph: Node, orchestrator: Orchestrator) -> str:
    """Finds what has yet to end before a graph may run elsewhere; empty when it runs where it is to. Raises: ApiError."""
    if not orchestrator.moving:
        return ""
    where = "to Grove" if orchestrator.grove else "away from Grove"
    if orchestrator.old:
        return f"moves {where}: {orchestrator.old[0]['kind']} {orchestrator.old[0]['metadata']['name']} must end first"
    pods = await list_pods(context, graph)
    return f"moves {where}: {len(pods)} pods must end first, the oldest is {pods[0]['metadata']['name']}" if pods else ""


async def finish_switch(context: Context, orchestrator: Orchestrator) -> None:
    """Deletes what runs a graph where it is not to run any more. Raises: ApiError, StandDownError."""
    for child in orchestrator.old:
        if not child["metadata"].get("deletionTimestamp"):
            with contextlib.suppress(NotServedError):  # it went with its kind
                await context.writer.drop(child)


def find_shared_services(
    graph: Node, owned: Sequence[Node], settings: Settings, observed: ObservedState, wanted: set[tuple[str, str]]
) -> frozenset[str]:
    """Names of children on Grove that components take over: clients keep the Service that they know. Pure."""
    mine = {kind_and_name(child) for child in owned if child["kind"] in _REACHED_BY}
    if mine <= wanted:
        return frozenset()
    return frozenset(name for _, name in mine.intersection(map(kind_and_name, render(graph, settings, observed).children)))
