"""An HTTP answer written as one piece: a head made of prepared parts, and a body that is bytes already."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from webhooks.limits import Bound

if TYPE_CHECKING:
    from aiohttp.web import BaseRequest

    from webhooks.connection import Connection
    from webhooks.limits import Limits

_LINES: Final = {status: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
JSON: Final = b"Content-Type: application/json\r\n"
TEXT: Final = b"Content-Type: text/plain; charset=utf-8\r\n"
METRICS: Final = b"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
PIECE: Final = 256 * 1024  # of an answer; the time for writing is for each


class Dates:
    """The Date header, made once a second."""

    __slots__ = ("_line", "_second")

    def __init__(self) -> None:
        """Starts without a date."""
        self._second = 0
        self._line = b""

    def line(self) -> bytes:
        """The header line for now."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._line = f"Date: {formatdate(second, usegmt=True)}\r\n".encode()
        return self._line


class Reply:
    """What the low-level server sends; it asks for `prepare`, `write_eof` and `keep_alive` and for nothing else of a response.

    aiohttp's own response builds and serialises a header map each time, which costs more than judging a small object.
    """

    __slots__ = ("_data", "_seconds", "keep_alive")

    def __init__(
        self, status: int, head: bytes, body: bytes, limits: Limits, *, keep_alive: bool, extra: bytes = b"", bare: bool = False
    ) -> None:
        """`head` holds the content type and date lines, `extra` further ones; `bare` leaves the body out, as HEAD wants it."""
        self.keep_alive = keep_alive
        self._seconds = limits.write_seconds
        close = b"" if keep_alive else b"Connection: close\r\n"
        parts = (_LINES[status], head, extra, close, b"Content-Length: %d\r\n\r\n" % len(body), b"" if bare else body)  # type: ignore[index]  # an HTTPStatus is the int that it equals
        self._data = b"".join(parts)

    async def prepare(self, request: BaseRequest) -> None:
        """Writes everything; waits only when the client doesn't take it.

        Raises: ConnectionResetError when the client is gone or too slow.
        """
        connection = request.protocol
        if connection.transport is None:
            raise ConnectionResetError
        if len(self._data) <= PIECE:
            connection.transport.write(self._data)
        else:
            await self._in_pieces(request)
        if connection.writing_paused:
            await self._drain(request)

    async def _in_pieces(self, request: BaseRequest) -> None:
        """A transport over TLS that is given much at one time takes it all, and never says that nobody reads it."""
        connection, data = request.protocol, memoryview(self._data)
        for start in range(0, len(data), PIECE):
            if connection.writing_paused:
                await self._drain(request)
            if connection.transport is None:
                raise ConnectionResetError
            connection.transport.write(data[start : start + PIECE])

    async def _drain(self, request: BaseRequest) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await request.writer.drain()
        except TimeoutError:
            cast("Connection", request.protocol).met(Bound.WRITE_SECONDS)
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError from None

    async def write_eof(self) -> None:
        """Nothing is left to write."""
