"""Accepts connections on one socket of any port, with or without TLS, and bounds their number: in all and of a client.

TLS handshakes go in a fair order: one costs a millisecond of CPU, and its client next to nothing. A handshake begins when its first message
is there and its client's turn has come: next is the client whose handshakes took least CPU time lately. A few are computed in a turn of the
event loop, so that requests of open connections go on. connection.py handles their requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import select
import socket
import ssl
import sys
import termios
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, cast

from aiohttp.web import BaseRequest, RequestHandler, Server, StreamResponse

from ..certs.context import ReloadingContext
from .connection import READ_BUFFER, Connection
from .fair_queue import FairQueue, client_address
from .limits import Bound, Limits
from .reply import Reply

_LOOK_SECONDS: Final = 0.02  # aiohttp does not report its last connection
# Connections beyond the bound, for clients with few, while others are accepted and not open yet: these can't go
_SPARE: Final = 32
_FEW: Final = 4  # a kubelet asks for liveness and readiness at once, and its last connections may not have ended


class Connections:
    """Open connections, and those whose handshake is not finished."""

    def __init__(
        self,
        handle: Callable[[BaseRequest], Awaitable[StreamResponse]],
        limits: Limits,
        met: Callable[[Bound], None],
        count: Callable[[str], None],
        generation: Callable[[], int] = lambda: 0,
        left: Callable[[], None] = lambda: None,
        at_once: Callable[[BaseRequest], Reply | None] | None = None,
        by_head: Callable[[Connection, bytes], Reply | None] | None = None,
    ) -> None:
        """`met` counts bounds, `count` connections; `generation` is that of `Callers`, `left` is called at an end.

        `at_once` returns the reply to a request that has come whole, or None to have it handled as any other; `by_head` that to the bytes
        of a request, or None to have them parsed.
        """
        self.http = Server(cast("Any", handle))
        self.busy: set[object] = set()  # connections whose request has begun to arrive, is being converted, or is being answered at length
        self._left, self._at_once, self._by_head = left, at_once, by_head
        self._limits, self._met, self._count, self._generation = limits, met, count, generation
        self._loop = asyncio.get_running_loop()
        self._of: Counter[str] = Counter()  # by client
        self._all = 0

    @property
    def open(self) -> list[Connection]:
        """Those that may send requests."""
        return cast("list[Connection]", self.http.connections)

    def admit(self, client: str) -> bool:
        """Counts one more connection of a client; false if there are too many, and none of them may go. Costs no handshake."""
        if self._all >= self._limits.connections or self._of[client] >= self._limits.client_connections:
            self._met(Bound.CONNECTIONS)
            if not (self._made_room(client) or self._has_spare(client)):
                self._count("connections_refused")
                return False
        self._count("connections")
        self._of[client] += 1
        self._all += 1
        return True

    def leave(self, client: str) -> None:
        """Counts one less."""
        self._left()
        self._all -= 1
        self._of[client] -= 1
        if not self._of[client]:
            del self._of[client]

    def make(self, client: str) -> Connection:
        """The protocol of a connection that has been admitted; it leaves by itself."""
        gone = partial(self.leave, client)
        return Connection(self.http, self._loop, self._limits, self._met, self._generation(), gone, self._at_once, self._by_head)

    def close_idle(self, connections: Iterable[RequestHandler]) -> None:
        """Closes those on which nothing is being worked on; a request that has arrived is answered."""
        for connection in connections:
            if connection not in self.busy:
                connection.close()
                if cast("Connection", connection).unread is not None:  # answered without the rest of its body
                    connection.force_close()

    async def drain(self) -> None:
        """Finishes what has arrived, and closes all connections."""
        deadline = self._loop.time() + self._limits.drain_seconds
        self.close_idle(self.open)
        while self.open and self._loop.time() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
            # an earlier response doesn't announce the end of its connection
            self.close_idle([each for each in self.open if each.answered])
        for _ in self.open:
            self._met(Bound.DRAIN_SECONDS)
        await self.http.shutdown(0.1)

    def _has_spare(self, client: str) -> bool:
        return self._of[client] < _FEW and len(self.open) < self._all < self._limits.connections + _SPARE

    def _made_room(self, client: str) -> bool:
        """Closes a connection of the client that has most, unless this one would have as many; first those without a request.

        So no client keeps others out. Visits each connection once, and drops no request that has arrived.
        """
        own = self._of[client] >= self._limits.client_connections
        [(most, count)] = [(client, 0)] if own else self._of.most_common(1)
        if not own and count <= self._of[client] + 1:
            return False
        theirs = [each for each in self.open if each.client == most and not each.last]
        if (idle := next((each for each in theirs if each not in self.busy), None)) is not None:
            idle.last = True
            idle.leave()
            self.close_idle([idle])
            return True
        slow = next((each for each in theirs if each.reading), None)
        if own or slow is None or slow.transport is None:
            return False
        slow.last = True
        slow.leave()
        slow.transport.abort()
        return True


_BACKLOG: Final = 4096  # as many as Linux allows by default; a connection beyond these is tried again by its client a second later
_ACCEPTED_AT_ONCE: Final = 64  # in one turn of the loop: connections that wait too long are tried again after a second
_PAUSE: Final = 0.5  # seconds, when the process has no file descriptors left
STUCK_SECONDS: Final = 3.0  # without progress while clients wait
_LOG: Final = logging.getLogger("webhooks.server")
_QUIET_SECONDS: Final = 60.0
AT_ONCE: Final = 4  # handshakes that are computed in one turn of the loop
_RECORD, _HANDSHAKE = 5, 0x16  # bytes of a record's header, and the first of them
_LONGEST: Final = 16 * 1024  # bytes of a record
_AGAIN: Final = 0.02  # seconds until another look at a first message that has come in part


class _Greeting:
    """One connection whose handshake is not finished."""

    __slots__ = ("began", "calls", "client", "late", "sock")

    def __init__(self, sock: socket.socket, client: str) -> None:
        self.sock, self.client = sock, client
        self.calls = 0  # steps of the handshake that OpenSSL has done; the first finds no data yet
        self.began = False
        self.late: asyncio.TimerHandle | None = None


# where no listener asks, nothing is charged
_CHARGE: Final[ContextVar[Callable[[float], None]]] = ContextVar("charge", default=lambda _seconds: None)


class _MeasuredTls(ssl.SSLObject):
    """Measures the CPU time of its handshake for who began it: event loops call it in the context of that."""

    _charge: Callable[[float], None] | None = None

    def do_handshake(self) -> None:
        if self._charge is None:
            self._charge = _CHARGE.get()
        began = time.perf_counter()
        try:
            super().do_handshake()
        finally:
            self._charge(time.perf_counter() - began)


class TlsQueue:
    """The unfinished handshakes of one listener."""

    def __init__(self, context: ReloadingContext, connections: Connections, limits: Limits, met: Callable[[Bound], None]) -> None:
        """Starts empty; `met` counts bounds."""
        self._context, self._connections, self._limits, self._met = context, connections, limits, met
        self._loop = asyncio.get_running_loop()
        self._unfinished: dict[socket.socket, _Greeting] = {}  # the oldest first
        self._of: Counter[str] = Counter()  # by client
        self._queue: FairQueue[_Greeting] = FairQueue()  # whose first message is there
        self._computing: set[_Greeting] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._progress = self._loop.time()  # when one was computed last, or none waited
        self._quiet = 0.0  # until when no invalid certificate is logged

    def idle_since(self) -> float | None:
        """When the last handshake was computed, by the loop's clock; None if none waits for that."""
        return self._progress if self._queue else None

    def add(self, sock: socket.socket, client: str) -> None:
        """Waits for the first message of an admitted connection; the oldest goes when there are too many, of the client with most."""
        greeting = self._unfinished[sock] = _Greeting(sock, client)
        self._of[client] += 1
        greeting.late = self._loop.call_later(self._limits.head_seconds, self._end, greeting)
        self._loop.add_reader(sock, self._arrived, greeting)
        if len(self._unfinished) > self._limits.handshakes:
            self._met(Bound.HANDSHAKES)
            [(most, _)] = self._of.most_common(1)
            self._end(next(each for each in self._unfinished.values() if each.client == most))

    def _arrived(self, greeting: _Greeting) -> None:
        """Queues a handshake whose first message is there as a whole."""
        self._loop.remove_reader(greeting.sock)
        size = _first_record(greeting.sock)
        if size is None:
            self._end(greeting)
        elif size:
            greeting.late = self._loop.call_later(_AGAIN, self._look_again, greeting, greeting.late)
        else:
            if not self._queue:
                self._progress = self._loop.time()
            self._queue.put(greeting.client, 0, greeting)
            self._loop.call_soon(self._begin)

    def _look_again(self, greeting: _Greeting, late: asyncio.TimerHandle | None) -> None:
        greeting.late = late
        self._loop.add_reader(greeting.sock, self._arrived, greeting)

    def _begin(self) -> None:
        """Begins handshakes, a few at a time."""
        while len(self._computing) < AT_ONCE and (found := self._queue.take()) is not None:
            _, greeting = found
            self._computing.add(greeting)
            greeting.began = True
            _stop(greeting)
            task = self._loop.create_task(self._greet(greeting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _greet(self, greeting: _Greeting) -> None:
        protocol = self._connections.make(greeting.client)
        _CHARGE.set(partial(self._charged, greeting))
        self._context.tls.sslobject_class = _MeasuredTls
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol,
                greeting.sock,
                ssl=self._context.tls,
                ssl_handshake_timeout=self._limits.head_seconds,
                ssl_shutdown_timeout=self._limits.goodbye_seconds,
            )
        except OSError as error:
            if isinstance(error, ssl.SSLCertVerificationError):
                self._unverified(error)
            greeting.sock.close()  # no TLS, or nothing at all: no log would be worth it
            protocol.connection_lost(None)  # otherwise its parser and it would form a reference cycle
        finally:
            self._forget(greeting)
            self._computed(greeting)

    def _charged(self, greeting: _Greeting, seconds: float) -> None:
        """Notes the CPU time of one step."""
        greeting.calls += 1
        self._queue.charge(greeting.client, seconds)
        if greeting.calls > 1:
            self._computed(greeting)

    def _computed(self, greeting: _Greeting) -> None:
        """Lets the next begin: this one waits for its client, if it isn't finished."""
        if greeting in self._computing:
            self._computing.discard(greeting)
            self._progress = self._loop.time()
            self._loop.call_soon(self._begin)

    def _end(self, greeting: _Greeting) -> None:
        """Ends a handshake by the end of its connection, which a transport notices."""
        if greeting.sock not in self._unfinished:
            return
        self._forget(greeting)
        if greeting.began:
            with contextlib.suppress(OSError):
                greeting.sock.shutdown(socket.SHUT_RDWR)
            return
        self._queue.remove(greeting.client, greeting)
        self._loop.remove_reader(greeting.sock)
        greeting.sock.close()
        self._connections.leave(greeting.client)

    def _forget(self, greeting: _Greeting) -> None:
        _stop(greeting)
        if self._unfinished.pop(greeting.sock, None) is not None:
            self._of[greeting.client] -= 1
            if not self._of[greeting.client]:
                del self._of[greeting.client]

    def _unverified(self, error: ssl.SSLCertVerificationError) -> None:
        """Log the reason, rate-limited: the client only sees its connection end, because event loops send no TLS alert."""
        self._met(Bound.CLIENT_CERTIFICATE)
        if self._loop.time() >= self._quiet:
            self._quiet = self._loop.time() + _QUIET_SECONDS
            _LOG.warning("a client's certificate does not verify, and its connection was closed: %s", error.verify_message)


def _stop(greeting: _Greeting) -> None:
    if greeting.late is not None:
        greeting.late.cancel()
        greeting.late = None


def _first_record(sock: socket.socket) -> int | None:
    """Bytes that are missing of the first TLS record that a client sent; None if it sends none."""
    try:
        head = sock.recv(_RECORD, socket.MSG_PEEK)
        waiting = int.from_bytes(fcntl.ioctl(sock.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        return None
    size = int.from_bytes(head[3:], "big")
    if not head or head[0] != _HANDSHAKE or size > _LONGEST:
        return None
    return max(0, _RECORD + size - waiting)


class Listener:
    """Listens until it is closed."""

    def __init__(
        self, sock: socket.socket, context: ReloadingContext | None, limits: Limits, connections: Connections, met: Callable[[Bound], None]
    ) -> None:
        """Begins at once; without a `context` it is plain HTTP."""
        self._loop = asyncio.get_running_loop()
        self._sock, self._connections = sock, connections
        self._handshakes = TlsQueue(context, connections, limits, met) if context is not None else None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._waits_since: float | None = None  # when connections were first seen to wait since one was accepted last
        sock.setblocking(False)
        sock.listen(_BACKLOG)
        self._waiting = select.poll()
        self._waiting.register(self._sock, select.POLLIN)
        self._resume()

    def close(self) -> None:
        """Accepts no more; handshakes that have begun go on."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._sock)
            self._sock.close()

    def reasons(self) -> list[str]:
        """Why it makes no progress; many clients that wait are no reason, as long as it does."""
        if self._closed:
            return ["not listening"]
        now, found = self._loop.time(), []
        if not self._waiting.poll(0):
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = now
        elif now - self._waits_since > STUCK_SECONDS:
            found.append(f"no connection has been accepted for {now - self._waits_since:.0f} s, and some wait")
        idle = self._handshakes.idle_since() if self._handshakes is not None else None
        if idle is not None and now - idle > STUCK_SECONDS:
            found.append(f"no handshake has been computed for {now - idle:.0f} s, and some wait")
        return found

    def _resume(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, peer = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._sock)
                self._loop.call_later(_PAUSE, self._resume)
                return
            self._waits_since = None
            client = client_address(peer)
            if not self._connections.admit(client):
                accepted.close()
                continue
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BUFFER)
            if self._handshakes is not None:
                self._handshakes.add(accepted, client)
                continue
            task = self._loop.create_task(self._open(accepted, client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _open(self, accepted: socket.socket, client: str) -> None:
        protocol = self._connections.make(client)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, accepted)
        except OSError:  # it has left
            accepted.close()
            protocol.connection_lost(None)
