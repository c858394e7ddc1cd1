"""One client connection: aiohttp's protocol, with a bound on how long a first request may take and plain answers to bad HTTP."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, cast

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

    __slots__ = ("_arriving", "_late", "_limits", "_unreadable", "caller", "client", "generation", "last", "met", "spoken", "unread")

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
        self.last = False  # to be closed with the answer to the request that is handled
        self._limits = limits
        self.met = met
        self.unread: StreamReader | None = None  # a body that was answered before all of it had come
        self._arriving: StreamReader = EMPTY_PAYLOAD  # the body of the request that began last
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
        if self._unreadable:
            return
        super().data_received(data)
        if not self._messages:
            return
        found, body = self._messages[-1]
        if not isinstance(found, _ErrInfo):
            self._arriving = body
            return
        self._unreadable = True
        found.exc.__traceback__ = None
        self._messages[-1] = (_UNREADABLE, EMPTY_PAYLOAD)
        if not self._arriving.is_eof():  # a reader would wait forever for its end
            self._arriving.set_exception(BadHttpMessage("not HTTP"))

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stops the clock, so that nothing holds the connection."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)
        self._arriving = EMPTY_PAYLOAD
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
