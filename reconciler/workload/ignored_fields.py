"""What the status of a graph or a standalone component says of fields that nothing acts on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ...kube.protocol import Node
from ..common.conditions import Condition, condition_of, set_condition
from ..common.problems import LONGEST
from ..engine.work import Work
from ..render.without_effect import Note

IGNORED: Final = "FieldsIgnored"  # the condition


def note_ignored(status: Node, notes: Sequence[Note], generation: int | None, moment: datetime) -> Node:
    """A status with the condition, or without it where everything has an effect."""
    text = "; ".join(map(str, notes))[:LONGEST]
    told = Condition(IGNORED, "True", "NotActedOn", text, generation) if notes else None
    return set_condition(status, IGNORED, told, moment)


async def report_ignored(work: Work, obj: Node, before: Node, now: Node) -> None:
    """An Event when the condition says something new."""
    told = condition_of(now, IGNORED)
    if told and told["message"] != condition_of(before, IGNORED).get("message"):
        await work.say(obj, "Warning", "NotActedOn", told["message"])
