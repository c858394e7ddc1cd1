"""What is to be reconciled: each key once, never by two at a time, urgent causes first, again after a failure with growing pauses."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.kube.backoff import Backoff
from dynamo_webhooks.reconciler.loop.causes import Cause
from dynamo_webhooks.reconciler.loop.lanes import Lanes
from dynamo_webhooks.reconciler.loop.queue_statistics import QueueStatistics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dynamo_webhooks.reconciler.loop.keys import Key

FIRST: Final = 0.5  # seconds before the second attempt
MOST: Final = 120.0  # seconds between two attempts at most
URGENT: Final = 3  # attempts that come before new work; what failed more often waits behind it


class _Later(NamedTuple):
    due: float
    cause: Cause
    task: asyncio.Task[None]


class Queue:
    """Keys by cause. What comes while it is being worked on is worked on once more."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Begins empty."""
        self._clock, self._sleep, self._chance = clock, sleep, chance
        self._ready = Lanes()
        self._running: set[Key] = set()
        self._again: dict[Key, Cause] = {}
        self._later: dict[Key, _Later] = {}
        self._failures: dict[Key, Backoff] = {}
        self._news = asyncio.Event()
        self.turns = QueueStatistics(clock)  # what it tells of itself

    def __len__(self) -> int:
        """How many wait to be worked on now."""
        return len(self._ready)

    def waiting(self) -> Counter[str]:
        """How many of each kind wait to be worked on now."""
        return self._ready.kinds()

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is being worked on, whatever may come later."""
        return not self._ready and not self._running

    def next_due(self) -> float | None:
        """Seconds until something comes by itself; None when nothing will."""
        due = min((later.due for later in self._later.values()), default=None)
        return None if due is None else max(0.0, due - self._clock())

    def add(self, key: Key, after: float = 0.0, cause: Cause = Cause.EDIT) -> None:
        """Work on `key` now, or after so many seconds unless it is asked for earlier. Of several causes the most urgent counts."""
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
        """The next key; the caller says `done` or `failed` in the end."""
        while not self._ready:
            self._news.clear()
            await self._news.wait()
        key = self._ready.take()
        self._running.add(key)
        self.turns.began(key)
        self._forget_later(key)
        return key

    def done(self, key: Key, after: float = 0.0, cause: Cause = Cause.LOOK) -> None:
        """It went well, or so wrong that only a change helps; once more after so many seconds, 0 for never."""
        self._failures.pop(key, None)
        self._end(key)
        if after > 0:
            self.turns.put_off(key)
            self.add(key, after, cause)

    def failed(self, key: Key) -> float:
        """It went wrong and may go well another time; gives the seconds until then."""
        failures = self._failures.setdefault(key, Backoff(FIRST, MOST, self._chance))
        pause = failures.next()
        self._end(key)
        self.turns.put_off(key)
        self.add(key, pause, Cause.BEGUN if failures.errors <= URGENT else Cause.LOOK)
        return pause

    async def close(self) -> None:
        """Forgets what waits for a moment."""
        tasks = [later.task for later in self._later.values()]
        self._later.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def clear(self) -> None:
        """Forgets everything: whoever leads next lists anew."""
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
            await self._sleep(after)
            self.add(key, cause=self._later.pop(key).cause)
