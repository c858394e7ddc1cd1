"""A clock that only a test moves, and sleeps that end by it."""

import asyncio
from datetime import UTC, datetime, timedelta

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


async def settle() -> None:
    """Lets everything run that can run without time passing."""
    for _ in range(100):
        await asyncio.sleep(0)
