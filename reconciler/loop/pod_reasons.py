"""Why a graph's pods wait, for its message. Pods are read only of graphs that have not been ready for a while, and not often."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.kube.times import parsed
from dynamo_webhooks.reconciler.loop.graph_status import READY
from dynamo_webhooks.reconciler.loop.keys import uid_of
from dynamo_webhooks.reconciler.loop.pods import pods_of
from dynamo_webhooks.reconciler.loop.problems import LONGEST
from dynamo_webhooks.reconciler.loop.status import found
from dynamo_webhooks.reconciler.render.names import COMPONENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work

PATIENCE: Final = 30.0  # seconds for which nobody wonders why a graph isn't ready
EVERY: Final = 60.0  # seconds between two reads for one graph
AT_ONCE: Final = 20  # reads for all graphs within a tenth of that time
NAMED: Final = 3  # components whose oldest waiting pod is named
_CUT: Final = 300  # characters of one reason
_MARK: Final = ". Pods wait: "
_USUAL: Final = frozenset({"ContainerCreating", "PodInitializing"})


class Reads:
    """Which graphs' pods were read lately: in a rush the reason of some graphs is told later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing was read yet."""
        self._clock = clock
        self._last: dict[str, tuple[float, str]] = {}  # uid of the graph -> when, and its namespace, oldest first
        self.texts: dict[str, str] = {}  # uid of the graph -> what was read, as long as it counts as read

    def may(self, uid: str, namespace: str) -> bool:
        """Whether the pods of a graph may be read now, which counts as having been done. No namespace has more than half of the reads."""
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
        if uid in self._last or lately >= AT_ONCE or here >= AT_ONCE // 2:
            return False
        self._last[uid] = now, namespace
        return True


async def with_reasons(work: Work, graph: Node, status: Node) -> tuple[Node, float]:
    """A status whose message says why pods wait, and the seconds after which to look again."""
    ready = found(status, READY)
    since = parsed(ready.get("lastTransitionTime"))
    if status.get("state") != "pending" or since is None:
        return status, 0.0
    age = (work.now() - since).total_seconds()
    if 0 <= age < PATIENCE:  # what became so in the future says nothing: the wall clock went back
        return status, PATIENCE - age
    before = str(found(graph.get("status") or {}, READY).get("message") or "")
    uid = uid_of(graph)
    if work.reads.may(uid, graph["metadata"]["namespace"]):
        try:
            work.reads.texts[uid] = why(await pods_of(work, graph)) or _refused(work, graph)
        except ApiError as error:
            work.reads.texts[uid] = f"pods can't be read: {error.message}"
    text = work.reads.texts.get(uid, before.partition(_MARK)[2])
    if not text:
        return status, EVERY
    told = {**ready, "message": f"{ready['message']}{_MARK}{text}"[:LONGEST]}
    return {**status, "conditions": [told if one is ready else one for one in status["conditions"]]}, EVERY


def _refused(work: Work, graph: Node) -> str:
    """Why a Deployment of the graph can't even make its pods."""
    below = [child for one in work.cache.owned(graph) for child in work.cache.owned(one)]
    failed = [(one["metadata"]["name"], found(one.get("status") or {}, "ReplicaFailure")) for one in below]
    return "; ".join([f"{name}: {_sentence(one, '')[:_CUT]}" for name, one in failed if one.get("status") == "True"][:NAMED])


def why(pods: Sequence[Node]) -> str:
    """What keeps the oldest waiting pod of each component from being ready; empty when nothing is known. Oldest pods come first."""
    reasons: dict[str, str] = {}
    for pod in pods:
        component = str((pod["metadata"].get("labels") or {}).get(COMPONENT) or "")
        if component not in reasons and (reason := _reason(pod)):
            reasons[component] = f"{pod['metadata']['name']}: {reason[:_CUT]}"
    more = f"; and {len(reasons) - NAMED} other components" if len(reasons) > NAMED else ""
    return "; ".join([*reasons.values()][:NAMED]) + more


def _reason(pod: Node) -> str:
    status: Node = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or found(status, "Ready").get("status") == "True":
        return ""
    scheduled = found(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return _sentence(scheduled, "it can't be scheduled")
    for one in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if why_not := _waits(one):
            return f"container {one['name']}: {why_not}"
    return ""


def _waits(container: Node) -> str:
    state: Node = container.get("state") or {}
    waiting, ended = state.get("waiting") or {}, (container.get("lastState") or {}).get("terminated") or {}
    if waiting and waiting.get("reason") not in _USUAL:
        last = f"; it ended with exit code {ended.get('exitCode')} ({ended.get('reason')})" if ended else ""
        return _sentence(waiting, "it waits") + last
    now: Node = state.get("terminated") or {}
    return f"it ended with exit code {now['exitCode']} ({now.get('reason')})" if now.get("exitCode") else ""


def _sentence(said: Node, otherwise: str) -> str:
    reason, message = str(said.get("reason") or otherwise), str(said.get("message") or "")
    return f"{reason}: {message}" if message else reason
