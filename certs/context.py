"""The TLS context of a server, which follows a source of pairs: a new one is tried aside first, the last good one stays.

So do the authorities by which client certificates are accepted.
"""

import hashlib
import os
import ssl
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from ..kube.times import format_time, now
from .certificate import Certificate, read_certificates
from .files import AUTHORITY, CERTIFICATE, KEY, PairError, judge, load_pair, read_file

# TLS 1.2 suites with forward secrecy and authenticated encryption; those of TLS 1.3 are all fine
CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
_OPEN: Final = Path("/proc/self/fd")
CLIENT_KEY: Final = "server.webhook.clientCA"


class ClientTrust:
    """The authorities of client certificates; the last good ones stay when the file can't be used."""

    __slots__ = ("_path", "authorities", "generation", "names", "reason")

    def __init__(self, path: Path, names: Iterable[str] = ()) -> None:
        """Reads nothing yet. `names`: common names and DNS names of callers, one of which a certificate must bear; none means any."""
        self._path = path
        self.names = frozenset(names)
        self.authorities: tuple[bytes, ...] = ()  # DER
        self.generation = 0  # how many sets of authorities have been in use
        self.reason = ""  # why the file is not used; empty when it is

    def refresh(self) -> bool:
        """Reads the file; whether there is another set of authorities now."""
        try:
            authorities = tuple(each.der for each in read_certificates(read_file(self._path)))
        except PairError as error:
            self.reason = f"{CLIENT_KEY}: {error}"
            return False
        self.reason = "" if authorities else f"{CLIENT_KEY}: {self._path.name} must hold PEM certificates"
        if not authorities or set(authorities) == set(self.authorities):
            return False
        self.authorities = authorities
        self.generation += 1
        return True

    def forget(self, reason: str) -> None:
        """Trust no authority until the next read of the file."""
        self.authorities, self.reason = (), f"{CLIENT_KEY}: {reason}"

    def request_certificates(self, context: ssl.SSLContext) -> None:
        """Has a server's context ask for a certificate, once there are authorities to verify it by; a client may have none.

        The authorities may be intermediate ones. OpenSSL ends the handshake of a client whose certificate doesn't verify.
        """
        if self.authorities:
            context.verify_mode = ssl.CERT_OPTIONAL
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            context.load_verify_locations(cadata=b"".join(self.authorities))

    def allows(self, certificate: Mapping[str, Any]) -> bool:
        """Whether a verified certificate, as `getpeercert` shows it, has a name that is allowed."""
        subject = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
        alternatives = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
        return not self.names or not self.names.isdisjoint(subject | alternatives)


class Change(Enum):
    """The result of reading the source."""

    SAME = "same"
    LOADED = "loaded"
    REFUSED = "refused"


class Offer(NamedTuple):
    """A pair that a source offers. It holds a key: never log it."""

    certificate: bytes
    key: bytes
    bundle: bytes  # of the authorities that clients trust; empty when the source has none
    source: str = "file"
    trouble: str = ""  # why something newer is not offered


class Pairs(Protocol):
    """A source of pairs."""

    def offer(self) -> Offer:
        """The pair to serve now. Raises PairError when there is none."""


class Directory:
    """The pair in a directory; names and issuer aren't checked."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def offer(self) -> Offer:
        """Reads the files. Blocking, but only for three small local ones."""
        certificate, key = load_pair(self._path)
        try:
            bundle = read_file(self._path / AUTHORITY)
        except PairError:
            bundle = b""
        return Offer(certificate, key, bundle)


class ServedPair(NamedTuple):
    """Facts about the served pair."""

    leaf: Certificate
    source: str
    bundle: bytes  # PEM

    def facts(self) -> dict[str, str]:
        """By name, for probes and metrics; nothing secret."""
        return {
            "serial": self.leaf.serial,
            "issuer_key_id": self.leaf.issuer_key,
            "not_after": format_time(self.leaf.not_after),
            "source": self.source,
            "bundle": hashlib.sha256(self.bundle).hexdigest()[:16] if self.bundle else "",
        }


class ReloadingContext:
    """Serves what a source offers. `tls` is for the next connection; each new handshake uses the newest good pair.

    The pair is swapped as a whole context: loading a second pair into a live context leaves a key of another type in place, and
    OpenSSL would go on offering it to some clients.
    """

    __slots__ = ("_clock", "_current", "_loaded", "_offer", "_pairs", "_refused", "clients", "reason", "served", "tls")

    def __init__(self, pairs: Pairs | Path, clock: Callable[[], datetime] = now, clients: ClientTrust | None = None) -> None:
        """Loads nothing: `refresh` does. `pairs` may be the path of a directory that holds the pair.

        `clients` enables client certificates and holds their authorities.
        """
        self._pairs = Directory(pairs) if isinstance(pairs, Path) else pairs
        self._clock = clock
        self._loaded = self._refused = b""  # fingerprints of the served and the last refused pair
        self._current: ssl.SSLContext | None = None
        self._offer: Offer | None = None  # what `_current` was made of
        self.clients = clients
        self.served: ServedPair | None = None
        self.reason = "no certificate has been loaded yet"  # why what the source holds was refused; empty when that is served
        self.tls = self._listening()

    @property
    def loaded(self) -> bool:
        """Whether there is a pair to serve."""
        return self._current is not None

    @property
    def leaf(self) -> Certificate | None:
        """The certificate that is served."""
        return self.served.leaf if self.served is not None else None

    @property
    def expired(self) -> bool:
        """Whether the served certificate has ended; clients refuse it then."""
        return self.leaf is not None and self._clock() >= self.leaf.not_after

    def refresh(self) -> Change:
        """Load a new valid pair from the source; otherwise `reason` is the problem.

        The same refused content is reported once. As blocking as the source is.
        """
        try:
            offer = self._pairs.offer()
        except PairError as error:
            return self._refuse(str(error), b"")
        seen = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in (offer.certificate, offer.key))).digest()
        if seen == self._loaded and self.served is not None:
            self.served = ServedPair(self.served.leaf, offer.source, offer.bundle)  # trust in the same pair may grow
            if offer.trouble:  # a complaint about another pair
                return self._refuse(offer.trouble, b"")
            change = Change.LOADED if self.reason else Change.SAME
            self.reason, self._refused = "", b""
            return change
        try:
            leaf = judge(offer.certificate, offer.key, self._clock())
            scratch = self._with(offer)
        except PairError as error:
            return self._refuse(str(error), seen)
        self._current, self._offer, self.served = scratch, offer, ServedPair(leaf, offer.source, offer.bundle)
        self.reason, self._refused, self._loaded = offer.trouble, b"", seen
        return Change.LOADED

    def refresh_clients(self) -> Change:
        """Reads the authorities of client certificates again; open connections keep the result of their handshake.

        No session that others had vouched for is resumed: the keys of sessions are those of `tls`, which is made anew.
        """
        if self.clients is None:
            return Change.SAME
        before = self.clients.reason
        if self.clients.refresh():
            try:
                if self._offer is not None:
                    self._current = self._with(self._offer)
            except PairError as error:
                self.clients.forget(str(error))
            self.tls = self._listening()
            return Change.REFUSED if self.clients.reason else Change.LOADED
        return Change.REFUSED if self.clients.reason not in ("", before) else Change.SAME

    def _listening(self) -> ssl.SSLContext:
        """OpenSSL takes whom to ask, and sessions, from this context, and the pair and the authorities from the one that is chosen."""
        context = self._context()
        context.sni_callback = self._choose
        return context

    def _with(self, offer: Offer) -> ssl.SSLContext:
        context = self._context()
        load(context, offer.certificate, offer.key)
        return context

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(CIPHERS)
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_alpn_protocols(["http/1.1"])
        if self.clients is not None:
            self.clients.request_certificates(context)
        return context

    def _refuse(self, reason: str, content: bytes) -> Change:
        change = Change.SAME if (reason, content) == (self.reason, self._refused) else Change.REFUSED
        self.reason, self._refused = reason, content
        return change

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _base: ssl.SSLContext) -> int | None:
        """Called by OpenSSL in each handshake, with or without a server name in it."""
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


def load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Loads a pair into a context, and leaves it in no file. Raises: PairError when OpenSSL refuses it, or there is nowhere to put it."""
    try:
        with _as_file(certificate.rstrip() + b"\n" + key) as file:
            context.load_cert_chain(file, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise PairError(f"{CERTIFICATE} and {KEY} can't be loaded: {getattr(error, 'reason', None) or type(error).__name__}") from None


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A name under which the content can be read while the block lasts, mode 0600; of no file where there are files in memory."""
    memory = hasattr(os, "memfd_create") and _OPEN.is_dir()
    with os.fdopen(os.memfd_create("pair", os.MFD_CLOEXEC), "wb") if memory else tempfile.NamedTemporaryFile() as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
        file.flush()
        yield str(_OPEN / str(file.fileno()) if memory else file.name)


def _no_password() -> bytes:
    raise ValueError("encrypted keys are not read")
