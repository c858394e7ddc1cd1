"""How many objects are in which state, for metrics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.kinds import ADAPTER, COMPONENT, GRAPH, MODEL, REQUESTS

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.cache import Cache
    from dynamo_webhooks.reconciler.loop.meters import Meters
    from dynamo_webhooks.reconciler.loop.series import Label


def objects_by_state(cache: Cache, meters: Meters) -> dict[Label, int]:
    """Objects of our kinds by kind and state, and by namespace where that is a label."""
    counts: Counter[Label] = Counter()
    for kind in (GRAPH, COMPONENT, ADAPTER, MODEL, REQUESTS.kind):
        for obj in cache.all(kind):
            counts[meters.label(kind, _state(kind, obj), obj["metadata"]["namespace"])] += 1
    return dict(counts)


def _state(kind: str, obj: Node) -> str:
    status = obj.get("status") or {}
    if kind == GRAPH:
        return str(status.get("state") or "initializing")
    if kind == REQUESTS.kind:
        return str(status.get("phase") or "Pending").lower()
    if kind == ADAPTER:
        return "ready" if status.get("replicas") == (obj.get("spec") or {}).get("replicas") else "not_ready"
    condition = "Ready" if kind == MODEL else "Available"
    ready = any(one.get("type") == condition and one.get("status") == "True" for one in status.get("conditions") or ())
    return "ready" if ready else "not_ready"
