"""How many objects are in which state, for metrics."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from ..common.conditions import is_true
from ..common.resources import ADAPTER, CHECKPOINT, COMPONENT, GRAPH, MODEL, REQUESTS

if TYPE_CHECKING:
    from ...kube.protocol import Node
    from ..engine.cache import Cache
    from .meters import Label, Meters

FAILED: Final = "Failed"
_PORTION: Final = 1000  # objects that are counted without a pause, in some milliseconds
_PHASED: Final = (CHECKPOINT, REQUESTS.kind)  # whose status has a phase


async def objects_by_state(cache: Cache, meters: Meters) -> dict[Label, int]:
    """Objects of our kinds by kind and state, and by namespace where that is a label. Others have their turn meanwhile."""
    counts: Counter[Label] = Counter()
    if not meters.namespaces:  # shown from the start: a series that begins at 1 is no increase
        counts.update({meters.label(kind, FAILED, ""): 0 for kind in _PHASED})
    for kind in (GRAPH, COMPONENT, ADAPTER, MODEL, *_PHASED):
        for number, obj in enumerate(cache.all(kind), 1):
            if number % _PORTION == 0:
                await asyncio.sleep(0)
            counts[meters.label(kind, _state(kind, obj), obj["metadata"]["namespace"])] += 1
    return dict(counts)


def _state(kind: str, obj: Node) -> str:
    status = obj.get("status") or {}
    if kind == GRAPH:
        return str(status.get("state") or "initializing")
    if kind == ADAPTER:
        return "ready" if status.get("replicas") == (obj.get("spec") or {}).get("replicas") else "not_ready"
    if kind in _PHASED:
        return str(status.get("phase") or "Pending")
    return "ready" if is_true(status, "Ready" if kind == MODEL else "Available") else "not_ready"
