"""Finds why workloads can't make their pods."""

from collections.abc import Iterator
from typing import Final

from ...kube.errors import ApiError
from ...kube.protocol import Node
from ...kube.resources import CORE_EVENTS
from ..common.conditions import condition_of
from ..common.keys import Key, key_of, uid_of
from ..common.resources import CLIQUE, LWS, STATEFUL_SET
from ..engine.context import Context
from ..render.graph import read_replicas
from .pod_states import MAX_NAMED_COMPONENTS, MAX_REASON_CHARACTERS, format_reason

_MAX_LEVELS: Final = 3  # between a graph and its PodCliques: set, group, clique


async def explain_refused_pods(context: Context, obj: Node) -> str:
    """Explains why workloads below an object can't even make their pods, `name: reason: message; ...`; empty if all can.

    Deployments and PodCliques say it in their status. StatefulSets, which make the pods of LeaderWorkerSets, say it in Events alone.
    """
    failed: list[str] = []
    for child in _list_below(context, obj, _MAX_LEVELS):
        reason = await _read_events(context, child) if child["kind"] == LWS else _read_status(child)
        if reason:
            failed.append(f"{child['metadata']['name']}: {reason[:MAX_REASON_CHARACTERS]}")
        if len(failed) == MAX_NAMED_COMPONENTS:
            break
    return "; ".join(failed)


def _list_below(context: Context, obj: Node, levels: int) -> Iterator[Node]:
    for child in context.cache.owned(obj) if levels else ():
        yield child
        yield from _list_below(context, child, levels - 1)


def _read_status(workload: Node) -> str:
    status: Node = workload.get("status") or {}
    if workload["kind"] == CLIQUE:
        errors = status.get("lastErrors") or ()
        last = errors[-1] if errors and _lacks_pods(workload) else {}
        return format_reason({"reason": last.get("code"), "message": last.get("description")}, "")
    failed = condition_of(status, "ReplicaFailure")
    return format_reason(failed, "") if failed.get("status") == "True" else ""


async def _read_events(context: Context, lws: Node) -> str:
    key = key_of(lws)
    names = (
        key.name,
        *(f"{key.name}-{number}" for number in range(read_replicas(lws["spec"]))),
    )  # of leaders, and of each replica's workers
    sets = (context.cache.get(Key(STATEFUL_SET, key.namespace, name)) for name in names)
    lacking = next((stateful_set for stateful_set in sets if stateful_set is not None and _lacks_pods(stateful_set)), None)
    if lacking is None:
        return ""
    selector = f"involvedObject.uid={uid_of(lacking)},type=Warning"
    try:
        events = (await context.cluster.list(CORE_EVENTS, key.namespace, fields=selector)).items
    except ApiError as error:
        return f"Events of StatefulSet {lacking['metadata']['name']} can't be read: {error.message}"
    return format_reason(max(events, key=lambda event: str(event.get("lastTimestamp") or ""), default={}), "")


def _lacks_pods(workload: Node) -> bool:
    return int((workload.get("status") or {}).get("replicas") or 0) < read_replicas(workload.get("spec") or {})
