"""One client connection: aiohttp's protocol with bounds on heads, on what waits behind a request, and plain answers to bad HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from typing import Any, Final, cast

from aiohttp import StreamReader
from aiohttp.http import HttpRequestParser, HttpVersion10, HttpVersion11, StreamWriter
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web import BaseRequest, RequestHandler, RequestPayloadError, Server, StreamResponse
from aiohttp.web_protocol import _ErrInfo  # what waits among the requests for what isn't one; it has no other name

from .envelope import reject_http
from .fair_queue import client_address
from .known_heads import Head, read_head
from .limits import Bound, Limits
from .reply import JSON, UNSENT, Reply

_LOG: Final = logging.getLogger("webhooks.server")
UNREADABLE: Final = "the request can't be read as HTTP/1.1"
_UNREADABLE: Final = _ErrInfo(400, BadHttpMessage("not HTTP"), "")
_PIECE: Final = 8 * 1024  # bytes that are parsed between two looks at how a body is framed: as chunks of a byte they take 2 ms
# bytes of a body that has come before it is read, and of TLS records that wait, half as much and more; a record has 17 KiB at most
READ_AHEAD: Final = 16 * 1024
# of the system, per connection: it bounds one read, which TLS and aiohttp keep several times. Long bodies have room of their own
READ_BUFFER: Final = 32 * 1024
_WIDE_READ_BUFFER: Final = 1024 * 1024
_FRAMING: Final = 64  # bytes of a chunked body for one of its framing, beyond one piece: chunks of 400 bytes and more


class Connection(RequestHandler):
    """A connection that is closed if no request arrives in time; the first response sets `spoken`."""

    __slots__ = (
        "_arriving",
        "_at_once",
        "_begun",
        "_behind",
        "_by_head",
        "_framed",
        "_fresh",
        "_gone",
        "_head",
        "_held",
        "_late",
        "_left",
        "_limits",
        "_stopped",
        "_unanswered",
        "_unreadable",
        "caller",
        "client",
        "generation",
        "heavy",
        "last",
        "met",
        "reading",
        "ready",
        "spoken",
        "unread",
    )

    def __init__(
        self,
        server: Server,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        met: Callable[[Bound], None],
        generation: int,
        gone: Callable[[], None],
        at_once: Callable[[BaseRequest], Reply | None] | None = None,
        by_head: Callable[[Connection, bytes], Reply | None] | None = None,
    ) -> None:
        """Bounds come from `limits`; `met` is called for those that are met, `gone` once at the end. Bodies aren't decompressed.

        `generation`: of the authorities that verify the client, see server.py, which also sets `caller`.
        `at_once`, `by_head`: see `Connections`.
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
            read_bufsize=READ_AHEAD,
            auto_decompress=False,
        )
        # aiohttp's own would parse 32 requests ahead, each many times as large as its bytes
        self._parser = HttpRequestParser(
            self,
            loop,
            READ_AHEAD,
            max_line_size=limits.line,
            max_field_size=limits.line,
            max_headers=limits.headers,
            payload_exception=RequestPayloadError,
            auto_decompress=False,
            max_msg_queue_size=1,
        )
        self.spoken = False
        self.generation = generation
        self.client = ""  # who shares CPU time fairly with others, see fair_queue.py
        self.caller: tuple[str, float] | None = None
        self.reading = False  # whether the body of a request is awaited
        self.last = False  # to be closed with the answer to the request that is handled
        self._limits = limits
        self.met = met
        self._at_once, self._by_head = at_once, by_head
        self._fresh = True  # a request may begin with the next byte, and the parser holds none
        self._begun: Head | None = None  # the head of the request that began so, if it is one that can be known
        self._left = 0  # bytes of that request that have not come
        self.heavy = b""  # the short body of the request that is about to be handled, if that is no work for the loop
        self.ready: Reply | None = None  # to the request that is about to be handled, if it is known already
        self._gone: Callable[[], None] | None = gone
        self.unread: StreamReader | None = None  # a body that was answered before all of it had come
        self._arriving: StreamReader = EMPTY_PAYLOAD  # the body of the request that began last
        self._framed = -1  # bytes of a chunked body and its framing, without the piece that it begins in; negative for others
        self._head = 0  # bytes of a head that is not complete
        self._unanswered = False  # a request has come and has no answer: only its body is parsed
        self._behind = False  # something may have come behind that request, here or in the parser
        self._held = b""  # not parsed yet
        self._stopped = False  # nothing more is read from the socket
        self._late: asyncio.TimerHandle | None = None
        self._unreadable = False  # the last data isn't HTTP: the next request's begin is unknown

    @property
    def answered(self) -> bool:
        """Whether nothing of a request is on its way, where none is being worked on."""
        return self.spoken and self.unread is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the clock."""
        super().connection_made(transport)
        self.client = client_address(transport.get_extra_info("peername"))
        # what a client doesn't take must not lie here unseen: who writes waits, and is counted
        cast("asyncio.WriteTransport", transport).set_write_buffer_limits(high=UNSENT)
        if transport.get_extra_info("sslcontext") is not None:
            cast("Any", transport).set_read_buffer_limits(high=2 * READ_AHEAD)
        self._late = self._loop.call_later(self._limits.head_seconds, self._drop_silent)

    async def start(self) -> None:
        """Answers requests; at its end the connection ends, also when `close` has ended it, for which aiohttp leaves the transport open."""
        try:
            await super().start()
        finally:
            self.force_close()

    def data_received(self, data: bytes) -> None:
        """Parses one request; what comes behind it waits until it is answered, and is not parsed at all behind what isn't HTTP.

        The error has a traceback, whose frames have the bytes, this connection and the error itself: nothing would free them until the
        collector looks, which is rare. It quotes the bytes, too. Of each piece that comes there would be one.
        """
        if data:
            if self._fresh and self._is_known(data):
                return
            self._follow(data)
        size, at = _PIECE if data else 0, 0  # without data the parser continues with its buffered rest
        if self._held:
            data, self._held = self._held + data, b""
        while not (self._unreadable or self._waits()):
            piece = data[at : at + size]
            self._parse(piece, whole=not at and len(piece) == len(data))
            size, at = _PIECE, at + size
            if at >= len(data):
                return
        if not self._unreadable and at < len(data):
            self._hold(data[at:])

    def _parse(self, piece: bytes, *, whole: bool) -> None:
        """Parses a piece, and wakes the task for a request that isn't answered at once."""
        waiter, self._waiter = self._waiter, None
        try:
            super().data_received(piece)
            self._look(piece, whole=whole)
        finally:
            self._waiter = waiter
        if self._messages and waiter is not None and not (waiter.done() or self._is_answered_at_once()):
            waiter.set_result(None)

    @property
    def known(self) -> Head | None:
        """The head of the request that has come, if it began where one may, came alone, and the parser agrees about its end."""
        head, body = self._begun, self._arriving
        if head is None or self._left or self._framed >= 0 or not body.is_eof() or body.total_bytes != head.length:
            return None
        return head

    def _follow(self, data: bytes) -> None:
        """Counts the bytes still to come of a request that began where one may; less than none: unknown, or some are of another one."""
        if self._fresh:
            self._fresh, self._begun = False, read_head(data)
            self._left = self._begun.size + self._begun.length if self._begun is not None else 0
        self._left -= len(data)

    def _is_known(self, data: bytes) -> bool:
        """Answers a request with a known head, which the parser never sees; false: nothing is done."""
        waiter = self._waiter
        if waiter is None or waiter.done() or self._by_head is None or not self.spoken or self.last or self._unreadable:
            return False
        if self._messages or self.writing_paused or self.transport is None:
            return False
        try:
            reply = self._by_head(self, data)
        except Exception as error:  # noqa: BLE001 - as aiohttp does around a handler
            reply = self._failed(error)
        return reply is not None and self._is_sent(reply)

    def _is_answered_at_once(self) -> bool:
        """Answers a request that came whole and alone, without the task and three turns of the loop: a third of a small answer's cost."""
        message, body = self._messages[0]
        if self.ready is not None or self._at_once is None or self._parser is None or self._behind or self.writing_paused:
            return False
        if isinstance(message, _ErrInfo) or self._task_handler is None or not body.is_eof():
            return False
        request = BaseRequest(message, body, self, StreamWriter(self, self._loop), self._task_handler, self._loop)
        try:
            reply = self._at_once(request)
        except Exception as error:  # noqa: BLE001 - as aiohttp does around a handler
            reply = self._failed(error)
        if reply is None or not self._is_sent(reply):
            return False
        self._messages.popleft()
        self._parser.message_consumed()
        if self._buffer_paused:
            self._resume_reading_if_drained()
        self.answer_sent()
        return True

    def _is_sent(self, reply: Reply) -> bool:
        """Sends a reply if that ends neither the connection nor has to wait; else the task will send it."""
        if not reply.send_at_once(self):
            self.ready = reply
            return False
        self._keepalive = True
        self._next_keepalive_close_time = self._loop.time() + self._limits.idle_seconds
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(self._next_keepalive_close_time, self._process_keepalive)
        return True

    def widen(self, *, wide: bool) -> None:
        """Lets more come at a time than short requests need, or no longer."""
        sock: socket.socket | None = self.transport.get_extra_info("socket") if self.transport is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WIDE_READ_BUFFER if wide else READ_BUFFER)

    def _waits(self) -> bool:
        """Whether all of a request has come that has no answer yet."""
        return self._unanswered and self._arriving.is_eof()

    def _hold(self, rest: bytes) -> None:
        """Keeps what can't be parsed yet, and reads no more: the rest stays with the client."""
        self._held, self._behind = rest, True
        if not self._stopped and self.transport is not None:
            self._stopped = True
            self.transport.pause_reading()

    def _resume_transport_reading(self) -> None:
        """What aiohttp calls with every body that is read."""
        if not self._stopped:
            super()._resume_transport_reading()

    def answer_sent(self) -> None:
        """Goes on with the next request, if one may have come."""
        self._unanswered, self._fresh = False, self.known is not None
        if self._behind:
            self._behind = False
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self.data_received(b"")
        if self._stopped and not self._held and self.transport is not None:
            self._stopped = False
            self.transport.resume_reading()

    def _look(self, piece: bytes, *, whole: bool) -> None:
        """Looks at what a piece has brought: the parser takes a microsecond for a chunk, so that one of a byte costs too much.

        `whole`: it is all that has come since the last request.
        """
        found, body = self._messages[-1] if self._messages else (None, self._arriving)
        if isinstance(found, _ErrInfo):
            found.exc.__traceback__ = None
            self._messages.pop()
            self._spoil()
        elif found is not None and not self._unanswered:
            self._unanswered = True
            self._arriving, self._framed = body, 0 if found.chunked else -1
            if self._head:
                self._head = 0
                self._stop_clock()
            # most requests come alone and at once, and need no other look behind them
            self._behind = not (whole and body.is_eof() and piece.find(b"\r\n\r\n") + 4 + body.total_bytes == len(piece))
        elif self._framed >= 0 and not body.is_eof():
            self._framed += len(piece)
            if self._framed - body.total_bytes > _PIECE + body.total_bytes // _FRAMING:
                self._spoil()
        elif piece and not self._unanswered and body.is_eof():
            self._look_at_head(len(piece))

    def _look_at_head(self, size: int) -> None:
        """Bounds a head of which a part has come, in bytes and in seconds."""
        if not self._head and self.spoken:
            self._stop_clock()
            self._late = self._loop.call_later(self._limits.head_seconds, self._drop_silent)
        self._head += size
        if self._head > self._limits.head:
            self._spoil()

    def _spoil(self) -> None:
        """Ends the connection with an answer: where another request would begin is unknown."""
        self._unreadable = True
        self._messages.append((_UNREADABLE, EMPTY_PAYLOAD))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        if not self._arriving.is_eof():  # a reader would wait forever for its end
            self._arriving.set_exception(BadHttpMessage("not HTTP"))
            self._arriving.feed_eof()  # aiohttp would read the rest of it, and be given the error once more, with its own frames

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stops the clock, so that nothing holds the connection.

        A request that has come in the same turn of the loop is not begun: aiohttp would fail without a connection, with an error that
        holds it.
        """
        self._stop_clock()
        task = self._task_handler if self._waiter is not None and self._waiter.done() else None
        super().connection_lost(exc)
        if task is not None:
            task.cancel()
        self.leave()
        self._arriving, self._held = EMPTY_PAYLOAD, b""
        self._messages.clear()  # their bodies hold this connection
        if self.unread is not None:  # aiohttp would wait for the rest of it, and count the connection meanwhile
            self.unread.feed_eof()
            self.unread = None  # it holds this connection

    def _stop_clock(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def close(self) -> None:
        """Ends it when what has arrived is answered, at once when its task hasn't begun to wait: aiohttp would forget the end."""
        super().close()
        if self._waiter is None and not (self.spoken or self._messages):
            self.force_close()

    def leave(self) -> None:
        """Counts no longer as a connection of its client: it is at its end, or about to be."""
        if self._gone is not None:
            self._gone()
            self._gone = None

    def _drop_silent(self) -> None:
        self._late = None
        if (self._head or not self.spoken) and self.transport is not None:
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
        if status >= 500:
            return cast("StreamResponse", self._failed(exc))
        self.met(Bound.HEAD)
        return cast("StreamResponse", self._refused(400, UNREADABLE))

    def _failed(self, error: BaseException | None) -> Reply:
        _LOG.error("a request could not be answered", exc_info=error)
        return self._refused(500, "the request could not be answered; this is an internal error")

    def _refused(self, status: int, sentence: str) -> Reply:
        answer = reject_http(status, sentence)
        return Reply(answer.status, JSON, answer.body, self._limits, self.met, keep_alive=False)


def is_framed(request: BaseRequest) -> bool:
    """Whether all agree on where a request ends: the parser takes HTTP/2.0 for a version, and codings that it doesn't undo."""
    coding = request.headers.get("Transfer-Encoding")
    if coding is None:
        return request.version in (HttpVersion11, HttpVersion10)
    return request.version == HttpVersion11 and coding.lower() == "chunked"


def is_last(request: BaseRequest) -> bool:
    """Whether nothing may follow a request: what comes behind one for another protocol, or for a tunnel, may not be HTTP."""
    return "Upgrade" in request.headers or request.method == "CONNECT" or not is_framed(request)
