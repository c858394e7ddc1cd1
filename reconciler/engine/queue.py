"""The work queue: each key once and by one worker at a time, urgent causes first, retried with growing delays."""

import asyncio
import contextlib
from collections import Counter, OrderedDict
from enum import IntEnum
from typing import Final, NamedTuple

from ...kube.clocks import LOCAL, Backoff, Clocks
from ...kube.protocol import Node
from ..common.keys import Key, controller_reference
from ..metrics.controller_runtime import QueueStatistics

FAIR_TURN_INTERVAL: Final = 8  # one of so many turns goes to the longest waiting key, against starvation
FIRST_RETRY_SECONDS: Final = 0.5  # seconds before the first retry
MAX_RETRY_SECONDS: Final = 120.0
MAX_URGENT_RETRIES: Final = 3  # before new work; later ones come after it


class Cause(IntEnum):
    """Smaller values come first."""

    EDIT = 0  # the object was changed or is being deleted
    IN_PROGRESS = 1  # a part of it changed, it is a new part of something else, or the last pass failed
    NEW = 2  # nothing was done for it
    RESYNC = 3  # no known change: after a restart, or periodically


def cause_of(obj: Node, *, known: bool) -> Cause:
    """The cause for an object itself; `known` means that an earlier state of it was known, so it changed."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return Cause.EDIT
    if not status:
        return Cause.IN_PROGRESS if controller_reference(obj) else Cause.NEW
    acted_on = status.get("observedGeneration")
    if known or (acted_on is not None and acted_on != metadata.get("generation")):
        return Cause.EDIT
    return Cause.RESYNC


class ReadyKeys:
    """Orders keys by cause, then by turns of kinds, then of namespaces, then first in, first out."""

    def __init__(self) -> None:
        # the namespaces of each lane take turns, the next one first, each with its keys as they came
        self._lanes: dict[tuple[Cause, str], OrderedDict[str, OrderedDict[Key, None]]] = {}
        self._served: Counter[tuple[Cause, str]] = Counter()  # the number of each lane's last turn
        self._causes: OrderedDict[Key, Cause] = OrderedDict()  # the longest waiting key first
        self._turn = 0

    def __len__(self) -> int:
        return len(self._causes)

    def kinds(self) -> Counter[str]:
        """The number of waiting keys of each kind."""
        return Counter(key.kind for key in self._causes)

    def put(self, key: Key, cause: Cause) -> None:
        """Add a key; one that waits already keeps the more urgent cause."""
        known = self._causes.get(key)
        if known is not None:
            if known <= cause:
                return
            self._remove(known, key)
        self._causes[key] = cause
        self._lanes.setdefault((cause, key.kind), OrderedDict()).setdefault(key.namespace, OrderedDict())[key] = None

    def take(self) -> Key:
        """Remove the next key. Raises: ValueError if none waits."""
        self._turn += 1
        if self._turn % FAIR_TURN_INTERVAL == 0 and self._causes:
            key, cause = next(iter(self._causes.items()))
        else:
            at = min((at for at, lane in self._lanes.items() if lane), key=lambda at: (at[0], self._served[at]))
            namespace, keys = next(iter(self._lanes[at].items()))
            self._lanes[at].move_to_end(namespace)
            key, cause = next(iter(keys)), at[0]
        self._served[cause, key.kind] = self._turn
        self._remove(cause, key)
        return key

    def _remove(self, cause: Cause, key: Key) -> None:
        lane = self._lanes[cause, key.kind]
        del self._causes[key], lane[key.namespace][key]
        if not lane[key.namespace]:
            del lane[key.namespace]


class _DelayedKey(NamedTuple):
    due: float
    cause: Cause
    task: asyncio.Task[None]


class Queue:
    """Keys by cause. A key added during its pass is worked on again."""

    def __init__(self, clocks: Clocks = LOCAL) -> None:
        self._clocks, self._clock = clocks, clocks.monotonic
        self._ready = ReadyKeys()
        self._running: set[Key] = set()
        self._again: dict[Key, Cause] = {}
        self._later: dict[Key, _DelayedKey] = {}
        self._failures: dict[Key, Backoff] = {}
        self._news = asyncio.Event()
        self.turns = QueueStatistics(self._clock)  # for metrics

    def __len__(self) -> int:
        return len(self._ready)

    def waiting(self) -> Counter[str]:
        """The number of ready keys of each kind."""
        return self._ready.kinds()

    @property
    def idle(self) -> bool:
        """Whether no key is ready or being worked on; delayed ones don't count."""
        return not self._ready and not self._running

    def add(self, key: Key, after: float = 0.0, cause: Cause = Cause.EDIT) -> None:
        """Add `key` now, or after a delay unless it is added earlier. The most urgent of several causes counts."""
        if after > 0:
            self._add_later(key, after, cause)
            return
        self.turns.on_added(key)
        if key in self._running:
            self._again[key] = min(cause, self._again.get(key, cause))
        else:
            self._ready.put(key, cause)
            self._news.set()

    async def get(self) -> Key:
        """The next key; the caller then calls `done` or `failed`."""
        while not self._ready:
            self._news.clear()
            await self._news.wait()
        key = self._ready.take()
        self._running.add(key)
        self.turns.on_started(key)
        if (later := self._later.pop(key, None)) is not None:
            later.task.cancel()
        return key

    def done(self, key: Key, after: float = 0.0, cause: Cause = Cause.RESYNC) -> None:
        """Finish a successful or permanently failed key; work on it again after so many seconds, 0 for never."""
        self._failures.pop(key, None)
        self._end(key)
        if after > 0:
            self.turns.repeated[key.kind] += 1
            self.add(key, after, cause)

    def failed(self, key: Key) -> float:
        """Finish a failed key; returns the seconds until its retry."""
        failures = self._failures.setdefault(key, Backoff(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS, self._clocks.chance))
        pause = failures.next()
        self._end(key)
        self.turns.repeated[key.kind] += 1
        self.add(key, pause, Cause.IN_PROGRESS if failures.errors <= MAX_URGENT_RETRIES else Cause.RESYNC)
        return pause

    def keeps_failing(self, key: Key) -> bool:
        """Whether a key has failed more than `MAX_URGENT_RETRIES` times in a row, which takes some seconds."""
        return key in self._failures and self._failures[key].errors > MAX_URGENT_RETRIES

    async def close(self) -> None:
        """Cancel delayed keys."""
        tasks = [later.task for later in self._later.values()]
        self._later.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def clear(self) -> None:
        """Remove everything: the next leader lists again."""
        self._ready = ReadyKeys()
        self._running.clear()
        self._again.clear()
        self._failures.clear()
        self.turns.clear()

    def _end(self, key: Key) -> None:
        self._running.discard(key)
        self.turns.on_ended(key)
        cause = self._again.pop(key, None)
        if cause is not None:
            self.add(key, cause=cause)

    def _add_later(self, key: Key, after: float, cause: Cause) -> None:
        due = self._clock() + after
        known = self._later.get(key)
        if known is not None:
            cause = min(cause, known.cause)
            if known.due <= due:
                self._later[key] = known._replace(cause=cause)
                return
            known.task.cancel()
        self._later[key] = _DelayedKey(due, cause, asyncio.ensure_future(self._wake(key, after)))

    async def _wake(self, key: Key, after: float) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._clocks.sleep(after)
            self.add(key, cause=self._later.pop(key).cause)
