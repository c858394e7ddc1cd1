"""Computes the status of one component's object from its workload. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..checkpoint.restore_condition import set_restore_condition
from ..common.conditions import RECONCILING, Condition, is_true, merge_conditions, set_condition
from ..common.problems import Problem, join_messages
from ..common.runtime_figures import runtime_figures
from ..render.graph import replicas_in
from ..render.template import pod_templates
from ..workload.ignored_fields import note_ignored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ...kube.protocol import Node
    from .decide import Plan
    from .observe import Seen

REFUSED: Final = "ValidationFailed"  # reasons of refusals
FAILED: Final = "ReconcileError"
AVAILABLE: Final = "Available"  # the condition


def is_ready(workload: Node, workers: Iterable[Node | None] = ()) -> bool:
    """Whether a Deployment or LeaderWorkerSet is up to date and available.

    `workers` are the StatefulSets of a LeaderWorkerSet, which counts their pods as soon as they are made.
    """
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    desired = replicas_in(spec)
    if desired == 0:
        return not spec.get("paused")
    available = is_true(status, AVAILABLE)
    if workload["kind"] != "Deployment":
        running = all(one is not None and _count(one.get("status") or {}, "readyReplicas") >= one["spec"]["replicas"] for one in workers)
        return _count(status, "readyReplicas") >= desired and available and running
    current = (status.get("observedGeneration") or 0) >= workload["metadata"].get("generation", 0)
    enough = _count(status, "updatedReplicas") >= desired and _count(status, "availableReplicas") >= desired
    return not spec.get("paused") and current and enough and _count(status, "replicas") == desired and available


def report(seen: Seen, plan: Plan, workload: Node, workers: Iterable[Node | None], moment: datetime) -> Node:
    """The status after a successful pass."""
    before, generation = seen.component.get("status") or {}, seen.component["metadata"]["generation"]
    standing, waits = seen.choice.standing, seen.choice.waits  # without pods until a checkpoint is ready
    kind, ready = str(workload["kind"]), not waits and is_ready(workload, workers)
    told, yes = ("ready", "True") if ready else ("not ready", "False")
    suffix = "Ready" if ready else "NotReady"
    now = [
        Condition(AVAILABLE, yes, f"{kind}{suffix}", f"{kind} is {told}"),
        Condition("DynamoComponentReady", yes, f"Component{suffix}", f"DynamoComponent is {told}"),
    ]
    if waits and standing is not None:
        now[0] = Condition(AVAILABLE, "False", "WaitingForCheckpoint", standing.message)
    runtime = runtime_figures(seen.settings.line, pod_templates(workload).values(), workload.get("status") or {})
    status = {
        **before,
        "conditions": merge_conditions(before.get("conditions") or (), now, moment),
        "component": _figures(workload) | runtime,
        "observedGeneration": generation,
    }
    return set_restore_condition(note_ignored(status, plan.notes, generation, moment), standing, generation, moment)


def make_failed_status(before: Node, problems: Sequence[Problem], moment: datetime) -> Node:
    """The status after a failed pass: only the condition changes."""
    text = f"Failed to reconcile DynamoComponentDeployment: {join_messages([*problems])}"
    return set_condition(before, AVAILABLE, Condition(AVAILABLE, "False", RECONCILING, text), moment)


def _figures(workload: Node) -> dict[str, Any]:
    status = workload.get("status") or {}
    names = ("replicas", "updatedReplicas", "readyReplicas")
    figures = {name: _count(status, name) for name in (*names, *(("availableReplicas",) if workload["kind"] == "Deployment" else ()))}
    return {"componentKind": workload["kind"], "componentNames": [workload["metadata"]["name"]], **figures}


def _count(status: Node, name: str) -> int:
    return int(status.get(name) or 0)
