"""One client connection: aiohttp's protocol, with a bound on how long a first request may take and plain answers to bad HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from aiohttp.web import RequestHandler, StreamResponse

from webhooks.envelope import rejection
from webhooks.limits import Bound, Limits
from webhooks.reply import JSON, UNSENT, Reply

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from aiohttp import StreamReader
    from aiohttp.web import BaseRequest, Server


class Connection(RequestHandler):
    """A connection that is dropped when no request arrives in time; `spoken` is set by whoever answers the first one."""

    __slots__ = ("_late", "_limits", "met", "spoken", "unread")

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop, limits: Limits, met: Callable[[Bound], None]) -> None:
        """Bounds come from `limits`; `met` is told of those that are met. Bodies stay as they were sent: compressed ones are not JSON."""
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
        self._limits = limits
        self.met = met
        self.unread: StreamReader | None = None  # a body that was answered before all of it had come
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the clock."""
        super().connection_made(transport)
        # what a client doesn't take must not lie here unseen: who writes waits, and is counted
        cast("asyncio.WriteTransport", transport).set_write_buffer_limits(high=UNSENT)
        self._late = self._loop.call_later(self._limits.head_seconds, self._drop_silent)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stops the clock, so that nothing holds the connection."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)
        if self.unread is not None:  # aiohttp would wait for the rest of it, and count the connection meanwhile
            self.unread.feed_eof()

    def _drop_silent(self) -> None:
        self._late = None
        if not self.spoken and self.transport is not None:
            self.met(Bound.HEAD_SECONDS)
            self.transport.abort()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,  # noqa: ARG002 - the signature is aiohttp's
        message: str | None = None,  # noqa: ARG002 - as above
    ) -> StreamResponse:
        """Answers what isn't HTTP, and says nothing of it in the log: it may hold anything."""
        if request.writer.output_size > 0:
            raise ConnectionError
        if status < 500:
            self.met(Bound.HEAD)
        sentence = "the request can't be read as HTTP/1.1" if status < 500 else "the request could not be answered; this is a bug of ours"
        answer = rejection(400 if status < 500 else 500, sentence)
        return cast("StreamResponse", Reply(answer.status, JSON, answer.body, self._limits, keep_alive=False))
