"""Objects that no controller of ours acts on, or may act on: they say so. Those of another controller are left alone."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.reconciler.loop.keys import key_of, uid_of
from dynamo_webhooks.reconciler.loop.problems import Problem
from dynamo_webhooks.reconciler.loop.status import Condition, conditions, found
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work

RECONCILED: Final = "Reconciled"
FORBIDDEN: Final = "Forbidden"
PATIENCE: Final = 60.0  # seconds within which another controller's word is expected
REMEMBERED: Final = 5000  # objects; those that are forgotten wait anew


class Waits:
    """Since when objects have been seen waiting: by our own clock, which the API server's may differ from."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Has seen nothing yet."""
        self._clock = clock
        self._since: OrderedDict[str, float] = OrderedDict()

    def seconds(self, uid: str) -> float:
        """For how long an object has been waiting."""
        moment = self._clock()
        since = self._since.setdefault(uid, moment)
        if len(self._since) > REMEMBERED:
            self._since.popitem(last=False)
        return moment - since


async def tell_unattended(work: Work, obj: Node, reason: str, text: str) -> PassResult:
    """Puts a condition on an object that nobody acts on, and takes it away when somebody does. Raises: ApiError, StandDownError."""
    status: Node = obj.get("status") or {}
    ours = found(status, RECONCILED)
    if obj["metadata"].get("deletionTimestamp"):
        return PassResult()
    if _others(status) or status.get("observedGeneration"):
        await no_longer_told(work, obj)
        return PassResult()
    waited = 0.0 if ours else work.waits.seconds(uid_of(obj))
    if waited < PATIENCE and not ours:
        return PassResult((), PATIENCE - waited)
    if await _tell(work, obj, reason, text):
        await work.say(obj, "Warning", reason, text)
    return PassResult()


async def tell_forbidden(work: Work, obj: Node, text: str) -> PassResult:
    """Puts a condition on an object whose pass ended at a missing permission; where even that is not permitted, an Event says it.

    Raises: ApiError, StandDownError.
    """
    try:
        changed = await _tell(work, obj, FORBIDDEN, text)
    except ForbiddenError:
        changed = True
    if changed:
        await work.say(obj, "Warning", FORBIDDEN, text, lasting=True)
    return PassResult((Problem(f"{key_of(obj)}: {text}", "forbidden"),), SLOWLY)


async def no_longer_told(work: Work, obj: Node) -> None:
    """Takes the condition off an object that is acted on. Raises: ApiError, StandDownError."""
    now = work.cache.get(key_of(obj)) or obj
    status: Node = now.get("status") or {}
    if found(status, RECONCILED):
        await work.patch_status(now, {**status, "conditions": _others(status)})


async def _tell(work: Work, obj: Node, reason: str, text: str) -> bool:
    now = work.cache.get(key_of(obj)) or obj
    status: Node = now.get("status") or {}
    told = Condition(RECONCILED, "False", reason, text, obj["metadata"].get("generation"))
    return await work.patch_status(now, {**status, "conditions": conditions(status.get("conditions") or (), [told], work.now())})


def _others(status: Node) -> list[Node]:
    """The conditions that are not ours."""
    return [one for one in status.get("conditions") or () if one.get("type") != RECONCILED]
