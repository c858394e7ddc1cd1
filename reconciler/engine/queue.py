"""The work queue: each key once and by one worker at a time, urgent causes first, retried with growing delays."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Final, NamedTuple

from ...kube.clocks import LOCAL, Backoff, Clocks
from ..common.keys import Key
from ..metrics.queue import QueueStatistics
from .fair_order import Cause, Lanes

FIRST: Final = 0.5  # seconds before the first retry
MOST: Final = 120.0  # maximum seconds between retries
URGENT: Final = 3  # retries before new work; later ones come after it


class _Later(NamedTuple):
    due: float
    cause: Cause
    task: asyncio.Task[None]


class Queue:
    """Keys by cause. A key added during its pass is worked on again."""

    def __init__(self, clocks: Clocks = LOCAL) -> None:
        self._clocks, self._clock = clocks, clocks.monotonic
        self._ready = Lanes()
        self._running: set[Key] = set()
        self._again: dict[Key, Cause] = {}
        self._later: dict[Key, _Later] = {}
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
        self.turns.came(key)
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
        self.turns.began(key)
        self._forget_later(key)
        return key

    def done(self, key: Key, after: float = 0.0, cause: Cause = Cause.LOOK) -> None:
        """Finish a successful or permanently failed key; work on it again after so many seconds, 0 for never."""
        self._failures.pop(key, None)
        self._end(key)
        if after > 0:
            self.turns.put_off(key)
            self.add(key, after, cause)

    def failed(self, key: Key) -> float:
        """Finish a failed key; returns the seconds until its retry."""
        failures = self._failures.setdefault(key, Backoff(FIRST, MOST, self._clocks.chance))
        pause = failures.next()
        self._end(key)
        self.turns.put_off(key)
        self.add(key, pause, Cause.BEGUN if failures.errors <= URGENT else Cause.LOOK)
        return pause

    def lasts(self, key: Key) -> bool:
        """Whether a key has failed more than `URGENT` times in a row, which takes some seconds."""
        return key in self._failures and self._failures[key].errors > URGENT

    async def close(self) -> None:
        """Cancel delayed keys."""
        tasks = [later.task for later in self._later.values()]
        self._later.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def clear(self) -> None:
        """Remove everything: the next leader lists again."""
        self._ready.clear()
        self._running.clear()
        self._again.clear()
        self._failures.clear()
        self.turns.clear()

    def _end(self, key: Key) -> None:
        self._running.discard(key)
        self.turns.ended(key)
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
        self._later[key] = _Later(due, cause, asyncio.ensure_future(self._wake(key, after)))

    def _forget_later(self, key: Key) -> None:
        known = self._later.pop(key, None)
        if known is not None:
            known.task.cancel()

    async def _wake(self, key: Key, after: float) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._clocks.sleep(after)
            self.add(key, cause=self._later.pop(key).cause)
