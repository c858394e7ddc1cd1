"""Kinds that no controller of ours acts on: their objects say so. Those of another controller are left alone."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.loop.keys import uid_of
from dynamo_webhooks.reconciler.loop.status import Condition, conditions, found
from dynamo_webhooks.reconciler.loop.work import PassResult

if TYPE_CHECKING:
    from datetime import datetime

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work

RECONCILED: Final = "Reconciled"
NO_CONTROLLER: Final = "NoController"
PATIENCE: Final = 60.0  # seconds within which another controller's word is expected
REMEMBERED: Final = 5000  # objects; those that are forgotten wait anew


class Waits:
    """Since when objects have been seen waiting: by our own clock, which the API server's may differ from."""

    def __init__(self) -> None:
        """Has seen nothing yet."""
        self._since: OrderedDict[str, datetime] = OrderedDict()

    def seconds(self, uid: str, moment: datetime) -> float:
        """For how long an object has been waiting."""
        since = self._since.setdefault(uid, moment)
        if len(self._since) > REMEMBERED:
            self._since.popitem(last=False)
        return (moment - since).total_seconds()


async def tell_unattended(work: Work, obj: Node) -> PassResult:
    """Puts a condition on an object that nobody acts on, and takes it away when somebody does. Raises: ApiError, StandDownError."""
    status: Node = obj.get("status") or {}
    ours, others = found(status, RECONCILED), [one for one in status.get("conditions") or () if one.get("type") != RECONCILED]
    if obj["metadata"].get("deletionTimestamp"):
        return PassResult()
    if others or status.get("observedGeneration"):
        if ours:
            await work.patch_status(obj, {**status, "conditions": others})
        return PassResult()
    waited = 0.0 if ours else work.waits.seconds(uid_of(obj), work.now())
    if ours or waited < PATIENCE:
        return PassResult((), 0.0 if ours else PATIENCE - waited)
    text = f"no controller acts on objects of the kind {obj['kind']}: neither the reconciler nor, for {PATIENCE:.0f} s, another one has"
    told = Condition(RECONCILED, "False", NO_CONTROLLER, text, obj["metadata"].get("generation"))
    if await work.patch_status(obj, {**status, "conditions": conditions([], [told], work.now())}):
        await work.say(obj, "Warning", NO_CONTROLLER, text)
    return PassResult()
