"""Reports the result of a pass over a graph: its status, and Events about changes of it."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from ...kube.protocol import Node
from ...kube.times import format_time
from ..common.conditions import READY, RECONCILING, Condition, NewEvent, condition_of, explain_unprocessed, merge_conditions, note_ignored
from ..common.problems import MAX_MESSAGE_CHARACTERS, Refusal, join_messages
from ..render.disaggregated_set import is_disaggregated
from ..render.generation import is_parallel, order
from ..render.graph import Graph, read_restart_id
from ..render.merge import object_items
from ..render.planner_facts import FACTS, read_planner_facts
from ..workload.orchestrator import ORCHESTRATOR
from .clique_status import PLACED, read_placement
from .generations import Roll, component_of, generation_of, is_ready
from .snapshots import add_checkpoint_status, note_forbidden
from .values import GraphPlan, GraphResult, GraphState

REFUSED: Final = "refused_by_validation"
UNAVAILABLE: Final = "selected_workload_provider_unavailable"
UNSUPPORTED: Final = "disaggregated_set_intent_unsupported"
EVENTS: Final = {REFUSED: "ValidationFailed", UNAVAILABLE: "WorkloadProviderUnavailable", UNSUPPORTED: "DisaggregatedSetUnsupported"}
FAILED: Final = "failed_to_reconcile_the_resources"
ELIGIBLE: Final = "DisaggregatedSetEligible"  # the condition of a graph that asks to be a DisaggregatedSet
ROLLING: Final = "rolling_update_in_progress"
UNREACHABLE: Final = "orchestrator_not_served"
NOT_READY: Final = "some_resources_are_not_ready"
ALL_READY: Final = "all_resources_are_ready"
_FIGURES: Final = {"readyReplicas": "ready", "updatedReplicas": "up to date", "availableReplicas": "available"}
_SUMMED: Final = ("replicas", "readyReplicas", "availableReplicas")


def report(state: GraphState, plan: GraphPlan, result: GraphResult, moment: datetime) -> Node:
    """The whole status after a pass."""
    obj = state.graph.object
    before, generation = obj.get("status") or {}, obj["metadata"].get("generation")
    summary, reason, message = _summarize(state, plan, result)
    now = dict(before)
    ready = Condition(READY, "True" if summary == "successful" else "False", reason, message, generation)
    place = result.grove.topology_condition if result.grove is not None else None
    kept = [condition for condition in before.get("conditions") or () if place is not None or condition.get("type") != PLACED]
    together = is_disaggregated(state.graph.annotations, state.settings.line)
    eligible = Condition(ELIGIBLE, "True", "Selected", "the graph is a DisaggregatedSet", generation) if together else None
    more = [condition for condition in (place, state.orchestrator_condition, eligible) if condition is not None]
    now |= {"state": summary, "conditions": merge_conditions(kept, [ready, *more], moment)}
    if not result.problems:
        now["observedGeneration"] = generation
    workers = sorted(member.name for member in state.graph.members if member.is_worker)
    parts: dict[str, Node] = {
        "rollingUpdate": _report_roll(before.get("rollingUpdate") or {}, plan.roll, workers, moment),
        "restart": _report_restart(before.get("restart") or {}, state.graph, plan),
    }
    if result.grove is not None:
        parts |= {"components": _with_facts(state, result.grove.figures), "placement": result.grove.placement}
    elif result.components or result.on_set.figures:
        now["components"] = _with_facts(state, {**_sum_components(plan, result), **result.on_set.figures})
    if not state.orchestrator.grove:
        parts["placement"] = read_placement(state.settings.line, None)
    now |= {name: value for name, value in parts.items() if value}
    now = note_ignored(now, plan.notes, generation, moment)
    snapshots = note_forbidden(state.snapshots._replace(existing=result.checkpoints), result.optional_problems)
    return add_checkpoint_status(now, snapshots, result.components, plan.roll.name, generation, moment)


def make_refused_status(before: Node, generation: int | None, message: str, moment: datetime, reason: str = REFUSED) -> Node:
    """The status of an object that is left unchanged, with the figures of the pass before."""
    ready = Condition(READY, "False", reason, message[:MAX_MESSAGE_CHARACTERS], generation)
    conditions = [ready, Condition(ELIGIBLE, "False", "UnsupportedIntent", ready.message, generation)] if reason == UNSUPPORTED else [ready]
    return {**before, "conditions": merge_conditions(before.get("conditions") or (), conditions, moment), "state": "failed"}


def make_unreachable_status(before: Node, generation: int | None, refusal: Refusal, moment: datetime) -> Node:
    """The status of a graph whose orchestrator can't be reached, with the figures of the pass before."""
    ready = Condition(READY, "Unknown", UNREACHABLE, refusal.message, generation)
    where = Condition(ORCHESTRATOR, "False", refusal.reason, refusal.message, generation)
    return {**before, "state": "pending", "conditions": merge_conditions(before.get("conditions") or (), [ready, where], moment)}


def list_events(before: Node, now: Node, roll: Roll) -> Iterator[NewEvent]:
    """The Events about the changes from one status to the next."""
    was, ready = condition_of(before, READY), condition_of(now, READY)
    if any(was.get(name) != ready[name] for name in ("status", "reason", "message")):
        failed = now["state"] == "failed"
        starts = not was and now["state"] == "pending"  # a new graph is never ready at once
        if failed or (was.get("reason") != ready["reason"] and not starts):
            reason = "".join(part.capitalize() for part in ready["reason"].split("_"))
            yield NewEvent("Warning" if failed else "Normal", reason, ready["message"])
    lost = condition_of(now, PLACED)
    if lost.get("status") == "False" and lost["reason"] != condition_of(before, PLACED).get("reason"):
        yield NewEvent("Warning", lost["reason"], f"Topology constraints no longer enforced: {lost['message']}")
    was_phase, phase = ((status.get("rollingUpdate") or {}).get("phase") for status in (before, now))
    if was_phase != phase:
        reason = {"InProgress": "RollingUpdateStarted", "Completed": "RollingUpdateCompleted"}[str(phase)]
        yield NewEvent("Normal", reason, f"workers of generation {roll.name}")
    restart = now.get("restart") or {}
    if restart.get("phase") == "Superseded" and restart != before.get("restart"):
        yield NewEvent("Warning", "RestartSuperseded", f"restart {restart['observedID']}: a rolling update restarts the workers")


def _summarize(state: GraphState, plan: GraphPlan, result: GraphResult) -> tuple[str, str, str]:
    """The state, and reason and message of the condition Ready."""
    if result.problems:
        return "failed", FAILED, join_messages([*result.problems])
    failures = ((str(obj["metadata"]["name"]), _failure(obj)) for obj in result.components)
    stopped = [f"{name}: {why}" for name, why in sorted(failures) if why and name in plan.expected]
    if plan.roll.rolling:  # the older pods serve
        return "pending", ROLLING, "; ".join(["Rolling update in progress", *stopped])[:MAX_MESSAGE_CHARACTERS]
    if stopped:
        return "failed", FAILED, "; ".join(stopped)[:MAX_MESSAGE_CHARACTERS]
    reasons = {state.graph.name: state.blocker} if state.blocker else _not_ready(plan, result)
    if reasons:
        text = "; ".join(f"{name}: {why}" for name, why in sorted(reasons.items()))
        return "pending", NOT_READY, f"Resources not ready: {text}"[:MAX_MESSAGE_CHARACTERS]
    return "successful", ALL_READY, "All resources are ready"


def _not_ready(plan: GraphPlan, result: GraphResult) -> dict[str, str]:
    objects = {obj["metadata"]["name"]: obj for obj in result.components}
    reasons = {**(result.grove.waiting_reasons if result.grove is not None else {}), **result.on_set.waiting_reasons}
    for name in plan.expected:
        obj = objects.get(name)
        if obj is None:
            reasons[name] = "not created yet"
        elif not is_ready(obj):
            reasons[name] = _explain_not_ready(obj)
    return reasons


def _failure(obj: Node) -> str:
    available = condition_of(obj.get("status") or {}, "Available")
    return str(available.get("message") or "") if available.get("reason") == RECONCILING else ""


def _explain_not_ready(obj: Node) -> str:
    status = obj.get("status") or {}
    if why := explain_unprocessed(obj, status.get("observedGeneration") or 0):
        return why
    figures = status.get("component") or {}
    wanted = (obj.get("spec") or {}).get("replicas", figures.get("replicas"))
    short = _count({"readyReplicas": 0, **figures}, 1 if wanted is None else wanted) if figures else ""
    return f"{figures.get('componentKind') or 'component'} is not ready{': ' if short else ''}{short}"


def _count(figures: Node, wanted: int) -> str:
    """Which figure of a component's replicas is not as wanted; empty if all are."""
    for name, what in _FIGURES.items():
        if (count := int(figures.get(name, wanted) or 0)) < wanted:
            return f"{count} of {wanted} replicas are {what}"
    count = int(figures.get("replicas") or 0)
    return f"{count} replicas are there, and {wanted} wanted" if count > wanted else ""


def _sum_components(plan: GraphPlan, result: GraphResult) -> Node:
    """The figures of each component; during a roll those of both generations, but only the new one counts as updated."""
    out: dict[str, Any] = {}
    for obj in sorted(result.components, key=lambda obj: generation_of(obj) != plan.roll.name):
        figures = (obj.get("status") or {}).get("component")
        if not figures:
            continue
        name = component_of(obj)
        if name not in out:
            out[name] = dict(figures)
            if obj["metadata"]["name"] in plan.roll.old:
                out[name]["updatedReplicas"] = 0
            continue
        total = out[name]
        for key in _SUMMED:
            if key in figures or key in total:
                total[key] = int(total.get(key) or 0) + int(figures.get(key) or 0)
        total["componentNames"] = sorted({*(total.get("componentNames") or ()), *(figures.get("componentNames") or ())})
    return out


def _with_facts(state: GraphState, figures: Mapping[str, Node]) -> Node:
    """The figures with what a planner reads, of the spec that the status is about: those in components' objects may be older."""
    settings, env = state.settings, object_items(state.graph.spec.get("env"))
    facts = {member.name: read_planner_facts(member.fields, settings.line, settings.claims, env) for member in state.graph.members}
    old = {name: {key: value for key, value in fields.items() if key not in FACTS} for name, fields in figures.items()}
    return {name: fields | facts.get(name, {}) for name, fields in old.items()}


def _report_roll(before: Node, roll: Roll, workers: list[str], moment: datetime) -> Node:
    """At its end all workers are updated, whichever process updated them."""
    if roll.rolling and not roll.retired:
        begun = before.get("startTime") if before.get("phase") in ("Pending", "InProgress") else None
        now: Node = {"phase": "InProgress", "startTime": begun or format_time(moment)}
        return {**now, "updatedComponents": [*roll.updated]} if roll.updated else now
    if roll.retired or before.get("phase") in ("Pending", "InProgress"):
        ended: Node = {"phase": "Completed", "startTime": before.get("startTime") or format_time(moment), "endTime": format_time(moment)}
        return {**ended, "updatedComponents": workers}
    return before


def _report_restart(before: Node, graph: Graph, plan: GraphPlan) -> Node:
    wanted = read_restart_id(graph)
    if not wanted or (before.get("observedID") == wanted and before.get("phase") in ("Completed", "Superseded")):
        return before
    if plan.roll.rolling:
        return {"observedID": wanted, "phase": "Superseded"}
    waiting = [name for name in order(graph) if name not in plan.observed.restarted]
    if not waiting:
        return {"observedID": wanted, "phase": "Completed"}
    return {"observedID": wanted, "phase": "Restarting", "inProgress": waiting if is_parallel(graph) else waiting[:1]}
