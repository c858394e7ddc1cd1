"""Checks callers: if configured, admission requires a verified and allowed client certificate. Conversion doesn't."""

import ssl
import time
from collections.abc import Callable
from typing import Final

from ..admission.registration import Purpose
from ..certs.context import CLIENT_KEY, ClientTrust
from .connection import Connection
from .envelope import Answer, reject_http
from .meters import Meter
from .routes import Route

VERIFIED: Final = "verified"
UNVERIFIED: Final = "unverified"
_NO_AUTHORITIES: Final = f"{CLIENT_KEY}: no authority of client certificates could be read"
_NONE: Final = f"the caller must present a client certificate of an authority in {CLIENT_KEY}, and presented none"
_EXPIRED: Final = "the caller's client certificate must be valid, and has expired since the connection began"
_STRANGER: Final = "the caller's client certificate must bear one of the names in server.webhook.clientNames"


class Callers:
    """The callers of one server."""

    __slots__ = ("_clock", "_meter", "_trust")

    def __init__(self, trust: ClientTrust | None, meter: Meter, clock: Callable[[], float] = time.time) -> None:
        """Without `trust` no certificate is required."""
        self._trust, self._meter, self._clock = trust, meter, clock

    def generation(self) -> int:
        """The number of the current set of authorities; set it on a connection before its handshake."""
        return self._trust.generation if self._trust is not None else 0

    def refusal(self, route: Route, connection: Connection) -> Answer | None:
        """Counts a request by its caller, and answers it when that must not call this path."""
        wrong = self._wrong(connection)
        self._meter.callers[route.path, UNVERIFIED if wrong else VERIFIED] += 1
        # a caller verified by earlier authorities gets one more response: an authority may only have been added
        connection.last |= connection.generation != self.generation()
        return reject_http(403, wrong) if wrong and self._trust is not None and route.purpose is not Purpose.CONVERT else None

    def _wrong(self, connection: Connection) -> str:
        if self._trust is None:
            return UNVERIFIED
        if not self._trust.authorities:
            return _NO_AUTHORITIES
        if connection.caller is None:
            connection.caller = self._verify(connection)
        wrong, until = connection.caller
        return wrong or (_EXPIRED if self._clock() >= until else "")

    def _verify(self, connection: Connection) -> tuple[str, float]:
        """The reason to refuse a caller, and the end of its certificate."""
        tls = connection.transport.get_extra_info("ssl_object") if connection.transport is not None else None
        try:
            certificate = tls.getpeercert() if tls is not None else None
        except ValueError:  # before the end of a handshake, and for what OpenSSL can't show
            certificate = None
        if not certificate or self._trust is None:
            return _NONE, 0.0
        if not self._trust.allows(certificate):
            return _STRANGER, 0.0
        return "", ssl.cert_time_to_seconds(certificate["notAfter"])
