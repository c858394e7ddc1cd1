"""An HTTP answer written as one piece: a head made of prepared parts, and a body that is bytes already."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import sys
import termios
import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from .limits import Bound, Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from aiohttp.base_protocol import BaseProtocol
    from aiohttp.web import BaseRequest

    from .bodies import Reservation
    from .connection import Connection

_LINES: Final = {status: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
JSON: Final = b"Content-Type: application/json\r\n"
PIECE: Final = 256 * 1024  # of an answer; the time for writing is for each
# of the system's queue: a turn of the loop after it was empty, all that waited here is in it, and was received if it is empty again
_LOOKS: Final = 2
_LOOK_SECONDS: Final = 0.01
UNSENT: Final = 64 * 1024  # bytes of a connection: who writes waits when there are more


def date_line() -> bytes:
    """The header line for now, made once a second."""
    return _date_line(int(time.time()))


@lru_cache(maxsize=1)
def _date_line(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode()


class Reply:
    """What the low-level server sends; it asks for `prepare`, `write_eof` and `keep_alive` and for nothing else of a response.

    aiohttp's own response builds and serialises a header map each time, which costs more than judging a small object.
    """

    __slots__ = ("_body", "_head", "_met", "_seconds", "keep_alive")

    def __init__(
        self,
        status: int,
        head: bytes,
        body: bytes | memoryview,
        limits: Limits,
        met: Callable[[Bound], None],
        *,
        keep_alive: bool,
        extra: bytes = b"",
        bare: bool = False,
    ) -> None:
        """`head` holds the content type and date lines, `extra` further ones; `bare` leaves the body out, for HEAD; `met` counts bounds."""
        self.keep_alive = keep_alive
        self._met = met
        self._seconds = limits.write_seconds
        close = b"" if keep_alive else b"Connection: close\r\n"
        self._head = b"".join((_LINES[status], head, extra, close, b"Content-Length: %d\r\n\r\n" % len(body)))  # type: ignore[index]  # an HTTPStatus is the int that it equals
        self._body = b"" if bare else body

    async def prepare(self, request: BaseRequest) -> None:
        """Sends it, unless that has been done.

        Raises: ConnectionResetError when the client is gone or too slow.
        """
        if self._head:
            await self.send(request)

    def send_at_once(self, connection: Connection) -> bool:
        """Writes everything if the connection goes on and has room for it; false: nothing is written."""
        transport = connection.transport
        if transport is None or not self.keep_alive or transport.get_write_buffer_size() + len(self._body) > UNSENT:
            return False
        transport.write(self._head + self._body)
        return True

    async def send(self, request: BaseRequest, reservation: Reservation | None = None) -> None:
        """Writes everything; waits only when the client doesn't take it. `reservation` is the room that the body has meanwhile.

        Raises: as above.
        """
        connection = request.protocol
        if connection.transport is None:
            raise ConnectionResetError
        head, body, self._head, self._body = self._head, self._body, b"", b""
        if reservation is not None:
            reservation.begin()
        if len(body) <= PIECE:
            connection.transport.write(head + body)
        else:
            connection.transport.write(head)
            await self._in_pieces(request, memoryview(body), reservation)
        if connection.writing_paused:
            await self._drain(request, reservation)
        cast("Connection", connection).answer_sent()
        if not self.keep_alive and len(body) > PIECE:
            with contextlib.suppress(TimeoutError):  # then as much of it is delivered as the system has
                async with asyncio.timeout(self._seconds) as transfer:
                    with _turn(reservation, transfer):
                        await _handed_over(connection)

    async def _in_pieces(self, request: BaseRequest, body: memoryview, reservation: Reservation | None) -> None:
        """Write in pieces: a TLS transport buffers everything at once, without backpressure."""
        connection = request.protocol
        for start in range(0, len(body), PIECE):
            if connection.writing_paused:
                await self._drain(request, reservation)
            if connection.transport is None:
                raise ConnectionResetError
            piece = body[start : start + PIECE]
            connection.transport.write(piece)
            if reservation is not None:
                reservation.moved += len(piece)
            await asyncio.sleep(0)  # encrypting is work, too

    async def _drain(self, request: BaseRequest, reservation: Reservation | None) -> None:
        try:
            async with asyncio.timeout(self._seconds) as transfer:
                with _turn(reservation, transfer):
                    await request.writer.drain()
        except TimeoutError:
            self._met(Bound.PACE if reservation is not None and reservation.evicted else Bound.WRITE_SECONDS)
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError from None
        except ConnectionError as error:
            error.__traceback__ = None  # the future that was waited for keeps the error, and this would keep the answer
            raise ConnectionResetError from None

    async def write_eof(self) -> None:
        """Nothing is left to write."""


def _turn(reservation: Reservation | None, transfer: asyncio.Timeout) -> AbstractContextManager[None]:
    return reservation.turn(transfer) if reservation is not None else contextlib.nullcontext()


async def _handed_over(connection: BaseProtocol) -> None:
    """Waits until the system has all that was written: of a TLS connection that is closed the rest has `goodbye_seconds`, however much."""
    empty = 0
    while empty < _LOOKS and connection.transport is not None:
        empty = 0 if _unsent(connection.transport) else empty + 1
        await asyncio.sleep(_LOOK_SECONDS)


def _unsent(transport: asyncio.Transport) -> int:
    """Bytes that the client's system has not received; 0 if unknown."""
    try:
        return int.from_bytes(fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (OSError, ValueError):
        return 0
