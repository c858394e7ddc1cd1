"""Reading request bodies under limits of size, time and memory.

Long bodies and their responses have a budget of bytes, granted in the order of requests. A client that reads or writes too slowly loses its
grant as soon as another client waits for one.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self, cast

from aiohttp.web import BaseRequest

from .connection import Connection
from .envelope import RejectedError
from .executor.spool import Spool
from .limits import Bound, Limits

_LOOKS: Final = 4  # at the slow ones, in the time after which a client counts as slow


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

    def look(self, now: float, limits: Limits) -> None:
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
            self._watch = asyncio.get_running_loop().call_later(self._limits.slow_seconds / _LOOKS, self._end_slow)

    def _end_slow(self) -> None:
        """Ends the transfers of slow clients, as long as others wait."""
        self._watch = None
        if not self._waiting:
            return
        now = asyncio.get_running_loop().time()
        for reservation in self._reservations:
            reservation.look(now, self._limits)
        self._watch_slow()


TRIM_SECONDS: Final = 5.0  # between two trims, at least
_LIBRARY: Final = ctypes.CDLL(None)


def trim() -> None:
    """Returns free memory to the system; does nothing where the C library can't, as musl's."""
    give_back: Any = getattr(_LIBRARY, "malloc_trim", None)
    if give_back is not None:
        give_back(ctypes.c_size_t(0))


class DelayedTrim:
    """Gives memory back some seconds after a long review or a connection has left some behind.

    The C library keeps freed memory, after a storm twice what a server needs. To give it back takes 12 ms at most, in which the server
    does not respond. It waits for no quiet moment: a client that comes again and again would put that off for ever.
    """

    __slots__ = ("_give_back", "_seconds", "_timer")

    def __init__(self, give_back: Callable[[], None] = trim, seconds: float = TRIM_SECONDS) -> None:
        self._give_back, self._seconds = give_back, seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A long review or a connection has ended."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._trim)

    def _trim(self) -> None:
        self._timer = None
        self._give_back()


# What a conversion needs for its text and its answer: objects become up to 1.6 times as long, since what the other version has no field for
# goes along.
WITH_ANSWER: Final = 3


class Bodies:
    """The reader of one worker; it knows how much of long requests is in memory."""

    __slots__ = ("_admission", "_conversion", "_limits", "trim")

    def __init__(self, limits: Limits, met: Callable[[Bound], None]) -> None:
        """`met` is called if a body has to wait for memory."""
        self._limits = limits
        # apart, so that no long list keeps an object waiting
        self._admission, self._conversion = (
            BodyMemory(size, limits, lambda: met(Bound.LARGE_BODIES)) for size in (limits.room, limits.conversion_room)
        )
        self.trim = DelayedTrim()

    def reserve(self, *, conversion: bool) -> Reservation:
        """The room of a long request, which it has for its body until its answer has been taken."""
        return (self._conversion if conversion else self._admission).reserve()

    def long(self, request: BaseRequest) -> bool:
        """Whether a body needs room of its own."""
        return request.content_length is None or request.content_length > self._limits.small_body

    async def read(self, request: BaseRequest, *, conversion: bool = False) -> bytes:
        """Reads a short body.

        Raises: RejectedError 413 for one that is too long, 408 for one that is too slow; ConnectionError when the client is gone.
        """
        most, seconds = self._bounds(request, conversion=conversion)
        self._look_at_length(request, most, conversion=conversion)
        _go_on(request)
        try:
            async with asyncio.timeout(seconds):
                return await self._arrived(request, most, conversion=conversion)
        except TimeoutError:
            raise _too_slow(seconds, conversion=conversion) from None

    async def read_long(self, request: BaseRequest, reservation: Reservation, spool: Spool, *, conversion: bool = False) -> None:
        """The same for a long one, for which there must be room, into `spool`; a conversion's may be longer, if its length is declared.

        Raises: as `read`, and RejectedError 429 when there was no room in time.
        """
        most, seconds = self._bounds(request, conversion=conversion)
        self._look_at_length(request, most, conversion=conversion)
        times, connection = WITH_ANSWER if conversion else 1, cast("Connection", request.protocol)
        try:
            async with asyncio.timeout(seconds) as transfer:
                await reservation.enter(times * (request.content_length or most))
                _go_on(request)
                reservation.begin()
                connection.widen(wide=True)
                with reservation.turn(transfer):
                    await self._spooled(request, most, reservation, spool, conversion=conversion)
        except TimeoutError:
            if not reservation.size:
                raise RejectedError(429, f"within {seconds:g} seconds there was no room: other long reviews came first") from None
            if reservation.evicted:
                sentence = f"others wait, and the body came at less than {self._limits.pace} bytes a second"
                raise RejectedError(408, sentence, Bound.PACE) from None
            raise _too_slow(seconds, conversion=conversion) from None
        finally:
            connection.widen(wide=False)
        reservation.change(times * spool.size)

    def most(self, request: BaseRequest) -> int:
        """The longest body that a conversion may have."""
        return self._limits.body if request.content_length is None else self._limits.conversion_body

    def too_long(self, request: BaseRequest, *, conversion: bool = False) -> RejectedError:
        """The error for a body that is too long."""
        return _too_long(self._bounds(request, conversion=conversion)[0], conversion=conversion)

    def _bounds(self, request: BaseRequest, *, conversion: bool) -> tuple[int, float]:
        if conversion:
            return self.most(request), self._limits.conversion_seconds
        return self._limits.body, self._limits.body_seconds

    def _look_at_length(self, request: BaseRequest, most: int, *, conversion: bool) -> None:
        if request.content_length is not None and request.content_length > most:
            raise _too_long(most, conversion=conversion)

    async def _arrived(self, request: BaseRequest, most: int, *, conversion: bool) -> bytes:
        content, parts, size = request.content, [request.content.read_nowait()], 0
        size = len(parts[0])
        while not content.at_eof():
            part = await content.readany()
            size += len(part)
            if size > most:
                raise _too_long(most, conversion=conversion)
            parts.append(part)
        return b"".join(parts)

    async def _spooled(self, request: BaseRequest, most: int, reservation: Reservation, spool: Spool, *, conversion: bool) -> None:
        content = request.content
        part = content.read_nowait()
        while part or not content.at_eof():
            if spool.size + len(part) > most:
                raise _too_long(most, conversion=conversion)
            spool.write(part)
            reservation.moved = spool.size
            part = await content.readany()


def _go_on(request: BaseRequest) -> None:
    expected = request.version.minor == 1 and request.headers.get("Expect", "").lower() == "100-continue"
    if expected and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _too_slow(seconds: float, *, conversion: bool) -> RejectedError:
    bound = Bound.CONVERSION_SECONDS if conversion else Bound.BODY_SECONDS
    return RejectedError(408, f"the body must arrive within {seconds:g} seconds", bound)


def _too_long(most: int, *, conversion: bool) -> RejectedError:
    return RejectedError(413, f"the body must be at most {most} bytes", Bound.CONVERSION_BODY if conversion else Bound.ADMISSION_BODY)
