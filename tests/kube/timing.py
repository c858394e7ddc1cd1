"""A clock that only a test moves, and sleeps that end by it."""

import asyncio
import selectors
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from dynamo_webhooks.kube.clocks import Clocks


class Timing:
    """Provides `clock`, `now` and `sleep`; `advance` moves them."""

    def __init__(self) -> None:
        """Begins at zero on the monotonic clock."""
        self.seconds = 0.0
        self.slept: list[float] = []  # how long each sleep was meant to be
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def clock(self) -> float:
        """The monotonic clock."""
        return self.seconds

    def now(self) -> datetime:
        """The wall clock, a day off from any server's, so that comparing the two fails a test."""
        return datetime(2029, 12, 31, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def clocks(self, chance: float = 0.5) -> Clocks:
        """All of them, with a fixed `chance`."""
        return Clocks(self.clock, self.now, self.sleep, lambda: chance)

    async def sleep(self, seconds: float) -> None:
        """Sleeps until `advance` has gone so far."""
        self.slept.append(seconds)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.seconds + seconds, woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Lets time pass, waking each sleeper at its moment, and lets everything run until it waits."""
        end = self.seconds + seconds
        await settle()
        while due := sorted((each for each in self._sleepers if each[0] <= end and not each[1].done()), key=lambda each: each[0]):
            at, woken = due[0]
            self.seconds = max(self.seconds, at)
            woken.set_result(None)
            self._sleepers = [each for each in self._sleepers if not each[1].done()]
            await settle()
        self.seconds = end
        await settle()


class _Selector(selectors.DefaultSelector):
    """Wakes who waits for that once the loop would sleep: nothing is ready to run, and nothing has arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Future[None]] = []

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        arrived = super().select(0 if self.waiting else timeout)
        if timeout != 0 and not arrived:
            woken, self.waiting = self.waiting, []
            for each in woken:
                if not each.done():
                    each.set_result(None)
        return arrived


class SettlingLoop(asyncio.SelectorEventLoop):
    """The loop of all tests, in which one can wait until everybody else waits."""

    def __init__(self) -> None:
        self.ahead = 0.0  # seconds by which a test has let the clock of the loop jump
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        return super().time() + self.ahead

    async def settle(self) -> None:
        """Lets everything run that can run without time passing."""
        woken = self.create_future()
        self.selector.waiting.append(woken)
        await woken


async def settle() -> None:
    """Lets everything run that can run without time passing."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SettlingLoop)
    await loop.settle()


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Lets work go on until the block ends; it must not end before."""
    task = asyncio.create_task(work)
    await settle()
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
