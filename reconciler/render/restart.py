"""Restarts of a graph: the components' marks, and their order. The loop observes completion."""

from __future__ import annotations

from typing import Final

from .graph import Graph
from .observed import Observed

_DONE: Final = "Completed"
_SUPERSEDED: Final = "Superseded"
_PARALLEL: Final = "Parallel"


def restart_marks(graph: Graph, observed: Observed) -> dict[str, str]:
    """The restart mark of each component's pods; a mark stays, because its removal would be a restart."""
    marks = dict(observed.restart_at)
    asked = str((graph.spec.get("restart") or {}).get("id") or "")
    status = (graph.object.get("status") or {}).get("restart") or {}
    if not asked or observed.rolling or (status.get("observedID") == asked and status.get("phase") == _SUPERSEDED):
        return marks
    if status.get("observedID") == asked and status.get("phase") == _DONE:
        return marks | dict.fromkeys((one.name for one in graph.members), asked)
    for name in order(graph):
        marks[name] = asked
        if name not in observed.restarted and not is_parallel(graph):
            break
    return marks


def order(graph: Graph) -> list[str]:
    """The components in the order of restart: as given, else by name."""
    known = [one.name for one in graph.members]
    said = (((graph.spec.get("restart") or {}).get("strategy") or {}).get("order")) or []
    return [name for name in said if name in known] or sorted(known)


def is_parallel(graph: Graph) -> bool:
    """Whether all components restart at once."""
    strategy = (graph.spec.get("restart") or {}).get("strategy") or {}
    return strategy.get("type") == _PARALLEL
