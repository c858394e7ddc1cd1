"""Computes the status of one component's object from its workload. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.reconciler.loop.problems import joined
from dynamo_webhooks.reconciler.loop.status import Condition, conditions, found

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.checkpoint.standing import Standing
    from dynamo_webhooks.reconciler.loop.problems import Problem

RECONCILING: Final = "Reconciling"


def is_ready(workload: Node, workers: Iterable[Node | None] = ()) -> bool:
    """Whether a Deployment or LeaderWorkerSet is up to date and available.

    `workers` are the StatefulSets of a LeaderWorkerSet, which counts their pods as soon as they are made.
    """
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    replicas = spec.get("replicas")
    desired = 1 if replicas is None else int(replicas)
    if desired == 0:
        return not spec.get("paused")
    available = found(status, "Available").get("status") == "True"
    if workload["kind"] != "Deployment":
        running = all(one is not None and _count(one.get("status") or {}, "readyReplicas") >= one["spec"]["replicas"] for one in workers)
        return _count(status, "readyReplicas") >= desired and available and running
    current = (status.get("observedGeneration") or 0) >= workload["metadata"].get("generation", 0)
    enough = _count(status, "updatedReplicas") >= desired and _count(status, "availableReplicas") >= desired
    return not spec.get("paused") and current and enough and _count(status, "replicas") == desired and available


def status_of(
    before: Node,
    generation: int,
    workload: Node,
    moment: datetime,
    workers: Iterable[Node | None] = (),
    waits: Standing | None = None,
) -> Node:
    """The status after a successful pass. `waits` is said where there are no pods until a checkpoint is ready."""
    kind, ready = str(workload["kind"]), waits is None and is_ready(workload, workers)
    told, yes = ("ready", "True") if ready else ("not ready", "False")
    suffix = "Ready" if ready else "NotReady"
    now = [
        Condition("Available", yes, f"{kind}{suffix}", f"{kind} is {told}"),
        Condition("DynamoComponentReady", yes, f"Component{suffix}", f"DynamoComponent is {told}"),
    ]
    if waits is not None:
        now[0] = Condition("Available", "False", "WaitingForCheckpoint", waits.message)
    return {
        **before,
        "conditions": conditions(before.get("conditions") or (), now, moment),
        "component": _figures(workload),
        "observedGeneration": generation,
    }


def failed(before: Node, problems: Sequence[Problem], moment: datetime) -> Node:
    """The status after a failed pass: only the condition changes."""
    text = f"Failed to reconcile DynamoComponentDeployment: {joined([*problems])}"
    now = [Condition("Available", "False", RECONCILING, text)]
    return {**before, "conditions": conditions(before.get("conditions") or (), now, moment)}


def _figures(workload: Node) -> dict[str, Any]:
    status = workload.get("status") or {}
    names = ("replicas", "updatedReplicas", "readyReplicas")
    figures = {name: _count(status, name) for name in (*names, *(("availableReplicas",) if workload["kind"] == "Deployment" else ()))}
    return {"componentKind": workload["kind"], "componentNames": [workload["metadata"]["name"]], **figures}


def _count(status: Node, name: str) -> int:
    return int(status.get(name) or 0)
