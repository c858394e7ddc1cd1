"""Which client certificates are accepted: authorities in one file, which is followed, and the names of callers."""

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from .certificate import read_certificates
from .files import PairError, read_file

KEY: Final = "server.webhook.clientCA"


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
            found = tuple(each.der for each in read_certificates(read_file(self._path)))
        except PairError as error:
            self.reason = f"{KEY}: {error}"
            return False
        self.reason = "" if found else f"{KEY}: {self._path.name} must hold PEM certificates"
        if not found or set(found) == set(self.authorities):
            return False
        self.authorities = found
        self.generation += 1
        return True

    def forget(self, reason: str) -> None:
        """Trust no authority until the next read of the file."""
        self.authorities, self.reason = (), f"{KEY}: {reason}"

    def ask(self, context: ssl.SSLContext) -> None:
        """Has a server's context ask for a certificate, once there are authorities to verify it by; a client may have none.

        The authorities may be intermediate ones. OpenSSL ends the handshake of a client whose certificate doesn't verify.
        """
        if self.authorities:
            context.verify_mode = ssl.CERT_OPTIONAL
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            context.load_verify_locations(cadata=b"".join(self.authorities))

    def bears(self, certificate: Mapping[str, Any]) -> bool:
        """Whether a verified certificate, as `getpeercert` shows it, has a name that is allowed."""
        return not self.names or not self.names.isdisjoint(_names(certificate))


def _names(certificate: Mapping[str, Any]) -> set[str]:
    """Common names of the subject, and DNS names of the subject's alternatives."""
    subject = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return subject | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
