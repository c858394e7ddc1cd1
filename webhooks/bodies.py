"""The bounds of bodies in size, time and memory, and the reader of long ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..admission.registration import Purpose
from .body_memory import ANSWER_FACTOR, BodyMemory, Reservation
from .connection import Connection
from .envelope import RejectedError
from .http1 import Head, UnreadableError
from .limits import Bound, Limits
from .spool import Spool
from .trim import DelayedTrim

if TYPE_CHECKING:
    from .routes import Route


class Bodies:
    """The bodies of one worker; it knows how much of long requests is in memory."""

    __slots__ = ("_admission", "_conversion", "_limits", "trim")

    def __init__(self, limits: Limits, on_bound: Callable[[Bound], None]) -> None:
        """`on_bound` is called if a body has to wait for memory."""
        self._limits = limits
        # apart, so that no long list keeps an object waiting
        self._admission, self._conversion = (
            BodyMemory(size, limits, lambda: on_bound(Bound.LARGE_BODIES)) for size in (limits.room, limits.conversion_room)
        )
        self.trim = DelayedTrim()

    def reserve(self, route: Route) -> Reservation:
        """The room of a long request, which it has for its body until its answer has been taken."""
        return (self._conversion if route.purpose is Purpose.CONVERT else self._admission).reserve()

    def seconds(self, route: Route) -> float:
        """The time in which a whole body must come."""
        return self._limits.conversion_seconds if route.purpose is Purpose.CONVERT else self._limits.body_seconds

    def check_length(self, route: Route, head: Head) -> None:
        """Raises: RejectedError 413 for a body whose declared length is over the bound."""
        if head.content_length is not None and head.content_length > self._most(route, head):
            raise self._too_long(route, head)

    def too_slow(self, route: Route) -> RejectedError:
        """The error for a body that did not come in time."""
        bound = Bound.CONVERSION_SECONDS if route.purpose is Purpose.CONVERT else Bound.BODY_SECONDS
        return RejectedError(408, f"the body must arrive within {self.seconds(route):g} seconds", bound)

    async def read(self, route: Route, connection: Connection, head: Head, reservation: Reservation, spool: Spool) -> None:
        """Reads a body for which there must be room, behind what `spool` holds of it.

        Raises: RejectedError 413 for one that is too long, 408 for one that is too slow, 429 when there was no room in time, and 400 for
        one that does not come whole.
        """
        most, seconds = self._most(route, head), self.seconds(route)
        times = ANSWER_FACTOR if route.purpose is Purpose.CONVERT else 1
        try:
            async with asyncio.timeout(seconds) as transfer:
                await reservation.enter(times * (most if head.content_length is None else head.content_length))
                connection.go_on()
                reservation.begin()
                connection.widen(wide=True)
                with reservation.turn(transfer):
                    while part := await connection.read():
                        if spool.size + len(part) > most:
                            raise self._too_long(route, head)
                        spool.write(part)
                        reservation.moved = spool.size
        except UnreadableError:
            raise RejectedError(400, "the body must arrive whole") from None
        except TimeoutError:
            if not reservation.size:
                raise RejectedError(429, f"within {seconds:g} seconds there was no room: other long reviews came first") from None
            if reservation.evicted:
                sentence = f"others wait, and the body came at less than {self._limits.pace} bytes a second"
                raise RejectedError(408, sentence, Bound.PACE) from None
            raise self.too_slow(route) from None
        finally:
            connection.widen(wide=False)
        reservation.change(times * spool.size)

    def _most(self, route: Route, head: Head) -> int:
        """The longest body that a request may have; a conversion's may be longer, if its length is declared."""
        declared = route.purpose is Purpose.CONVERT and head.content_length is not None
        return self._limits.conversion_body if declared else self._limits.body

    def _too_long(self, route: Route, head: Head) -> RejectedError:
        bound = Bound.CONVERSION_BODY if route.purpose is Purpose.CONVERT else Bound.ADMISSION_BODY
        return RejectedError(413, f"the body must be at most {self._most(route, head)} bytes", bound)
