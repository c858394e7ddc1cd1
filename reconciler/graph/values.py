"""State, plan and result of a pass over a graph."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..common.conditions import Condition
from ..common.keys import kind_and_name
from ..common.problems import Problem
from ..common.resources import COMPONENT
from ..render.graph import Graph
from ..render.observed import NOTHING, ObservedState
from ..render.settings import Settings
from ..render.without_effect import Note
from ..workload.orchestrator import Orchestrator
from ..workload.pull_secrets import PullSecrets
from .clique_status import GroveStatus
from .generations import Roll
from .set_status import SetStatus
from .snapshots import GraphCheckpoints


class GraphState(NamedTuple):
    """The state at the start of a pass."""

    graph: Graph
    orchestrator: Orchestrator = Orchestrator(grove=False)
    settings: Settings = Settings()
    owned: Sequence[Any] = ()  # children of the graph
    snapshots: GraphCheckpoints = GraphCheckpoints({})
    on_grove: ObservedState = NOTHING  # for a graph on Grove
    on_set: SetStatus = SetStatus()  # of a graph that is a DisaggregatedSet
    pull_secrets: PullSecrets | None = None
    blocker: str = ""  # what must end before the graph may run on its orchestrator
    orchestrator_condition: Condition | None = None  # the condition about its orchestrator
    registered: Mapping[str, int] = {}  # component's object -> its workers that frontends know; while generations change
    notes: Sequence[Note] = ()  # fields without effect beside those that rendering finds


class GraphPlan(NamedTuple):
    """The changes of one pass."""

    roll: Roll = Roll("")
    observed: ObservedState = NOTHING
    digest: str = ""  # of a generation that another operator named, to be recorded
    rendered: Sequence[Any] = ()  # all wanted children
    applied: Sequence[Any] = ()  # children to apply now, in order
    owners: Sequence[tuple[Any, list[Any]]] = ()  # checkpoints and their new owner references
    kept_names: frozenset[str] = frozenset()  # names of children that components take over
    problems: Sequence[Problem] = ()
    notes: Sequence[Note] = ()  # fields without effect

    @property
    def wanted(self) -> set[tuple[str, str]]:
        """Kinds and names of the children that are not pruned."""
        return {*map(kind_and_name, self.rendered)}

    @property
    def expected(self) -> list[str]:
        """Names of the component objects that must exist and be ready."""
        return [child["metadata"]["name"] for child in self.applied if child["kind"] == COMPONENT]


class GraphResult(NamedTuple):
    """The state after the writes of one pass."""

    problems: Sequence[Problem] = ()
    optional_problems: Sequence[Problem] = ()  # missing permissions for checkpoints, without which the graph runs
    grove: GroveStatus | None = None  # the state on Grove
    on_set: SetStatus = SetStatus()  # the state of its DisaggregatedSet
    components: Sequence[Any] = ()  # objects of components, of all generations
    checkpoints: Mapping[str, Any] = {}  # by component
    requeue_after: float = 0.0  # seconds until the next pass
