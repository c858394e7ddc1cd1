"""Reports on objects whose kind has a switch why no controller acts on them."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ...kube.errors import ForbiddenError, lacks_permission
from ...kube.protocol import Node
from ..common.conditions import Condition, condition_of, set_condition
from ..common.keys import key_of, uid_of
from ..common.problems import SLOW_RETRY_SECONDS, UNLISTED_RETRY_SECONDS, PassResult, Problem
from .context import Context
from .controller import Controller
from .switch import Switch

RECONCILED: Final = "Reconciled"  # the condition
FORBIDDEN: Final = "Forbidden"
OTHERS_TIMEOUT_SECONDS: Final = 60.0  # within which another controller's status is expected
MAX_CACHED_OBJECTS: Final = 5000  # those that are forgotten wait anew


class WaitTimes:
    """Since when objects have waited, by the local clock; the API server's may differ."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: OrderedDict[str, float] = OrderedDict()

    def seconds(self, uid: str) -> float:
        """For how long an object has been waiting."""
        moment = self._clock()
        since = self._since.setdefault(uid, moment)
        if len(self._since) > MAX_CACHED_OBJECTS:
            self._since.popitem(last=False)
        return moment - since


async def reconcile_switched(context: Context, wait_times: WaitTimes, controller: Controller, switch: Switch, obj: Node) -> PassResult:
    """One pass over an object, or a condition that says why nothing acts on it. Raises: ApiError, StandDownError."""
    if switch.is_over(context.settings):
        return await _report_no_controller(context, wait_times, obj, "NoController", switch.ended, others=False)
    if not switch.is_on(context.settings, context.detector.known):
        return await _report_no_controller(context, wait_times, obj, *_explain_inaction(context, switch, controller.kind))
    if not context.cache.knows(controller.kind):  # which of two objects is the older one, say, is not known yet
        return PassResult((), UNLISTED_RETRY_SECONDS)
    try:
        outcome = await controller.reconcile(context, obj)
        await _set_reconciled(context, obj)
    except ForbiddenError as error:
        if not lacks_permission(error):
            raise
        return await _report_forbidden(context, obj, f"the reconciler lacks a permission: {error.message}; {switch.grant}")
    return outcome


def _explain_inaction(context: Context, switch: Switch, kind: str) -> tuple[str, str]:
    """The reason and the message for an object that no controller acts on."""
    what = f"no controller acts on objects of the kind {kind}"
    if switch.is_off(context.settings):
        within = f"within {OTHERS_TIMEOUT_SECONDS:.0f} s"
        return "NoController", f"{what}: controllers.{switch.name} is off in the configuration, and no other one has acted {within}"
    lacking = context.detector.denied.get(switch.name, "")
    named = f" ({lacking})" if lacking else ""
    return FORBIDDEN, f"{what}: the reconciler lacks a permission for it{named}; {switch.grant}"


async def _report_no_controller(
    context: Context, wait_times: WaitTimes, obj: Node, reason: str, text: str, *, others: bool = True
) -> PassResult:
    """Set a condition on an object that no controller acts on; without `others` none can. Raises: ApiError, StandDownError."""
    status: Node = obj.get("status") or {}
    if obj["metadata"].get("deletionTimestamp"):
        return PassResult()
    # another controller has acted on it if there is any other condition, or an observed generation
    if others and (
        any(condition.get("type") != RECONCILED for condition in status.get("conditions") or ()) or status.get("observedGeneration")
    ):
        await _set_reconciled(context, obj)
        return PassResult()
    if not condition_of(status, RECONCILED) and (waited := wait_times.seconds(uid_of(obj))) < OTHERS_TIMEOUT_SECONDS:
        return PassResult((), OTHERS_TIMEOUT_SECONDS - waited)
    if await _set_reconciled(context, obj, reason, text):
        await context.record_event(obj, "Warning", reason, text)
    return PassResult()


async def _report_forbidden(context: Context, obj: Node, text: str) -> PassResult:
    """Report a missing permission in a condition, and in an Event if that is new or forbidden. Raises: ApiError, StandDownError."""
    try:
        changed = await _set_reconciled(context, obj, FORBIDDEN, text)
    except ForbiddenError:
        changed = True
    if changed:
        await context.record_event(obj, "Warning", FORBIDDEN, text, lasting=True)
    return PassResult((Problem(f"{key_of(obj)}: {text}", "forbidden"),), SLOW_RETRY_SECONDS)


async def _set_reconciled(context: Context, obj: Node, reason: str = "", text: str = "") -> bool:
    """Set the condition to False with a reason, or remove it without one; returns whether the status was written."""
    now = context.cache.get(key_of(obj)) or obj
    status: Node = now.get("status") or {}
    condition = Condition(RECONCILED, "False", reason, text, obj["metadata"].get("generation")) if reason else None
    return await context.writer.patch_status(now, set_condition(status, RECONCILED, condition, context.clocks.wall()))
