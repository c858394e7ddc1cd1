"""Decides the changes of one pass over a graph."""

from collections.abc import Sequence

from ...kube.protocol import Node
from ..common.problems import SLOW_RETRY_SECONDS, Problem, Refusal
from ..common.resources import CLIQUES, COMPONENT, SECRET
from ..render.children import compute_worker_hash, compute_worker_hashes, render_graph
from ..render.disaggregated_set import list_roles
from ..render.errors import RenderError
from ..render.graph import Graph, read_restart_id
from ..render.names import RESTART_AT
from ..render.observed import ObservedState
from ..render.template import find_shared_template
from ..workload.orchestrator import find_shared_services
from ..workload.pull_secrets import render_with_secrets
from .generations import Roll, component_of, generation_of, is_ready, plan_roll
from .report import REFUSED
from .set_status import read_revisions
from .snapshots import is_claim_template, plan_owners
from .values import GraphPlan, GraphState


def decide(state: GraphState) -> GraphPlan | Refusal:
    """Plan the next step of a graph, or refuse one that can't be rendered."""
    graph, way, problems = state.graph, state.orchestrator, list[Problem]()
    try:
        roll, observed = _roll(state)
        digest = compute_worker_hash(graph, state.settings.line, ObservedState(frameworks=observed.frameworks)) if roll.adopted else ""
    except RenderError as error:
        return Refusal(REFUSED, str(error), SLOW_RETRY_SECONDS)
    rendered = render_with_secrets(state.pull_secrets, state.settings, lambda settings: render_graph(graph, settings, observed), problems)
    problems += [Problem(str(error), "validation") for error in rendered.problems]
    left = (SECRET, CLIQUES, COMPONENT) if state.blocker else (SECRET,)
    applied = [child for child in rendered.children if child["kind"] not in left and not is_claim_template(child)]
    owners, notes = plan_owners(graph, state.snapshots), [*rendered.notes, *state.notes]
    plan = GraphPlan(roll, observed, digest, rendered.children, applied, owners, problems=problems, notes=notes)
    if way.grove:
        return plan
    kept = find_shared_services(graph.object, state.owned, state.settings, observed, plan.wanted)
    return plan._replace(kept_names=kept | frozenset(observed.kept_revisions))


def _roll(state: GraphState) -> tuple[Roll, ObservedState]:
    checkpoints = frozenset(state.snapshots.existing)
    if state.orchestrator.grove:
        choices = state.snapshots.choices.items()
        waits = frozenset(name for name, choice in choices if choice.is_waiting)
        restores = {name: choice.restore for name, choice in choices if choice.restore is not None}
        return Roll(""), state.on_grove._replace(grove=True, checkpoints=checkpoints, restores=restores, waiting_components=waits)
    objects = [child for child in state.owned if child["kind"] == COMPONENT]
    frameworks = observe_components(state.graph, Roll(""), objects).frameworks
    roles = {member.name for member in list_roles(state.graph, state.settings.line).values()}
    alone = state.graph._replace(members=[member for member in state.graph.members if member.name not in roles])
    roll = plan_roll(
        alone, compute_worker_hashes(state.graph, state.settings.line, ObservedState(frameworks=frameworks)), objects, state.registered
    )
    observed = observe_components(state.graph, roll, objects)._replace(grove=False, checkpoints=checkpoints)
    return roll, _observe_roles(state, observed) if roles else observed


def _observe_roles(state: GraphState, observed: ObservedState) -> ObservedState:
    """Return `observed` with the facts of the roles of a graph's DisaggregatedSet."""
    on_set, restart = state.on_set, read_restart_id(state.graph)
    current = on_set.generation == observed.worker_hash
    restarted = {name for name, mark in on_set.marks.items() if restart == mark and not on_set.waiting_reasons}
    return observed._replace(
        revision=on_set.revision if current else "",
        kept_revisions={} if current and not on_set.waiting_reasons else read_revisions(state.owned),
        restart_at={**observed.restart_at, **on_set.marks},
        restarted=observed.restarted | restarted,
    )


def observe_components(graph: Graph, roll: Roll, objects: Sequence[Node]) -> ObservedState:
    """The facts for rendering, from the objects of a graph's components."""
    restart = read_restart_id(graph)
    current = {component_of(obj): obj for obj in objects if generation_of(obj) in ("", roll.name)}
    # a new generation starts with the previous mark: a later one would restart its pods
    oldest_first = sorted(objects, key=lambda obj: str(obj["metadata"].get("creationTimestamp") or ""))
    latest = {component_of(obj): obj for obj in oldest_first} | current
    marks = {name: mark for name, obj in latest.items() if (mark := _restart_mark(obj))}
    return ObservedState(
        worker_hash=roll.name,
        restart_at=marks,
        restarted=frozenset(name for name, obj in current.items() if restart and marks.get(name) == restart and is_ready(obj)),
        rolling=roll.rolling,
        replicas=roll.replicas,
        frameworks={name: str(obj["spec"]["backendFramework"]) for name, obj in current.items() if obj["spec"].get("backendFramework")},
    )


def _restart_mark(obj: Node) -> str:
    metadata = find_shared_template(obj.get("spec") or {}).get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(RESTART_AT) or "")
