"""What the status of a graph or a standalone component says of fields that nothing acts on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.loop.problems import LONGEST
from dynamo_webhooks.reconciler.loop.status import Condition, found, with_condition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.without_effect import Note

IGNORED: Final = "FieldsIgnored"  # the condition


def noting(status: Node, notes: Sequence[Note], generation: int | None, moment: datetime) -> Node:
    """A status with the condition, or without it where everything has an effect."""
    text = "; ".join(map(str, notes))[:LONGEST]
    told = Condition(IGNORED, "True", "NotActedOn", text, generation) if notes else None
    return with_condition(status, IGNORED, told, moment)


async def say_ignored(work: Work, obj: Node, before: Node, now: Node) -> None:
    """An Event when the condition says something new."""
    told = found(now, IGNORED)
    if told and told["message"] != found(before, IGNORED).get("message"):
        await work.say(obj, "Warning", "NotActedOn", told["message"])
