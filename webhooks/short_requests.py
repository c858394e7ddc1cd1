"""Answers short requests in the event loop: at once while it is idle, else in a fair order.

Without an order, a client with hundreds of connections would make all others wait for all of its requests.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from .envelope import Answer
from .fair_queue import FairQueue

T = TypeVar("T")

STEPS_SECONDS: Final = 0.0005  # of steps that make one piece of work
TURN_SECONDS: Final = 0.004  # of work between two looks at the sockets; a request that has begun is finished
# of work that may be of earlier turns: to be called in each costs more than a request's answer is written in
_UNCOUNTED_SECONDS: Final = 0.001


class ShortRequests:
    """The work of all clients; the loop spends at most a few milliseconds on it between two looks at its sockets."""

    __slots__ = ("_clock", "_queue", "_reset", "_spent")

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._queue: FairQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = FairQueue()
        self._spent = 0.0  # seconds of work since the loop last looked at its sockets
        self._reset = False  # whether `_next` is called in the next turn of the loop

    async def through(self, client: str, size: int, steps: Iterator[Answer | None]) -> Answer:
        """Does work of so many bytes in steps, some of them as if they were a request; the first that is not None is the answer."""
        while (answer := await self.run(client, lambda: self._some(steps), size)) is None:
            pass
        return answer

    def _some(self, steps: Iterator[Answer | None]) -> Answer | None:
        """Does steps for as long as a request takes; a turn for each would cost 6 µs more."""
        end = self._clock() + STEPS_SECONDS
        while (answer := next(steps)) is None and self._clock() < end:
            pass
        return answer

    @property
    def free(self) -> bool:
        """Whether no client waits and this turn of the loop has time left."""
        return not self._queue and self._spent < TURN_SECONDS

    async def run(self, client: str, work: Callable[[], T], size: int = 0) -> T:
        """Works at once if `free`, else at the client's turn."""
        if self.free:
            return self.do(client, work)
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(client, size, (work, done))
        self._call_next()
        return await done

    def do(self, client: str, work: Callable[[], T]) -> T:
        """Works at once, which the caller has found free."""
        began = self._clock()
        try:
            return work()
        finally:
            seconds = self._clock() - began
            self._spent += seconds
            self._queue.charge(client, seconds)
            if self._queue or self._spent > _UNCOUNTED_SECONDS:
                self._call_next()

    def _call_next(self) -> None:
        if not self._reset:
            self._reset = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Begins a turn: answers those who wait, for as long as a turn may take."""
        self._reset, self._spent = False, 0.0
        while self._spent < TURN_SECONDS and (entry := self._queue.take()) is not None:
            client, (work, done) = entry
            if done.done():  # its client has left
                continue
            try:
                done.set_result(self.do(client, work))
            except Exception as error:  # noqa: BLE001 - the request's own handler deals with it
                done.set_exception(error)
