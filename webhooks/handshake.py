"""A TLS connection of the server to itself, as an API server would open it: whether the port accepts and what it presents is trusted."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.certs.certificate import read_certificates

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

PATIENCE: Final = 3.0  # seconds; an API server gives up after ten
FRESH: Final = 1.0  # seconds for which a success is cached
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where all addresses are listened on, loopback is one


class Handshake:
    """Asks one port of our own."""

    def __init__(self, bound: socket.socket, server_name: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Without a server name nothing is verified."""
        host, port = bound.getsockname()[:2]
        self._address = (_LOOPBACK.get(host, host), port)
        self._server_name, self._clock = server_name, clock
        self._good = float("-inf")

    async def reasons(self, bundle: bytes) -> list[str]:
        """Why a client that trusts the bundle would not get through; empty when it does."""
        if self._clock() - self._good < FRESH:
            return []
        try:
            async with asyncio.timeout(PATIENCE):
                await self._shake(bundle)
        except ssl.SSLCertVerificationError as error:
            return [f"a handshake with ourselves as {self._server_name} failed: {error.verify_message}"]
        except (OSError, TimeoutError) as error:
            return [f"a handshake with ourselves failed: {getattr(error, 'reason', None) or type(error).__name__}"]
        self._good = self._clock()
        return []

    async def _shake(self, bundle: bytes) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = bool(self._server_name)
        context.verify_mode = ssl.CERT_REQUIRED if self._server_name else ssl.CERT_NONE
        if self._server_name:
            for each in read_certificates(bundle):
                context.load_verify_locations(cadata=each.der)
        name = self._server_name or "localhost"
        _, writer = await asyncio.open_connection(*self._address, ssl=context, server_hostname=name, ssl_shutdown_timeout=PATIENCE)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
