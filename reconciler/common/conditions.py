"""Conditions that keep their times, and minimal patches of status."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from ...kube.protocol import Node
from ...kube.times import format_time
from ..render.without_effect import Note
from .problems import MAX_MESSAGE_CHARACTERS

READY: Final = "Ready"
IGNORED: Final = "FieldsIgnored"
RECONCILING: Final = "Reconciling"


def is_acted_on(obj: Node) -> bool:
    """Whether a pass over this generation of an object has found no problem."""
    return bool((obj.get("status") or {}).get("observedGeneration") == obj["metadata"].get("generation"))


def explain_unprocessed(obj: Node, observed: int) -> str:
    """Explain why an object's status, of the `observed` generation, says nothing of its spec; empty if it does."""
    generation = obj["metadata"].get("generation", 0)
    return f"spec not yet processed: generation={generation}, observedGeneration={observed}" if observed < generation else ""


class NewEvent(NamedTuple):
    """An Event to record, as returned by pure functions."""

    level: Literal["Normal", "Warning"]
    reason: str
    message: str


class Condition(NamedTuple):
    """One condition."""

    type: str
    status: str  # True, False or Unknown
    reason: str
    message: str
    generation: int | None = None  # the object's, for conditions that have it


def merge_conditions(before: Sequence[Node], now: Sequence[Condition], moment: datetime) -> list[Node]:
    """Merge `now` into the conditions `before`: other conditions stay, and those of `now` keep the time of their last change."""
    out = {str(old.get("type")): dict(old) for old in before}
    for condition in now:
        was = out.get(condition.type) or {}
        same = was.get("status") == condition.status and was.get("lastTransitionTime")
        made: Node = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": was["lastTransitionTime"] if same else format_time(moment),
        }
        if condition.generation is not None:
            made["observedGeneration"] = condition.generation
        out[condition.type] = made
    return list(out.values())


def condition_of(status: Node, kind: str) -> Node:
    """The condition of a type, or an empty one."""
    return next((condition for condition in status.get("conditions") or () if condition.get("type") == kind), {})


def is_true(status: Node, kind: str) -> bool:
    """Whether the condition of a type is True."""
    return bool(condition_of(status, kind).get("status") == "True")


def set_condition(status: Node, kind: str, condition: Condition | None, moment: datetime) -> Node:
    """Return a status with the condition of a type, or without it if `condition` is None; an equal status if nothing changes."""
    before = status.get("conditions") or ()
    if condition is not None:
        return {**status, "conditions": merge_conditions(before, [condition], moment)}
    return {**status, "conditions": [other for other in before if other.get("type") != kind]} if condition_of(status, kind) else status


def note_ignored(status: Node, notes: Sequence[Note], generation: int | None, moment: datetime) -> Node:
    """A status with the condition about fields that nothing acts on, or without it where everything has an effect."""
    text = "; ".join(map(str, notes))[:MAX_MESSAGE_CHARACTERS]
    condition = Condition(IGNORED, "True", "NotActedOn", text, generation) if notes else None
    return set_condition(status, IGNORED, condition, moment)


def make_status_patch(before: Any, now: Any) -> Any:
    """The merge patch from one map to another; None if they are equal."""
    patch: Node = {}
    for name in {**before, **now}:
        if name not in now:
            patch[name] = None
        elif isinstance(before.get(name), dict) and isinstance(now[name], dict):
            inner = make_status_patch(before[name], now[name])
            if inner is not None:
                patch[name] = inner
        elif name not in before or before[name] != now[name]:
            patch[name] = now[name]
    return patch or None
