"""Decides the changes of one pass over a component, and what its status says of them. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ...kube.protocol import Node
from ..checkpoint.restore_condition import COLD_DIGEST, set_restore_condition
from ..common.applied_diff import digest
from ..common.conditions import Condition, merge_conditions, note_ignored
from ..common.problems import Problem
from ..common.workers import read_runtime_figures
from ..render.children import render_direct
from ..render.objects import annotate
from ..render.planner_facts import read_planner_facts
from ..render.service import is_model_service
from ..render.template import read_pod_templates
from ..render.without_effect import Note
from ..workload.pull_secrets import render_with_secrets
from .observe import AVAILABLE, ComponentState, count, is_of_a_graph, is_ready


class ComponentPlan(NamedTuple):
    """The changes of one pass."""

    children: Sequence[Any] = ()  # to apply, in order
    kept_names: frozenset[str] = frozenset()  # names of children that are not pruned
    problems: Sequence[Problem] = ()
    notes: Sequence[Note] = ()  # fields without effect


def decide(state: ComponentState) -> ComponentPlan:
    """Plan the children of a component."""
    obj, choice, problems = state.component, state.choice, list[Problem]()
    name, observed = obj["metadata"]["name"], state.observed
    if choice.restore is not None:
        observed = observed._replace(restores={name: choice.restore})
    if choice.is_waiting:
        observed = observed._replace(waiting_components=frozenset({name}))
    rendered = render_with_secrets(state.pull_secrets, state.settings, lambda settings: render_direct(obj, settings, observed), problems)
    children = rendered.children
    if state.cold is not None:  # by which later passes see whether anything else changes
        marks = {COLD_DIGEST: digest(state.cold["spec"]["template"])}
        children = [annotate(child, marks) if child["kind"] == "Deployment" else child for child in children]
    # a graph takes over the Services that earlier releases gave to its components
    names = {child["metadata"]["name"] for child in state.owned if is_model_service(child["kind"], child["metadata"]["name"])}
    kept = frozenset(names if is_of_a_graph(obj) else ())
    problems += [Problem(str(error), "validation") for error in rendered.problems]
    return ComponentPlan(children, kept, problems, rendered.notes)


def report(state: ComponentState, plan: ComponentPlan, workload: Node, workers: Iterable[Node | None], moment: datetime) -> Node:
    """The status after a successful pass."""
    before, generation = state.component.get("status") or {}, state.component["metadata"]["generation"]
    restore_state, waits = state.choice.state, state.choice.is_waiting  # without pods until a checkpoint is ready
    kind, ready = str(workload["kind"]), not waits and is_ready(workload, workers)
    readiness, yes = ("ready", "True") if ready else ("not ready", "False")
    suffix = "Ready" if ready else "NotReady"
    now = [
        Condition(AVAILABLE, yes, f"{kind}{suffix}", f"{kind} is {readiness}"),
        Condition("DynamoComponentReady", yes, f"Component{suffix}", f"DynamoComponent is {readiness}"),
    ]
    if waits and restore_state is not None:
        now[0] = Condition(AVAILABLE, "False", "WaitingForCheckpoint", restore_state.message)
    runtime = read_runtime_figures(state.settings.line, read_pod_templates(workload).values(), workload.get("status") or {})
    runtime |= read_planner_facts(state.component.get("spec") or {}, state.settings.line, state.settings.claims)
    status = {
        **before,
        "conditions": merge_conditions(before.get("conditions") or (), now, moment),
        "component": _figures(workload) | runtime,
        "observedGeneration": generation,
    }
    return set_restore_condition(note_ignored(status, plan.notes, generation, moment), restore_state, generation, moment)


def _figures(workload: Node) -> dict[str, Any]:
    status = workload.get("status") or {}
    names = ("replicas", "updatedReplicas", "readyReplicas")
    figures = {name: count(status, name) for name in (*names, *(("availableReplicas",) if workload["kind"] == "Deployment" else ()))}
    return {"componentKind": workload["kind"], "componentNames": [workload["metadata"]["name"]], **figures}
