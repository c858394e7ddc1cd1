"""How well a graph's pods are placed, by the scores of its PodGangs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...api.line import Line
from ...kube.protocol import Node
from ..common.resources import POD_GANG

_SCORE: Final = "placementScore"  # of a PodGang's status; at most 1


def lighten(gang: Node) -> None:
    """Drop all of a PodGang but its score, in place, so that no other change asks for a pass."""
    gang.pop("spec", None)
    gang["status"] = {name: value for name, value in (gang.get("status") or {}).items() if name == _SCORE}


def read_placement(line: Line, below: Iterable[Node] | None) -> Node:
    """The field `placement` of a graph's status; empty where definitions would drop it.

    `below` are the objects below the graph's set, None off Grove. The least score counts.
    """
    if line < Line.V1_4:
        return {}
    if below is None:
        return {"state": "Unsupported"}
    said = [(one.get("status") or {}).get(_SCORE) for one in below if one["kind"] == POD_GANG]
    scores = [one for one in said if isinstance(one, int | float)]
    if not scores:
        return {"state": "Unknown"}
    return {"state": "Reported" if len(scores) == len(said) else "Partial", "score": min(1, *scores)}
