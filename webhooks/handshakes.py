"""Computes TLS handshakes in a fair order: one costs a millisecond of CPU, and its client next to nothing.

A handshake begins when its first message is there and its client's turn has come: next is the client whose handshakes took least CPU time
lately. A few are computed in a turn of the event loop, so that requests of open connections go on.
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
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Final, cast

from ..certs.context import ReloadingContext
from .connections import Connections
from .fair_queue import FairQueue
from .limits import Bound, Limits

_LOG: Final = logging.getLogger("webhooks.server")
_QUIET_SECONDS: Final = 60.0
MAX_HANDSHAKES: Final = 4  # in one turn of the loop
_RECORD, _HANDSHAKE = 5, 0x16  # bytes of a record's header, and the first of them
_MAX_RECORD_BYTES: Final = 16 * 1024
_POLL_SECONDS: Final = 0.02  # at a first message that has come in part


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

    def __init__(self, context: ReloadingContext, connections: Connections, limits: Limits, on_bound: Callable[[Bound], None]) -> None:
        """Starts empty; `on_bound` counts bounds."""
        self._context, self._connections, self._limits, self._on_bound = context, connections, limits, on_bound
        self._loop = asyncio.get_running_loop()
        self._unfinished: dict[socket.socket, _Greeting] = {}  # the oldest first
        self._of: Counter[str] = Counter()  # by client
        self._queue: FairQueue[_Greeting] = FairQueue()  # whose first message is there
        self._computing: set[_Greeting] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._progress = self._loop.time()  # when one was computed last, or none waited
        self._quiet = 0.0  # until when no invalid certificate is logged

    def idle_since(self) -> float | None:
        """Returns when the last handshake was computed, by the loop's clock; None if none waits for that."""
        return self._progress if self._queue else None

    def add(self, sock: socket.socket, client: str) -> None:
        """Waits for the first message of an admitted connection; the oldest goes when there are too many, of the client with most."""
        greeting = self._unfinished[sock] = _Greeting(sock, client)
        self._of[client] += 1
        greeting.late = self._loop.call_later(self._limits.head_seconds, self._end, greeting)
        self._loop.add_reader(sock, self._arrived, greeting)
        if len(self._unfinished) > self._limits.handshakes:
            self._on_bound(Bound.HANDSHAKES)
            [(most, _)] = self._of.most_common(1)
            self._end(next(each for each in self._unfinished.values() if each.client == most))

    def _arrived(self, greeting: _Greeting) -> None:
        """Queues a handshake whose first message is there as a whole."""
        self._loop.remove_reader(greeting.sock)
        size = _first_record(greeting.sock)
        if size is None:
            self._end(greeting)
        elif size:
            greeting.late = self._loop.call_later(_POLL_SECONDS, self._recheck, greeting, greeting.late)
        else:
            if not self._queue:
                self._progress = self._loop.time()
            self._queue.put(greeting.client, 0, greeting)
            self._loop.call_soon(self._begin)

    def _recheck(self, greeting: _Greeting, late: asyncio.TimerHandle | None) -> None:
        greeting.late = late
        self._loop.add_reader(greeting.sock, self._arrived, greeting)

    def _begin(self) -> None:
        """Begins handshakes, a few at a time."""
        while len(self._computing) < MAX_HANDSHAKES and (entry := self._queue.take()) is not None:
            _, greeting = entry
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
                lambda: cast("asyncio.Protocol", protocol),
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
        self._on_bound(Bound.CLIENT_CERTIFICATE)
        if self._loop.time() >= self._quiet:
            self._quiet = self._loop.time() + _QUIET_SECONDS
            _LOG.warning("a client's certificate does not verify, and its connection was closed: %s", error.verify_message)


def _stop(greeting: _Greeting) -> None:
    if greeting.late is not None:
        greeting.late.cancel()
        greeting.late = None


def _first_record(sock: socket.socket) -> int | None:
    """Bytes that are missing of the first TLS record that a client sent; None if it sends none, or no more."""
    try:
        head = sock.recv(_RECORD, socket.MSG_PEEK)
        waiting = int.from_bytes(fcntl.ioctl(sock.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        return None
    size = int.from_bytes(head[3:], "big")
    if not head or head[0] != _HANDSHAKE or size > _MAX_RECORD_BYTES:
        return None
    missing = max(0, _RECORD + size - waiting)
    return None if missing and _is_disconnected(sock) else missing


def _is_disconnected(sock: socket.socket) -> bool:
    """Whether the client sends no more; bytes from before may still wait to be read."""
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return bool(poll.poll(0))
