"""One client connection: aiohttp's protocol, with a bound on how long a first request may take and plain answers to bad HTTP."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Final, cast

from aiohttp import web_protocol
from aiohttp.http import HttpVersion10, HttpVersion11
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web import RequestHandler, StreamResponse
from aiohttp.web_protocol import _ErrInfo  # what waits among the requests for what isn't one; it has no other name

from dynamo_webhooks.webhooks.envelope import rejection
from dynamo_webhooks.webhooks.fair_queue import client_of
from dynamo_webhooks.webhooks.limits import Bound, Limits
from dynamo_webhooks.webhooks.reply import JSON, UNSENT, Reply

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from aiohttp import StreamReader
    from aiohttp.web import BaseRequest, Server

_LOG: Final = logging.getLogger("webhooks.server")
UNREADABLE: Final = "the request can't be read as HTTP/1.1"
_UNREADABLE: Final = _ErrInfo(400, BadHttpMessage("not HTTP"), "")
# requests of a connection that wait: with so many aiohttp parses no more, and calls `data_received` without data when there are fewer
_WAITING: Final[int] = getattr(web_protocol, "MAX_MSG_QUEUE_SIZE", sys.maxsize)
_PIECE: Final = 8 * 1024  # bytes that are parsed between two looks at how a body is framed: as chunks of a byte they take 2 ms
_FRAMING: Final = 64  # bytes of a chunked body for one of its framing, beyond one piece: chunks of 400 bytes and more


def is_framed(request: BaseRequest) -> bool:
    """Whether all agree on where a request ends: the parser takes HTTP/2.0 for a version, and codings that it doesn't undo."""
    coding = request.headers.get("Transfer-Encoding")
    if coding is None:
        return request.version in (HttpVersion11, HttpVersion10)
    return request.version == HttpVersion11 and coding.lower() == "chunked"


def is_last(request: BaseRequest) -> bool:
    """Whether nothing may follow a request: what comes behind one for another protocol, or for a tunnel, may not be HTTP."""
    return "Upgrade" in request.headers or request.method == "CONNECT" or not is_framed(request)


class Connection(RequestHandler):
    """A connection that is closed if no request arrives in time; the first response sets `spoken`."""

    __slots__ = (
        "_arriving",
        "_framed",
        "_held",
        "_late",
        "_limits",
        "_unreadable",
        "caller",
        "client",
        "generation",
        "last",
        "met",
        "reading",
        "spoken",
        "unread",
    )

    def __init__(
        self, server: Server, loop: asyncio.AbstractEventLoop, limits: Limits, met: Callable[[Bound], None], generation: int = 0
    ) -> None:
        """Bounds come from `limits`; `met` is called for those that are met. Bodies aren't decompressed.

        `generation`: of the authorities that verify the client, see callers.py, which also sets `caller`.
        """
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=limits.idle_seconds,
            access_log=cast("Any", None),
            max_line_size=limits.line,
            max_field_size=limits.line,
            max_headers=limits.headers,
            lingering_time=limits.body_seconds,
            auto_decompress=False,
        )
        self.spoken = False
        self.generation = generation
        self.client = ""  # who shares CPU time fairly with others, see fair_queue.py
        self.caller: tuple[str, float] | None = None
        self.reading = False  # whether the body of a request is awaited
        self.last = False  # to be closed with the answer to the request that is handled
        self._limits = limits
        self.met = met
        self.unread: StreamReader | None = None  # a body that was answered before all of it had come
        self._arriving: StreamReader = EMPTY_PAYLOAD  # the body of the request that began last
        self._framed = -1  # bytes of a chunked body and its framing, without the piece that it begins in; negative for others
        self._held = b""  # not parsed yet
        self._late: asyncio.TimerHandle | None = None
        self._unreadable = False  # the last data isn't HTTP: the next request's begin is unknown

    @property
    def answered(self) -> bool:
        """Whether nothing of a request is on its way, where none is being worked on."""
        return self.spoken and self.unread is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the clock."""
        super().connection_made(transport)
        self.client = client_of(transport.get_extra_info("peername"))
        # what a client doesn't take must not lie here unseen: who writes waits, and is counted
        cast("asyncio.WriteTransport", transport).set_write_buffer_limits(high=UNSENT)
        self._late = self._loop.call_later(self._limits.head_seconds, self._drop_silent)

    async def start(self) -> None:
        """Answers requests; at its end the connection ends, also when `close` has ended it, for which aiohttp leaves the transport open."""
        try:
            await super().start()
        finally:
            self.force_close()

    def data_received(self, data: bytes) -> None:
        """Takes what has come, but nothing behind what isn't HTTP: the connection ends with the answer to that.

        The error has a traceback, whose frames have the bytes, this connection and the error itself: nothing would free them until the
        collector looks, which is rare. It quotes the bytes, too. Of each piece that comes there would be one.
        """
        size, at = _PIECE if data else 0, 0  # without data the parser goes on with what it has left over
        data, self._held = self._held + data, b""
        while not self._unreadable and len(self._messages) < _WAITING:
            piece = data[at : at + size]
            super().data_received(piece)
            self._look(len(piece))
            size, at = _PIECE, at + size
            if at >= len(data):
                return
        if not self._unreadable:
            self._held = data[at:]

    def _look(self, size: int) -> None:
        """Looks at what so many bytes have brought: the parser takes a microsecond for a chunk, so that one of a byte costs too much."""
        found, body = self._messages[-1] if self._messages else (None, self._arriving)
        if isinstance(found, _ErrInfo):
            found.exc.__traceback__ = None
            self._messages.pop()
            self._spoil()
            return
        if body is not self._arriving:
            self._arriving, self._framed = body, 0 if found is not None and found.chunked else -1
        elif self._framed >= 0 and not body.is_eof():
            self._framed += size
            if self._framed - body.total_bytes > _PIECE + body.total_bytes // _FRAMING:
                self._spoil()

    def _spoil(self) -> None:
        """Ends the connection with an answer: where another request would begin is unknown."""
        self._unreadable = True
        self._messages.append((_UNREADABLE, EMPTY_PAYLOAD))
        if not self._arriving.is_eof():  # a reader would wait forever for its end
            self._arriving.set_exception(BadHttpMessage("not HTTP"))
            self._arriving.feed_eof()  # aiohttp would read the rest of it, and be given the error once more, with its own frames

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stops the clock, so that nothing holds the connection."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)
        self._arriving, self._held = EMPTY_PAYLOAD, b""
        self._messages.clear()  # their bodies hold this connection
        if self.unread is not None:  # aiohttp would wait for the rest of it, and count the connection meanwhile
            self.unread.feed_eof()
            self.unread = None  # it holds this connection

    def _drop_silent(self) -> None:
        self._late = None
        if not self.spoken and self.transport is not None:
            self.met(Bound.HEAD_SECONDS)
            self.transport.abort()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - the signature is aiohttp's
    ) -> StreamResponse:
        """Answer what isn't HTTP without logging its content; log an internal error."""
        if request.writer.output_size > 0:
            raise ConnectionError
        if status < 500:
            self.met(Bound.HEAD)
        else:
            _LOG.error("a request could not be answered", exc_info=exc)
        sentence = UNREADABLE if status < 500 else "the request could not be answered; this is an internal error"
        answer = rejection(400 if status < 500 else 500, sentence)
        return cast("StreamResponse", Reply(answer.status, JSON, answer.body, self._limits, self.met, keep_alive=False))
