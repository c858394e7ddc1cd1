"""Where a graph runs: on Grove, or as objects of components. It stays there until its owner asks for the other. Pure.

Told from what the graph owns; a condition remembers Grove, whose objects vanish with its API, and a move, between whose two ends the
graph owns neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...kube.protocol import Node
from ...policies.facts import Facts
from ..common.conditions import Condition, condition_of
from ..common.resources import CLIQUE, CLIQUE_GROUP, CLIQUES, COMPONENT, LWS
from ..render.names import ENABLE_GROVE, WORKLOAD_PROVIDER, is_provided_by_grove

ORCHESTRATOR: Final = "Orchestrator"  # the condition of a graph
_MADE: Final = (CLIQUE, CLIQUE_GROUP)  # what another operator's status says of a graph on Grove, whose objects may not be seen here
_GROVE: Final = "Grove"
_COMPONENTS: Final = "Components"
_MOVING: Final = "Moving"
_LOST: Final = "GroveNotServed"


class Orchestrator(NamedTuple):
    """Where a graph runs or is to run."""

    grove: bool
    runs: bool = False  # whether it runs on one of both at all
    moving: bool = False  # whether what ran on the other must end first
    old: Sequence[Any] = ()  # the objects that ran it on the other
    lost: bool = False  # whether it runs on Grove, which can't be asked
    served: bool = True  # whether the cluster serves Grove
    bound: bool = False  # whether an annotation of line 1.5 says where, which nobody can change

    @property
    def remedy(self) -> str:
        """What moves the graph away from a Grove that is gone."""
        return f"{WORKLOAD_PROVIDER} keeps it there" if self.bound else f'{ENABLE_GROVE}: "false" moves it away from there'

    def facts(self, known: Facts) -> Facts:
        """The facts by which the graph is judged: what runs is not refused for what the cluster has come to serve, or serves no more."""
        return known._replace(grove=self.grove) if self.runs else known


def pathway(graph: Node, owned: Sequence[Node], *, usable: bool, served: bool) -> Orchestrator:
    """Where a graph runs, from what it owns. Grove is `usable` where it is served and not switched off."""
    alive = {one["kind"] for one in owned if not one["metadata"].get("deletionTimestamp")}
    status = graph.get("status") or {}
    before = condition_of(status, ORCHESTRATOR).get("reason")
    ran = before in (_GROVE, _LOST) or any((one or {}).get("componentKind") in _MADE for one in (status.get("components") or {}).values())
    runs = False if COMPONENT in alive else True if CLIQUES in alive or ran else None
    annotations = graph["metadata"].get("annotations") or {}
    said = str(annotations.get(ENABLE_GROVE, "")).lower()
    kept = usable if runs is None else runs
    grove = is_provided_by_grove(annotations)
    bound = grove is not None
    if grove is None:
        grove = said != "false" and (usable or runs is True if said == "true" else kept)
    new, other = (CLIQUES, COMPONENT) if grove else (COMPONENT, CLIQUES)
    old = [one for one in owned if one["kind"] == other and (served or other != CLIQUES)]
    leaves = runs is not None and runs is not grove
    return Orchestrator(
        grove, runs is not None, new not in alive and (leaves or before == _MOVING), old, grove and not usable, served, bound
    )


def orchestrator_condition(way: Orchestrator, graph: Node, waits: str = "") -> Condition | None:
    """What a graph's status says of where it runs; nothing for one that has never run on Grove."""
    generation = graph["metadata"].get("generation")
    if waits:
        return Condition(ORCHESTRATOR, "False", _MOVING, waits, generation)
    if way.lost:
        why = "is switched off" if way.served else "is not served by the cluster"
        text = f"the graph runs on Grove, which {why}, and is left alone; {way.remedy}"
        return Condition(ORCHESTRATOR, "False", _LOST, text, generation)
    if way.grove:
        return Condition(ORCHESTRATOR, "True", _GROVE, "the graph runs on Grove", generation)
    if condition_of(graph.get("status") or {}, ORCHESTRATOR):
        return Condition(ORCHESTRATOR, "True", _COMPONENTS, "each component runs by itself", generation)
    return None


def is_switching(graph: Node) -> bool:
    """Whether a graph's status says that it moves."""
    return bool(condition_of(graph.get("status") or {}, ORCHESTRATOR).get("reason") == _MOVING)


def on_leader_worker_sets(component: Node) -> bool:
    """Whether a component's object has a LeaderWorkerSet, which goes on where the cluster can't have new ones."""
    return bool(((component.get("status") or {}).get("component") or {}).get("componentKind") == LWS)
