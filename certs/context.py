"""The TLS context of the server, which follows the files: a new pair is tried aside first, the last good one stays. The server polls it."""

from __future__ import annotations

import hashlib
import ssl
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

from certs.files import CERTIFICATE, KEY, Leaf, PairError, judge, load_pair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# TLS 1.2 suites with forward secrecy and authenticated encryption; those of TLS 1.3 are all fine
CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


class Change(Enum):
    """What a look at the files brought."""

    SAME = "same"
    LOADED = "loaded"
    REFUSED = "refused"


def _now() -> datetime:
    return datetime.now(UTC)


class ReloadingContext:
    """Serves the pair of a directory. `tls` is given to the listener once; each new handshake uses the newest good pair.

    The pair is swapped as a whole context: loading a second pair into a live context leaves a key of another type in place, and
    OpenSSL would go on offering it to some clients.
    """

    __slots__ = ("_clock", "_current", "_directory", "_seen", "leaf", "reason", "tls")

    def __init__(self, directory: Path, clock: Callable[[], datetime] = _now) -> None:
        """Loads nothing yet: `refresh` does, at start and from then on."""
        self._directory = directory
        self._clock = clock
        self._seen = b""
        self._current: ssl.SSLContext | None = None
        self.leaf: Leaf | None = None  # of the pair that is served
        self.reason = "no certificate has been loaded yet"  # why the files were refused; empty when what they hold is served
        self.tls = _context()
        self.tls.sni_callback = self._choose

    @property
    def loaded(self) -> bool:
        """Whether there is a pair to serve."""
        return self._current is not None

    @property
    def expired(self) -> bool:
        """Whether the served certificate has ended; clients refuse it then."""
        return self.leaf is not None and self._clock() >= self.leaf.not_after

    def refresh(self) -> Change:
        """Looks at the files, and takes a new pair into use when it is good; `reason` says what is wrong with it otherwise.

        The same refused content is reported once. Blocking, but only for two small local files.
        """
        try:
            pair = load_pair(self._directory)
        except PairError as error:
            return self._refuse(str(error), b"")
        seen = _fingerprint(pair)
        # a pair that was refused may become valid by the clock alone, a served one has nothing to gain
        if seen == self._seen and (not self.reason or not self._clock_may_help(pair)):
            return Change.SAME
        try:
            leaf = judge(*pair, self._clock())
            scratch = self._try(seen)
        except PairError as error:
            return self._refuse(str(error), seen)
        self._current, self.leaf, self.reason, self._seen = scratch, leaf, "", seen
        return Change.LOADED

    def _clock_may_help(self, pair: tuple[bytes, bytes]) -> bool:
        try:
            judge(*pair, self._clock())
        except PairError:
            return False
        return True

    def _refuse(self, reason: str, seen: bytes) -> Change:
        change = Change.SAME if (reason, seen) == (self.reason, self._seen) else Change.REFUSED
        self.reason, self._seen = reason, seen
        return change

    def _try(self, seen: bytes) -> ssl.SSLContext:
        """Loads the files into a context of its own; they are read by OpenSSL, so they must still be what was judged."""
        scratch = _context()
        try:
            scratch.load_cert_chain(self._directory / CERTIFICATE, self._directory / KEY, password=_no_password)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise PairError(f"{CERTIFICATE} and {KEY} can't be loaded: {getattr(error, 'reason', None) or type(error).__name__}") from None
        if _fingerprint(load_pair(self._directory)) != seen:
            raise PairError(f"{CERTIFICATE} and {KEY} are being written")
        return scratch

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _base: ssl.SSLContext) -> int | None:
        """Called by OpenSSL in each handshake, with or without a server name in it."""
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])
    return context


def _fingerprint(pair: tuple[bytes, bytes]) -> bytes:
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in pair)).digest()


def _no_password() -> bytes:
    raise ValueError("encrypted keys are not read")
