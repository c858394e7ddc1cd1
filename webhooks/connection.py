"""One client connection: reads one request at a time, within bounds of size and time, and answers it before it looks at the next.

Most requests come whole and are answered where they are read, without a task: a task would cost as much as judging a small object. A
connection waits for one of five things, each with its time: a head, a short body, the next request, a client that takes no answer, or the
rest of a body that was answered before it came. What can't be answered at once is done by the one task of the connection, which ends when
the client leaves, whatever it waits for.

What comes behind a request waits unparsed, and the socket isn't read meanwhile, so that a connection has one request in memory and no more.
A future or a timer never keeps an error or a bound method of a connection that has ended: the collector runs rarely, and bodies are large.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import math
import socket
import sys
import termios
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from .envelope import reject_http
from .http1 import ChunkedBody, Head, HeadReader, UnreadableError
from .limits import Bound, Limits
from .reply import CONTINUE, Reply
from .service import Service, Work

if TYPE_CHECKING:
    from .body_memory import Reservation

_LOG: Final = logging.getLogger("webhooks.server")
_UNREADABLE: Final = "the request can't be read as HTTP/1.1"
# of a body that has come before it is read, and of TLS records that wait, half as much and more; a record has 17 KiB at most
MAX_READ_AHEAD_BYTES: Final = 16 * 1024
# of the system, per connection: it bounds one read, which TLS keeps several times. Long bodies have room of their own
READ_BUFFER_BYTES: Final = 32 * 1024
_WIDE_READ_BUFFER_BYTES: Final = 1024 * 1024
# what a connection waits for. The members of an enumeration cost Python 3.11 more than the rest of a look at them
_NOTHING: Final = "nothing"
_HEAD: Final = "head"
_BODY: Final = "body"
_REQUEST: Final = "request"
_CLIENT: Final = "client"  # to take an answer
_UNREAD_BODY: Final = "rest"  # of a body that was answered before it came
MAX_UNSENT_BYTES: Final = 64 * 1024  # of a connection: who writes waits when there are more
PIECE_BYTES: Final = 256 * 1024  # of an answer; the time for writing is for each
# of the system's queue: a turn of the loop after it was empty, all that waited here is in it, and was received if it is empty again
_DRAIN_POLLS: Final = 2
_MAX_HEADS: Final = 16  # of one read that are answered before other connections have their turn
_POLL_SECONDS: Final = 0.01


class _Body:
    """A body on its way."""

    __slots__ = ("broken", "chunks", "discarded", "missing", "parts", "size", "waiter")

    def __init__(self, missing: int, chunks: ChunkedBody | None) -> None:
        self.missing, self.chunks = missing, chunks
        self.parts: list[bytes] = []
        self.size = 0  # bytes in `parts`
        self.discarded = False  # it is not wanted
        self.broken = False  # its end will not come, or is unknown
        self.waiter: asyncio.Future[None] | None = None

    @property
    def complete(self) -> bool:
        return self.chunks.complete if self.chunks is not None else not self.missing

    def take(self, data: bytes) -> bytes:
        """Takes what has come; returns the bytes behind its end."""
        if self.chunks is not None:
            try:
                parts, rest = self.chunks.feed(data)
            except UnreadableError:
                self.broken = True
                return b""
        else:
            parts, rest = [data[: self.missing]], data[self.missing :]
            self.missing -= len(parts[0])
        if not self.discarded:
            self.parts += parts
            self.size += sum(map(len, parts))
        return rest

    def wake(self) -> None:
        """Lets its reader look."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    def all(self) -> bytes:
        """Takes what has come and was not read."""
        parts, self.parts, self.size = self.parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)


class Registry(Protocol):
    """Counts the connections of a process."""

    def opened(self, connection: Connection) -> None:
        """A connection may send requests."""

    def closed(self, connection: Connection) -> None:
        """A connection is at its end."""

    def leave(self, client: str) -> None:
        """A client has one connection less."""


class Connection:
    """A connection, from the end of its handshake on, with the methods of an `asyncio.Protocol`.

    No subclass of that: weak references to objects of a compiled subclass outlive them.
    """

    __slots__ = (
        "_armed",
        "_body",
        "_buffered",
        "_closing",
        "_counted",
        "_due",
        "_limits",
        "_loop",
        "_reader",
        "_registry",
        "_service",
        "_stopped",
        "_task",
        "_timer",
        "_wait",
        "_writable",
        "caller",
        "client",
        "generation",
        "has_request",
        "head",
        "last",
        "on_bound",
        "transport",
        "writing_paused",
    )

    def __init__(
        self,
        service: Service[Connection],
        limits: Limits,
        on_bound: Callable[[Bound], None],
        generation: int,
        registry: Registry,
        client: str,
    ) -> None:
        """`on_bound` counts bounds. `client`: who shares CPU time fairly with others, see fair_queue.py.

        `generation`: of the authorities that verify the client, see callers.py, which also sets `caller`.
        """
        self._service, self._limits, self.on_bound, self.generation = service, limits, on_bound, generation
        self._registry, self.client = registry, client
        self._counted = True  # as a connection of its client
        self._loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self.caller: tuple[str, float] | None = None
        self.has_request = False  # a request has come
        self.last = False  # to be closed with the next answer
        self.head: Head | None = None  # of the request that has come and has no answer yet
        self.writing_paused = False
        self._reader = HeadReader(limits)
        self._body: _Body | None = None  # of the request that came last, if it was not whole at once
        self._buffered = b""  # what came behind a request
        self._stopped = False  # nothing is read from the socket
        self._closing = False  # what comes is of no interest
        self._task: asyncio.Task[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._wait = _NOTHING
        self._due = math.inf  # until when, by the loop's clock
        self._timer: asyncio.TimerHandle | None = None
        self._armed = math.inf  # when the timer ends: at `_due`, or before

    @property
    def reading(self) -> bool:
        """Whether the body of a request is awaited."""
        return self.head is not None and self._body is not None and not (self._body.complete or self._body.broken)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Waits for a first request."""
        made = self.transport = cast("asyncio.Transport", transport)
        # what a client doesn't take must not lie here unseen: who writes waits, and is counted
        made.set_write_buffer_limits(high=MAX_UNSENT_BYTES)
        if made.get_extra_info("sslcontext") is not None:
            cast("Any", made).set_read_buffer_limits(high=2 * MAX_READ_AHEAD_BYTES)
        self._registry.opened(self)
        self._await(_HEAD, self._limits.head_seconds)

    def data_received(self, data: bytes) -> None:
        """Takes what has come: parts of a head, of a body, or of what must wait."""
        heads = 0
        while data and not self._closing:
            body = self._body
            if body is not None and not (body.complete or body.broken):
                data = self._take_body(body, data)
            elif self.head is not None or self._buffered or self._wait == _CLIENT or heads == _MAX_HEADS:
                self._buffered += data
                self._stop_reading()
                if heads == _MAX_HEADS:
                    self._loop.call_soon(self._next)
                return
            else:
                data = self._take_head(data)
                heads += 1

    def eof_received(self) -> bool:
        """Whether the connection stays open, half closed: to answer what has come whole. TLS knows no such thing."""
        plain = self.transport is not None and self.transport.get_extra_info("sslcontext") is None
        stays = plain and self.head is not None and not self.reading
        self.last = True
        return stays

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002 - the signature is asyncio's
        """Ends all that was done for it."""
        self.transport, self._closing, self._buffered = None, True, b""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._task.cancel()
            self._task = None  # which has not begun, perhaps, and would not end this itself
        if self._body is not None:
            self._body.broken = True
            self._body.wake()
        self._registry.closed(self)
        self.leave()

    def pause_writing(self) -> None:
        """The client takes less than it is sent."""
        self.writing_paused = True

    def resume_writing(self) -> None:
        """The client has taken nearly all."""
        self.writing_paused = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        elif self._wait == _CLIENT and not self._closing:
            self._await_request()

    def leave(self) -> None:
        """Counts no longer as a connection of its client: it is at its end, or about to be."""
        if self._counted:
            self._counted = False
            self._registry.leave(self.client)

    def close(self) -> None:
        """Ends it as soon as the request that has begun to come is answered."""
        self.last = True
        if self.head is None and not self._reader.begun:
            self.end()

    def end(self) -> None:
        """Ends it with what has been written, for which the client has its time."""
        self._closing = True
        if self.transport is not None:
            if self.transport.get_write_buffer_size():
                self._await(_CLIENT, self._limits.write_seconds)
            self.transport.close()

    def abort(self) -> None:
        """Ends it at once."""
        self._closing = True
        if self.transport is not None:
            self.transport.abort()

    def widen(self, *, wide: bool) -> None:
        """Lets more come at a time than short requests need, or no longer."""
        sock: socket.socket | None = self.transport.get_extra_info("socket") if self.transport is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WIDE_READ_BUFFER_BYTES if wide else READ_BUFFER_BYTES)

    # requests

    def _take_head(self, data: bytes) -> bytes:
        """Reads a head, or a part of one, and begins its request; returns what came behind it."""
        begins = not self._reader.begun
        try:
            head, rest = self._reader.feed(data)
        except UnreadableError:
            self._refuse_unreadable()
            return b""
        if head is None:
            if begins and self.has_request:
                self._await(_HEAD, self._limits.head_seconds)
            return b""
        self.has_request, self.head = True, head
        self.last |= head.is_last
        self._wait, self._due = _NOTHING, math.inf
        length = head.content_length
        try:
            reply = self._service.begin(self, head)
        except Exception as error:  # noqa: BLE001 - a connection answers whatever fails
            reply = _failed(error)
        if reply is not None and length == 0:
            self._send(reply)
            return rest
        if reply is None and length is not None and len(rest) >= length <= self._service.small_body:
            body, rest = (rest, b"") if len(rest) == length else (rest[:length], rest[length:])
            self._answer(head, body)
            return rest
        return self._begin_body(head, reply, rest)

    def _begin_body(self, head: Head, reply: Reply | None, rest: bytes) -> bytes:
        """Awaits a body; where the reply needs none, only its end, and that of the connection."""
        length = head.content_length
        self.last |= reply is not None
        body = self._body = _Body(length or 0, ChunkedBody(self._limits) if length is None else None)
        body.discarded = reply is not None
        if rest:
            rest = self._take_body(body, rest)
        if reply is not None:
            self._send(reply)
        elif length is None or length > self._service.small_body:
            self._start(partial(self._service.answer_long, self, head))
        else:
            self.go_on()
            self._await(_BODY, self._service.body_seconds(head))
        return rest

    def _take_body(self, body: _Body, data: bytes) -> bytes:
        rest = body.take(data)
        done = body.complete or body.broken
        if body.discarded:
            if done and self._wait == _UNREAD_BODY:
                self.end()
        elif self._wait == _BODY:
            if done and self.head is not None:
                self._wait, self._due = _NOTHING, math.inf
                self._answer(self.head, body.all())
        else:
            body.wake()
            if body.size > MAX_READ_AHEAD_BYTES:
                self._stop_reading()
        return rest

    def go_on(self) -> None:
        """Asks a client that waits for this to send the body."""
        if self.head is not None and self.head.expects and self.reading and self.transport is not None:
            self.transport.write(CONTINUE)

    async def read(self) -> bytes:
        """The next part of the body; empty at its end. Raises: UnreadableError."""
        body = self._body
        if body is None:
            return b""
        while not (body.parts or body.complete or body.broken):
            self._resume_reading()
            body.waiter = self._loop.create_future()
            await body.waiter
        body.waiter = None
        if body.broken:
            raise UnreadableError
        if body.complete and not self._buffered:  # an end that isn't read isn't noticed
            self._resume_reading()
        return body.all()

    def _stop_reading(self) -> None:
        if not self._stopped and self.transport is not None:
            self._stopped = True
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._stopped and self.transport is not None:
            self._stopped = False
            self.transport.resume_reading()

    # answers

    def _answer(self, head: Head, body: bytes) -> None:
        try:
            answer = self._service.answer(self, head, body)
        except Exception as error:  # noqa: BLE001 - as above
            answer = _failed(error)
        if isinstance(answer, Reply):
            self._send(answer)
        else:
            self._start(answer)

    def _start(self, work: Work) -> None:
        self._task = self._loop.create_task(self._do(work))

    async def _do(self, work: Work) -> None:
        """Does work until the client leaves. No error leaves the task, since that would keep it, and it the frames and bodies in them."""
        try:
            await work()
        except asyncio.CancelledError:
            pass
        except Exception as error:  # noqa: BLE001 - as above
            if self.head is not None:
                self._send(_failed(error))
        finally:
            self._task = None

    def _refuse_unreadable(self) -> None:
        """Ends the connection with an answer: where another request would begin is unknown."""
        self.on_bound(Bound.HEAD)
        self._send(Reply(400, reject_http(400, _UNREADABLE).body, closes=True))

    def _written(self, reply: Reply) -> tuple[bytes, bool]:
        """The bytes of a reply's head, and whether the connection ends with it."""
        last = self.last or reply.closes or (self._body is not None and (self._body.broken or not self._body.complete))
        return reply.head(last=last), last

    def _send(self, reply: Reply) -> None:
        """Writes a short answer, and looks at what follows."""
        if self.transport is not None and not self.transport.is_closing():
            head, last = self._written(reply)
            self.transport.write(head if self._is_bare() else head + reply.body)
            self._finish(last=last)

    def _is_bare(self) -> bool:
        return self.head is not None and self.head.method == b"HEAD"

    async def send(self, reply: Reply, reservation: Reservation | None = None) -> None:
        """Writes an answer; waits only when the client doesn't take it, and ends the connection when it is too slow.

        `reservation` is the room that the body has meanwhile.
        """
        try:
            await self._send_all(reply, reservation)
        except ConnectionResetError:
            self.abort()

    async def _send_all(self, reply: Reply, reservation: Reservation | None) -> None:
        """Raises: ConnectionResetError when the client is gone or too slow."""
        if self.transport is None or self.transport.is_closing():
            raise ConnectionResetError
        head, last = self._written(reply)
        body = b"" if self._is_bare() else reply.body
        if reservation is not None:
            reservation.begin()
        if len(body) <= PIECE_BYTES:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            await self._send_pieces(memoryview(body), reservation)
        if self.writing_paused:
            await self._drain(reservation)
        if last and len(body) > PIECE_BYTES:  # then as much of it is delivered as the system has
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.write_seconds) as transfer:
                    with reservation.turn(transfer) if reservation is not None else contextlib.nullcontext():
                        await self._handed_over()
        self._finish(last=last)

    async def _send_pieces(self, body: memoryview, reservation: Reservation | None) -> None:
        """A TLS transport buffers everything at once, without backpressure."""
        for start in range(0, len(body), PIECE_BYTES):
            if self.writing_paused:
                await self._drain(reservation)
            if self.transport is None:
                raise ConnectionResetError
            piece = body[start : start + PIECE_BYTES]
            self.transport.write(piece)
            if reservation is not None:
                reservation.moved += len(piece)
            await asyncio.sleep(0)  # encrypting is work, too

    async def _drain(self, reservation: Reservation | None) -> None:
        """Waits until the client has taken nearly all."""
        self._writable = self._loop.create_future()
        try:
            async with asyncio.timeout(self._limits.write_seconds) as transfer:
                with reservation.turn(transfer) if reservation is not None else contextlib.nullcontext():
                    await self._writable
        except TimeoutError:
            self.on_bound(Bound.PACE if reservation is not None and reservation.evicted else Bound.WRITE_SECONDS)
            raise ConnectionResetError from None
        finally:
            self._writable = None

    async def _handed_over(self) -> None:
        """Waits until the system has all that was written: of a TLS connection that is closed the rest has `goodbye_seconds`."""
        empty = 0
        while empty < _DRAIN_POLLS and self.transport is not None:
            empty = 0 if _unsent(self.transport) else empty + 1
            await asyncio.sleep(_POLL_SECONDS)

    def _finish(self, *, last: bool) -> None:
        """Looks at what follows an answer."""
        body, self.head = self._body, None
        if last or self.last:
            if body is None or body.complete or body.broken or self.transport is None or self._closing:
                self.end()
                return
            # a client that sends on would not see the answer if the connection ended now
            body.discarded, body.parts = True, []
            self._await(_UNREAD_BODY, self._limits.body_seconds)
            self._resume_reading()
        elif self.writing_paused:
            self._body = None
            self._await(_CLIENT, self._limits.write_seconds)
        else:
            self._body = None
            self._await_request()

    def _await_request(self) -> None:
        self._await(_REQUEST, self._limits.idle_seconds)
        if self._buffered or self._stopped:
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        """Takes up what came behind a request."""
        if self._closing or self.head is not None or self._wait == _CLIENT:
            return
        data, self._buffered = self._buffered, b""
        self.data_received(data)
        if not self._buffered:
            self._resume_reading()

    # times

    def _await(self, wait: str, seconds: float) -> None:
        self._wait = wait
        self._due = due = self._loop.time() + seconds
        if due < self._armed:
            if self._timer is not None:
                self._timer.cancel()
            self._arm(due)

    def _arm(self, due: float) -> None:
        self._timer, self._armed = self._loop.call_at(due, self._check_deadline), due

    def _check_deadline(self) -> None:
        self._timer, self._armed = None, math.inf
        if self._loop.time() < self._due:
            if self._due < math.inf:
                self._arm(self._due)
            return
        wait, self._wait, self._due = self._wait, _NOTHING, math.inf
        if wait == _HEAD:
            self.on_bound(Bound.HEAD_SECONDS)
            self.abort()
        elif wait == _CLIENT:
            self.on_bound(Bound.WRITE_SECONDS)
            self.abort()
        elif wait == _BODY and self.head is not None:
            self._send(self._service.too_slow(self.head))
        else:
            self.end()


def _failed(error: Exception) -> Reply:
    _LOG.error("a request could not be answered", exc_info=error)
    sentence = "the request could not be answered; this is an internal error"
    return Reply(500, reject_http(500, sentence).body, closes=True)


def _unsent(transport: asyncio.Transport) -> int:
    """Bytes that the client's system has not received; 0 if unknown."""
    try:
        return int.from_bytes(fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (OSError, ValueError):
        return 0
