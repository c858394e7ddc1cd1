"""Accepts connections on one socket of any port, with or without TLS; connection.py handles their requests."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable
from typing import Final, cast

from ..certs.context import ReloadingContext
from .connection import READ_BUFFER_BYTES
from .connections import Connections
from .fair_queue import client_address
from .handshakes import TlsQueue
from .limits import Bound, Limits

_BACKLOG: Final = 4096  # as many as Linux allows by default; a connection beyond these is tried again by its client a second later
_MAX_ACCEPTED: Final = 64  # in one turn of the loop: connections that wait too long are tried again after a second
_PAUSE_SECONDS: Final = 0.5  # when the process has no file descriptors left
STUCK_SECONDS: Final = 3.0  # without progress while clients wait


class Listener:
    """Listens until it is closed."""

    def __init__(
        self,
        sock: socket.socket,
        context: ReloadingContext | None,
        limits: Limits,
        connections: Connections,
        on_bound: Callable[[Bound], None],
    ) -> None:
        """Begins at once; without a `context` it is plain HTTP."""
        self._loop = asyncio.get_running_loop()
        self._sock, self._connections = sock, connections
        self._handshakes = TlsQueue(context, connections, limits, on_bound) if context is not None else None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._waiting_since: float | None = None  # when connections were first seen to wait since one was accepted last
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
        """Lists why the listener makes no progress; many clients that wait are no reason, as long as it does."""
        if self._closed:
            return ["not listening"]
        now, reasons = self._loop.time(), []
        if not self._waiting.poll(0):
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = now
        elif now - self._waiting_since > STUCK_SECONDS:
            reasons.append(f"no connection has been accepted for {now - self._waiting_since:.0f} s, and some wait")
        idle = self._handshakes.idle_since() if self._handshakes is not None else None
        if idle is not None and now - idle > STUCK_SECONDS:
            reasons.append(f"no handshake has been computed for {now - idle:.0f} s, and some wait")
        return reasons

    def _resume(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        for _ in range(_MAX_ACCEPTED):
            try:
                accepted, peer = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._sock)
                self._loop.call_later(_PAUSE_SECONDS, self._resume)
                return
            self._waiting_since = None
            client = client_address(peer)
            if not self._connections.admit(client):
                accepted.close()
                continue
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BUFFER_BYTES)
            if self._handshakes is not None:
                self._handshakes.add(accepted, client)
                continue
            task = self._loop.create_task(self._open(accepted, client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _open(self, accepted: socket.socket, client: str) -> None:
        protocol = self._connections.make(client)
        try:
            await self._loop.connect_accepted_socket(lambda: cast("asyncio.Protocol", protocol), accepted)
        except OSError:  # it has left
            accepted.close()
            protocol.connection_lost(None)
