"""Reads a graph's state from Grove: readiness and figures of components, restarts, topology, and how well pods are placed. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ...api.line import Line
from ...kube.protocol import Node
from ..common.conditions import Condition, condition_of, explain_unprocessed
from ..common.keys import kind_and_name
from ..common.resources import CLIQUE, CLIQUE_GROUP, POD_GANG
from ..common.workers import read_runtime_figures
from ..engine.cache import Cache
from ..render.generation import is_parallel, order
from ..render.graph import Graph, Member, read_replicas, read_restart_id
from ..render.grove import names
from ..render.grove.clique_set import is_constrained
from ..render.names import COMPONENT, COMPONENT_TYPE, DECODE, PREFILL, RESTART_AT, SUB_TYPE, WORKER
from ..render.observed import ObservedState
from ..render.template import read_pod_templates

PLACED: Final = "TopologyLevelsAvailable"  # the condition of a graph
NO_LEVELS: Final = "TopologyLevelsUnavailable"  # the condition of Grove's object, and the reason of the graph's condition
_TEMPLATE: Final = "grove.io/pod-template-hash"  # Grove's label of a PodClique: the template that its pods are to have
_SHORT: Final = {CLIQUE: "podclique", CLIQUE_GROUP: "pcsg"}
_SERVING: Final = {CLIQUE: "ready", CLIQUE_GROUP: "available"}
_SCORE: Final = "placementScore"  # of a PodGang's status; at most 1


class GroveStatus(NamedTuple):
    """The parts of a graph's status that come from Grove."""

    waiting_reasons: Mapping[str, str]  # object -> why it is not ready
    figures: Mapping[str, Node]  # component -> entry of the status
    topology_condition: Condition | None  # None without a constraint
    placement: Node  # how well pods are placed


def kind_of(member: Member) -> str:
    """The kind of the object that runs a component."""
    return CLIQUE_GROUP if names.is_grouped(member) else CLIQUE


def pair_with_runners(graph: Graph, owned: Sequence[Node]) -> Iterator[tuple[Member, Node | None]]:
    """Each component with the object that runs it, or None. `owned` are the objects that the set controls."""
    there = {kind_and_name(obj): obj for obj in owned}
    for member in graph.members:
        yield member, there.get((kind_of(member), names.runner(graph, member)))


def list_below(cache: Cache, clique_set: Node) -> list[Node]:
    """All cliques and groups of a set."""
    return [obj for child in cache.owned(clique_set) for obj in (child, *(cache.owned(child) if child["kind"] == CLIQUE_GROUP else ()))]


def read_grove_status(graph: Graph, clique_set: Node, owned: Sequence[Node], line: Line) -> GroveStatus:
    """The state of a graph's set and the objects below it."""
    waits, figures = {}, {}
    if why := _explain_unprocessed(clique_set, [child for child in owned if child["kind"] == CLIQUE]):
        waits[clique_set["metadata"]["name"]] = why
    for member, runner in pair_with_runners(graph, owned):
        if why := explain_not_ready(member, runner):
            waits[f"{_SHORT[kind_of(member)]}/{names.runner(graph, member)}"] = why
        if runner is not None:
            figures[member.name] = _figures(runner) | read_runtime_figures(line, _templates(clique_set, member), runner.get("status") or {})
    return GroveStatus(waits, figures, _make_topology_condition(graph, clique_set), read_placement(line, owned))


def observe_on_grove(graph: Graph, sets: Sequence[Node], owned: Sequence[Node]) -> ObservedState:
    """The facts for rendering. A component's restart is over when Grove has replaced its pods."""
    restart = read_restart_id(graph)
    cliques = [clique for clique_set in sets for clique in clique_set["spec"]["template"]["cliques"]]
    marks: dict[str, str] = {}
    for clique in cliques:
        member, mark = (clique.get("labels") or {}).get(COMPONENT), (clique.get("annotations") or {}).get(RESTART_AT)
        if member and mark:
            marks[member] = mark
    ready = {member.name for member, runner in pair_with_runners(graph, owned) if not explain_not_ready(member, runner)}
    begun = [name for name in order(graph) if restart and marks.get(name) == restart]
    over = all(_is_updated(clique_set) for clique_set in sets)
    restarted = {name for name in begun if name in ready and (over or _is_restarted(name, restart, owned))}
    return ObservedState(
        restart_at=marks,
        restarted=frozenset(restarted if is_parallel(graph) else restarted | {*begun[:-1]}),  # each begins when the one before it is over
        old_selectors=_find_old_selectors(graph, [clique.get("labels") or {} for clique in cliques]),
    )


def _find_old_selectors(graph: Graph, labels: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """Components whose cliques have the selectors of older releases, which must stay to match running pods."""
    types = {member.name: member.type for member in graph.members if member.type in (PREFILL, DECODE)}
    old = [clique_labels for clique_labels in labels if clique_labels.get(COMPONENT_TYPE) == WORKER]
    return frozenset(
        clique_labels[COMPONENT]
        for clique_labels in old
        if clique_labels.get(SUB_TYPE) and types.get(clique_labels.get(COMPONENT, "")) == clique_labels[SUB_TYPE]
    )


def explain_not_ready(member: Member, runner: Node | None) -> str:
    """Explain why a component is not ready; empty if it is. All of its pods count, not only Grove's minimum."""
    if runner is None:
        return "resource not found"
    status: Node = runner.get("status") or {}
    wanted, live = member.fields.get("replicas"), read_replicas(runner["spec"])
    if wanted is not None and wanted != live:
        return f"not scaled yet: desired={wanted}, spec.replicas={live}"
    if why := _explain_unobserved(runner):
        return why
    if live == 0:
        return ""
    for figure in (_SERVING[runner["kind"]], "updated"):
        count = int(status.get(f"{figure}Replicas") or 0)
        if count < live:
            return f"desired={live}, {figure}={count}"
    count = int(status.get("replicas") or 0)
    return "" if count == live else f"performing rolling update: desired={live}, replicas={count}"


def _explain_unobserved(obj: Node) -> str:
    """Whether Grove has not yet observed the current generation of an object."""
    observed = (obj.get("status") or {}).get("observedGeneration")
    return "observedGeneration is nil" if observed is None else explain_unprocessed(obj, observed)


def _explain_unprocessed(clique_set: Node, cliques: Sequence[Node]) -> str:
    """Explain why a set is not processed. Grove reports it as processed only after a roll; until then its cliques show the progress."""
    why, updated = _explain_unobserved(clique_set), sum(map(_is_current, cliques))
    if why and updated < len(cliques) and "observedGeneration" in (clique_set.get("status") or {}):
        return f"performing rolling update: {updated} of {len(cliques)} podcliques are updated"
    return why


def _is_current(clique: Node) -> bool:
    """Return whether all pods of a clique are of its current template, as far as Grove reports templates."""
    if not _is_updated(clique):
        return False
    wanted = (clique["metadata"].get("labels") or {}).get(_TEMPLATE)
    return wanted is None or wanted == clique["status"].get("currentPodTemplateHash", wanted)


def _is_restarted(name: str, restart: str, owned: Sequence[Node]) -> bool:
    """Return whether all cliques of a component were replaced since a restart was requested; False if Grove doesn't report templates."""
    mine = [clique for clique in owned if clique["kind"] == CLIQUE and (clique["metadata"].get("labels") or {}).get(COMPONENT) == name]
    marked = all((clique["metadata"].get("annotations") or {}).get(RESTART_AT) == restart for clique in mine)
    reported = all(
        _TEMPLATE in (clique["metadata"].get("labels") or {}) and "currentPodTemplateHash" in (clique.get("status") or {})
        for clique in mine
    )
    return bool(mine) and marked and reported and all(map(_is_current, mine))


def _is_updated(clique_set: Node) -> bool:
    return not _explain_unobserved(clique_set) and int(clique_set["status"].get("updatedReplicas") or 0) >= read_replicas(
        clique_set["spec"]
    )


def _templates(clique_set: Node, member: Member) -> Iterator[Node]:
    """The pod templates of a component."""
    yield from (
        template for template in read_pod_templates(clique_set).values() if (template.get("labels") or {}).get(COMPONENT) == member.name
    )


def _figures(runner: Node) -> Node:
    counted = ("replicas", "updatedReplicas", f"{_SERVING[runner['kind']]}Replicas")
    counts = {name: int((runner.get("status") or {}).get(name) or 0) for name in counted}
    return {"componentKind": runner["kind"], "componentNames": [runner["metadata"]["name"]], **counts}


def _make_topology_condition(graph: Graph, clique_set: Node) -> Condition | None:
    """Whether the pods can be placed as the graph requires, from the condition of Grove's object."""
    if not is_constrained(graph):
        return None
    condition = condition_of(clique_set.get("status") or {}, NO_LEVELS)
    state = "Unknown", "TopologyConditionPending", "Waiting for topology condition from the scheduling framework"
    if condition.get("reason") == "ClusterTopologyNotFound":
        state = "False", "TopologyDefinitionNotFound", str(condition.get("message") or "")
    elif condition.get("status") == "True":
        state = "False", NO_LEVELS, str(condition.get("message") or "")
    elif condition.get("status") == "False":
        state = "True", "AllTopologyLevelsAvailable", "All required topology levels are available in the cluster topology"
    return Condition(PLACED, *state, graph.object["metadata"].get("generation"))


def trim_gang(gang: Node) -> None:
    """Drop all of a PodGang but its score, in place, so that no other change asks for a pass."""
    gang.pop("spec", None)
    gang["status"] = {name: value for name, value in (gang.get("status") or {}).items() if name == _SCORE}


def read_placement(line: Line, below: Iterable[Node] | None) -> Node:
    """The field `placement` of a status by the least score of the objects `below` a set, None off Grove; empty before line 1.4."""
    if line < Line.V1_4:
        return {}
    if below is None:
        return {"state": "Unsupported"}
    reported = [(obj.get("status") or {}).get(_SCORE) for obj in below if obj["kind"] == POD_GANG]
    scores = [score for score in reported if isinstance(score, int | float)]
    if not scores:
        return {"state": "Unknown"}
    return {"state": "Reported" if len(scores) == len(reported) else "Partial", "score": min(1, *scores)}
