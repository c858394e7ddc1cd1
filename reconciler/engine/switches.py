"""Kinds that are reconciled only where the configuration and the permissions allow it: their switches, and what objects say otherwise."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ...api.operator.controllers import AUTO, OFF, ON, Controllers
from ...kube.capability import Presence
from ...kube.errors import ForbiddenError
from ...kube.protocol import Node
from ...kube.resources import ENDPOINT_SLICES, Resource
from ..common.conditions import Condition, condition_of, set_condition
from ..common.keys import key_of, uid_of
from ..common.problems import RETRY_SLOW, PassResult, Problem
from ..common.problems import explain_missing_permission as grant
from ..common.resources import CHECKPOINTS, JOBS, MODELS, RECONCILED, REQUESTS
from ..render.names import BASE_MODEL_HASH
from .work import Work

_TOLD: Final = "Reconciled"  # the condition
FORBIDDEN: Final = "Forbidden"
PATIENCE: Final = 60.0  # seconds within which another controller's word is expected
REMEMBERED: Final = 5000  # objects; those that are forgotten wait anew


class Switch(NamedTuple):
    """The switch of a kind; its key in `controllers`, the capability, the overlay and the chart's value share its name."""

    resource: Resource
    name: str
    watched: tuple[Resource, str]  # the kind that its passes also read, and the label by which that is watched

    @property
    def grant(self) -> str:
        """The instruction that follows a missing permission."""
        return grant(self.name)

    def is_off(self, controllers: Controllers) -> bool:
        """Whether the configuration says so."""
        return bool(getattr(controllers, self.name) == OFF)

    def is_on(self, controllers: Controllers, known: Mapping[str, Presence]) -> bool:
        """Whether objects of the kind are reconciled: as configured, and in `auto` where the required permissions are granted."""
        value = getattr(controllers, self.name)
        return bool(value == ON or (value == AUTO and known.get(self.name) is Presence.USABLE))


SWITCHES: Final = {
    each.resource.kind: each
    for each in (
        Switch(MODELS, "models", (ENDPOINT_SLICES, BASE_MODEL_HASH)),
        Switch(CHECKPOINTS, "checkpoints", (JOBS, f"{RECONCILED}=true")),
        Switch(REQUESTS, "requests", (JOBS, f"{RECONCILED}=true")),
    )
}


class Waits:
    """Since when objects have been seen waiting: by our own clock, which the API server's may differ from."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: OrderedDict[str, float] = OrderedDict()

    def seconds(self, uid: str) -> float:
        """For how long an object has been waiting."""
        moment = self._clock()
        since = self._since.setdefault(uid, moment)
        if len(self._since) > REMEMBERED:
            self._since.popitem(last=False)
        return moment - since


async def report_no_controller(work: Work, obj: Node, reason: str, text: str, *, others: bool = True) -> PassResult:
    """Puts a condition on an object while nobody acts on it; without `others` nobody can. Raises: ApiError, StandDownError."""
    status: Node = obj.get("status") or {}
    ours = condition_of(status, _TOLD)
    if obj["metadata"].get("deletionTimestamp"):
        return PassResult()
    # a condition that is not ours is another controller's word
    if others and (any(one.get("type") != _TOLD for one in status.get("conditions") or ()) or status.get("observedGeneration")):
        await clear_no_controller(work, obj)
        return PassResult()
    if not ours and (waited := work.waits.seconds(uid_of(obj))) < PATIENCE:
        return PassResult((), PATIENCE - waited)
    if await _tell(work, obj, reason, text):
        await work.say(obj, "Warning", reason, text)
    return PassResult()


async def report_forbidden(work: Work, obj: Node, text: str) -> PassResult:
    """Tells in a condition, or else an Event, of the missing permission that ended a pass. Raises: ApiError, StandDownError."""
    try:
        changed = await _tell(work, obj, FORBIDDEN, text)
    except ForbiddenError:
        changed = True
    if changed:
        await work.say(obj, "Warning", FORBIDDEN, text, lasting=True)
    return PassResult((Problem(f"{key_of(obj)}: {text}", "forbidden"),), RETRY_SLOW)


async def clear_no_controller(work: Work, obj: Node) -> None:
    """Takes the condition off an object that is acted on. Raises: ApiError, StandDownError."""
    await _tell(work, obj)


async def _tell(work: Work, obj: Node, reason: str = "", text: str = "") -> bool:
    """Makes the condition say so, or takes it away without a reason; returns whether it was another before."""
    now = work.cache.get(key_of(obj)) or obj
    status: Node = now.get("status") or {}
    told = Condition(_TOLD, "False", reason, text, obj["metadata"].get("generation")) if reason else None
    return await work.patch_status(now, set_condition(status, _TOLD, told, work.now()))
