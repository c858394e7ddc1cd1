"""Causes of waiting, which determine the order of the queue. Pure."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.keys import controller

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node


class Cause(IntEnum):
    """Smaller values come first."""

    EDIT = 0  # the object was changed or is being deleted
    BEGUN = 1  # a part of it changed, it is a new part of something else, or the last pass failed
    NEW = 2  # nothing was done for it
    LOOK = 3  # no known change: after a restart, or periodically


def cause_of(obj: Node, *, known: bool) -> Cause:
    """The cause for an object itself; `known` means that an earlier state of it was known, so it changed."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return Cause.EDIT
    if not status:
        return Cause.BEGUN if controller(obj) else Cause.NEW
    acted_on = status.get("observedGeneration")
    if known or (acted_on is not None and acted_on != metadata.get("generation")):
        return Cause.EDIT
    return Cause.LOOK
