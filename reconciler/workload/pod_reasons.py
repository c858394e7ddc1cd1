"""Why pods of a graph or a component wait, for its message. Pods are read only of what isn't ready, and less and less often."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from ...kube.errors import ApiError
from ...kube.protocol import Node
from ...kube.times import parse_time
from ..common.conditions import READY, condition_of
from ..common.keys import uid_of
from ..common.problems import LONGEST
from ..engine.work import Work
from ..render.names import COMPONENT
from .pods import pods_of

PATIENCE: Final = 5.0  # seconds in which pods are placed and images found, mostly
EVERY: Final = 60.0  # seconds between two reads for one object, once it has waited for so long; before, as long as it has waited
AT_ONCE: Final = 20  # reads for all graphs within a tenth of that time
NAMED: Final = 3  # components whose oldest waiting pod is named
_CUT: Final = 300  # characters of one reason
_MARK: Final = ". Pods wait: "
_USUAL: Final = frozenset({"ContainerCreating", "PodInitializing"})


class Reads:
    """Whose pods were read lately: in a rush the reasons of some objects are reported later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, tuple[float, str]] = {}  # uid of the object -> when, and its namespace, oldest first
        self._since: dict[str, tuple[datetime, float]] = {}  # uid of the object -> since when it waits, and when that was noted
        self.texts: dict[str, str] = {}  # uid of the object -> what was read, as long as it counts as read

    def is_early(self, uid: str, since: datetime) -> bool:
        """Whether an object that waits since a moment ago is looked at soon: for one such moment, or those near it, in EVERY seconds.

        Another writer of its status may set the moment anew each time, and a pass for each would fight over the status.
        """
        now = self._clock()
        self._since = {one: noted for one, noted in self._since.items() if now - noted[1] < EVERY}
        return abs((since - self._since.setdefault(uid, (since, now))[0]).total_seconds()) < PATIENCE

    def may(self, uid: str, namespace: str, pause: float = EVERY) -> bool:
        """Whether the pods of an object may be read now, which counts as having been done; at most once in `pause` seconds.

        No namespace has more than half of the reads.
        """
        now = self._clock()
        for one in [*self._last]:
            if now - self._last[one][0] < EVERY:
                break
            del self._last[one]
            self.texts.pop(one, None)
        lately = here = 0
        for when, where in reversed(self._last.values()):
            if now - when >= EVERY / 10:
                break
            lately += 1
            here += where == namespace
        read = self._last.get(uid)
        if (read and now - read[0] < pause) or lately >= AT_ONCE or here >= AT_ONCE // 2:
            return False
        self._last.pop(uid, None)  # to be the last again
        self._last[uid] = now, namespace
        return True


async def add_pod_reasons(work: Work, obj: Node, status: Node, condition: str = READY) -> tuple[Node, float]:
    """A status of what is not ready whose condition also says why pods wait, and the seconds after which to look again."""
    ready = condition_of(status, condition)
    since = parse_time(ready.get("lastTransitionTime"))
    if since is None:
        return status, 0.0
    age = (work.now() - since).total_seconds()
    uid = uid_of(obj)
    if 0 <= age < PATIENCE:  # what became so in the future says nothing: the wall clock went back
        return status, PATIENCE - age if work.reads.is_early(uid, since) else EVERY
    pause = min(age, EVERY) if age > 0 else EVERY
    before = str(condition_of(obj.get("status") or {}, condition).get("message") or "")
    if work.reads.may(uid, obj["metadata"]["namespace"], pause):
        try:
            work.reads.texts[uid] = explain_waiting_pods(await pods_of(work, obj)) or _refused(work, obj)
        except ApiError as error:
            work.reads.texts[uid] = f"pods can't be read: {error.message}"
    text = work.reads.texts.get(uid, before.partition(_MARK)[2])
    if not text:
        return status, pause
    told = {**ready, "message": f"{ready['message']}{_MARK}{text}"[:LONGEST]}
    return {**status, "conditions": [told if one is ready else one for one in status["conditions"]]}, pause


def _refused(work: Work, obj: Node) -> str:
    """Why a Deployment below an object can't even make its pods."""
    below = [child for one in work.cache.owned(obj) for child in (one, *work.cache.owned(one))]
    failed = [(one["metadata"]["name"], condition_of(one.get("status") or {}, "ReplicaFailure")) for one in below]
    return "; ".join([f"{name}: {_sentence(one, '')[:_CUT]}" for name, one in failed if one.get("status") == "True"][:NAMED])


def explain_waiting_pods(pods: Sequence[Node]) -> str:
    """What keeps the oldest waiting pod of each component from being ready; empty when nothing is known. Oldest pods come first."""
    reasons: dict[str, str] = {}
    for pod in pods:
        component = str((pod["metadata"].get("labels") or {}).get(COMPONENT) or "")
        if component not in reasons and (reason := _reason(pod)):
            reasons[component] = f"{pod['metadata']['name']}: {reason[:_CUT]}"
    more = f"; and {len(reasons) - NAMED} other components" if len(reasons) > NAMED else ""
    return "; ".join([*reasons.values()][:NAMED]) + more


def explain_end(pod: Node) -> str:
    """Why a pod has ended, from its status: its phase, and what it or a container says."""
    status: Node = pod.get("status") or {}
    said = _sentence(status, "") or next((f"container {one['name']}: {why}" for one in _containers(status) if (why := _ended(one))), "")
    return f"{status.get('phase')}{': ' if said else ''}{said}"[:_CUT]


def _reason(pod: Node) -> str:
    status: Node = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or condition_of(status, "Ready").get("status") == "True":
        return ""
    scheduled = condition_of(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return _sentence(scheduled, "it can't be scheduled")
    for one in _containers(status):
        if why_not := _waits(one):
            return f"container {one['name']}: {why_not}"
    return ""


def _containers(status: Node) -> list[Node]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _waits(container: Node) -> str:
    state: Node = container.get("state") or {}
    waiting, ended = state.get("waiting") or {}, (container.get("lastState") or {}).get("terminated") or {}
    if waiting and waiting.get("reason") not in _USUAL:
        last = f"; it ended with exit code {ended.get('exitCode')} ({ended.get('reason')})" if ended else ""
        return _sentence(waiting, "it waits") + last
    return _ended(container)


def _ended(container: Node) -> str:
    now: Node = (container.get("state") or {}).get("terminated") or {}
    return f"it ended with exit code {now['exitCode']} ({now.get('reason')})" if now.get("exitCode") else ""


def _sentence(said: Node, otherwise: str) -> str:
    reason, message = str(said.get("reason") or otherwise), str(said.get("message") or "")
    return f"{reason}: {message}" if message else reason
