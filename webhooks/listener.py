"""Accepts connections on one socket, with TLS. connection.py handles their requests.

The event loops' own servers let any number of clients begin a handshake that they never end, and each costs memory that no bound counts.
Here the oldest of too many must go, of the client that has most of them: who means it needs milliseconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections import Counter
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.webhooks.fair_queue import client_of
from dynamo_webhooks.webhooks.limits import Bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.certs.context import ReloadingContext
    from dynamo_webhooks.webhooks.limits import Limits

_LOG: Final = logging.getLogger("webhooks.server")
_BACKLOG: Final = 1024
_AT_ONCE: Final = 16  # connections that are accepted in one turn of the loop
_QUIET_SECONDS: Final = 60.0
_PAUSE: Final = 0.5  # seconds, when the process has no file descriptors left


class Listener:
    """Listens until it is closed."""

    def __init__(
        self,
        sock: socket.socket,
        context: ReloadingContext,
        limits: Limits,
        factory: Callable[[str], asyncio.Protocol | None],
        met: Callable[[Bound], None],
    ) -> None:
        """Begins at once. `factory` makes a protocol for one more connection of a client, or none when there are too many."""
        self._loop = asyncio.get_running_loop()
        self._sock, self._context, self._limits, self._factory, self._met = sock, context, limits, factory, met
        self._greeting: dict[socket.socket, tuple[str, asyncio.Task[None]]] = {}  # client and handshake, the oldest first
        self._closed = False
        self._quiet = 0.0  # until when no invalid certificate is logged
        sock.listen(_BACKLOG)
        self._resume()

    def close(self) -> None:
        """Accepts no more; handshakes that have begun go on."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._sock)
            self._sock.close()

    def _resume(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, peer = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._sock)
                self._loop.call_later(_PAUSE, self._resume)
                return
            accepted.setblocking(False)
            client = client_of(peer)
            protocol = self._factory(client)
            if protocol is None:
                accepted.close()
                continue
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._greeting[accepted] = client, self._loop.create_task(self._greet(accepted, protocol))
            if len(self._greeting) > self._limits.handshakes:
                [(most, _)] = Counter(each for each, _ in self._greeting.values()).most_common(1)
                self._drop(next(sock for sock, (each, _) in self._greeting.items() if each == most))

    async def _greet(self, accepted: socket.socket, protocol: asyncio.Protocol) -> None:
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=self._context.tls,
                ssl_handshake_timeout=self._limits.head_seconds,
                ssl_shutdown_timeout=self._limits.goodbye_seconds,
            )
        except ssl.SSLCertVerificationError as error:
            self._strange(error)
            self._lost(accepted, protocol)
        except OSError:  # no TLS, or nothing at all: no log would be worth it
            self._lost(accepted, protocol)
        finally:
            self._greeting.pop(accepted, None)

    def _strange(self, error: ssl.SSLCertVerificationError) -> None:
        """Log the reason, rate-limited: the client only sees its connection end, because event loops send no TLS alert."""
        self._met(Bound.CLIENT_CERTIFICATE)
        if self._loop.time() >= self._quiet:
            self._quiet = self._loop.time() + _QUIET_SECONDS
            _LOG.warning("a client's certificate does not verify, and its connection was closed: %s", error.verify_message)

    def _lost(self, accepted: socket.socket, protocol: asyncio.Protocol) -> None:
        accepted.close()
        protocol.connection_lost(None)  # otherwise its parser and it would form a reference cycle

    def _drop(self, oldest: socket.socket) -> None:
        """Ends a handshake by the end of its connection, which the transport notices."""
        self._met(Bound.HANDSHAKES)
        self._greeting.pop(oldest)
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)
