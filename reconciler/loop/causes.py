"""Why an object waits for its turn, which says who comes first. Pure."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.keys import controller

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node


class Cause(IntEnum):
    """The smaller goes first."""

    EDIT = 0  # somebody changed the object, or deletes it
    BEGUN = 1  # a part of it changed, it is a new part of something else, or the last pass failed
    NEW = 2  # nothing was done for it yet
    LOOK = 3  # nothing is known to have changed: after a restart, or after a while


def cause_of(obj: Node, *, known: bool) -> Cause:
    """Why an object itself waits; `known` says that an earlier state of it was known, hence that it has changed now."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return Cause.EDIT
    if not status:
        return Cause.BEGUN if controller(obj) else Cause.NEW
    acted_on = status.get("observedGeneration")
    if known or (acted_on is not None and acted_on != metadata.get("generation")):
        return Cause.EDIT
    return Cause.LOOK
