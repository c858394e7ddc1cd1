"""The memory for long bodies and their answers: a budget of bytes, granted in the order of requests.

A client that sends or takes too slowly loses its grant as soon as another client waits for one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from .limits import Limits

# What a conversion needs for its text and its answer: objects become up to 1.6 times as long, since what the other version has no field for
# goes along.
ANSWER_FACTOR: Final = 3
_POLLS: Final = 4  # at the slow ones, in the time after which a client counts as slow


class Reservation:
    """The room of one request, in bytes; use as a context manager, whose end gives it back."""

    __slots__ = ("_memory", "_since", "_transfer", "evicted", "moved", "size")

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self.size = 0
        self.moved = 0  # bytes that the client has sent or taken since `begin`
        self.evicted = False  # for being slow
        self._since = 0.0
        self._transfer: asyncio.Timeout | None = None  # while it is the client's turn

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.change(0)

    async def enter(self, size: int) -> None:
        """Wait for memory; a request larger than the whole budget waits for exclusive use."""
        await self._memory.take(self, size)

    def change(self, size: int) -> None:
        """Needs so many bytes from now on; more are had at once, for work that is done can't wait."""
        self._memory.changed(self, size)

    def begin(self) -> None:
        """From now on the client's pace counts, while it sends or while it takes."""
        self.moved, self._since = 0, asyncio.get_running_loop().time()

    @contextlib.contextmanager
    def turn(self, transfer: asyncio.Timeout) -> Iterator[None]:
        """Meanwhile it is the client's turn; `transfer`, which must be running, ends when it is too slow."""
        self._transfer = transfer
        try:
            yield
        finally:
            self._transfer = None

    def check(self, now: float, limits: Limits) -> None:
        """Ends the transfer of a client that has had the time to show that it is slow, and has."""
        seconds = now - self._since
        if self._transfer is None or seconds <= limits.slow_seconds or self.moved >= limits.pace * seconds:
            return
        if not self._transfer.expired():  # of itself, in this very turn of the loop
            self.evicted = True
            self._transfer.reschedule(now)
        self._transfer = None


class BodyMemory:
    """All that one worker has for one purpose."""

    def __init__(self, size: int, limits: Limits, crowded: Callable[[], None]) -> None:
        """`size` bytes; `crowded` is called if a request has to wait."""
        self._size = self._free = size
        self._limits = limits
        self._crowded = crowded
        self._reservations: set[Reservation] = set()
        self._waiting: deque[tuple[Reservation, int, asyncio.Future[None]]] = deque()
        self._watch: asyncio.TimerHandle | None = None

    @property
    def used(self) -> int:
        """Bytes that are given away."""
        return self._size - self._free

    def reserve(self) -> Reservation:
        """A place for one request, without any room yet."""
        return Reservation(self)

    async def take(self, reservation: Reservation, size: int) -> None:
        """Waits for its turn."""
        size = min(size, self._size)
        if not self._waiting and size <= self._free:
            self._give(reservation, size)
            return
        self._crowded()
        entry = (reservation, size, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        self._watch_slow()
        try:
            await entry[2]
        except asyncio.CancelledError:
            if entry in self._waiting:  # else it has been given room meanwhile, which its end gives back
                self._waiting.remove(entry)
                self._next()
            raise

    def changed(self, reservation: Reservation, size: int) -> None:
        """Takes note that one needs more or less."""
        self._free += reservation.size - size
        reservation.size = size
        if not size:
            self._reservations.discard(reservation)
        self._next()

    def _give(self, reservation: Reservation, size: int) -> None:
        self._free -= size
        reservation.size = size
        self._reservations.add(reservation)

    def _next(self) -> None:
        while self._waiting and self._waiting[0][1] <= self._free:
            reservation, size, turn = self._waiting.popleft()
            if not turn.done():
                self._give(reservation, size)
                turn.set_result(None)

    def _watch_slow(self) -> None:
        if self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(self._limits.slow_seconds / _POLLS, self._end_slow)

    def _end_slow(self) -> None:
        """Ends the transfers of slow clients, as long as others wait."""
        self._watch = None
        if not self._waiting:
            return
        now = asyncio.get_running_loop().time()
        for reservation in self._reservations:
            reservation.check(now, self._limits)
        self._watch_slow()
