"""Certificates as files in one directory: tls.crt, tls.key, ca.crt. Making them for one machine, and judging a pair before it is used."""

import contextlib
import ipaddress
import os
import secrets
import stat
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography.x509.oid import NameOID

from ..kube.times import format_time
from .authority import SELF_SIGNED, issue_leaf, make_authority
from .certificate import UNREADABLE, Certificate, read_certificate, read_key

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
AUTHORITY: Final = "ca.crt"
MAX_FILE_BYTES: Final = 1 << 20  # a certificate chain or a key is far smaller; anything else is a mistake
RENEW_BEFORE: Final = timedelta(days=30)  # a pair of our own that ends sooner is made again at start


class PairError(ValueError):
    """A pair that must not be used; the text is the reason."""


def judge(certificate: bytes, key: bytes, now: datetime) -> Certificate:
    """The certificate of a pair. Raises: PairError when either can't be read, they don't belong together, or the dates exclude now."""
    leaf, secret = read_certificate(certificate), read_key(key)
    if leaf is None:
        raise PairError(f"{CERTIFICATE} must hold a PEM certificate")
    if secret is None:
        raise PairError(f"{KEY} must hold a PEM private key that is not encrypted")
    if not secret.belongs_to(leaf):
        raise PairError(f"{KEY} must be the key of {CERTIFICATE}, and is another one")
    if now >= leaf.not_after:
        raise PairError(f"{CERTIFICATE} has expired at {format_time(leaf.not_after)}")
    if now < leaf.not_before:
        raise PairError(f"{CERTIFICATE} is not valid before {format_time(leaf.not_before)}")
    return leaf


def load_pair(directory: Path) -> tuple[bytes, bytes]:
    """Reads tls.crt and tls.key. Raises: PairError when one can't be read."""
    return read_file(directory / CERTIFICATE), read_file(directory / KEY)


def store_self_signed(directory: Path, names: tuple[str, ...], now: datetime) -> Path:
    """Makes sure that a directory holds a usable pair for the names, and returns the path of the authority to trust.

    A usable pair is kept. A generated pair that is damaged, expired, about to expire or issued for other names is replaced;
    a foreign one is never modified. The authority's key is discarded, so that it can't sign anything else.

    Raises: PairError when a foreign pair can't be used, OSError when the directory can't be written.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    ours = _is_ours(directory / AUTHORITY)
    if ours or (directory / CERTIFICATE).exists() or (directory / KEY).exists():
        try:
            _check(directory, names if ours else (), now + RENEW_BEFORE if ours else now)
        except PairError as error:
            if not ours:
                raise PairError(f"{directory} holds a foreign pair that can't be used: {error}") from None
        else:
            return directory / AUTHORITY if (directory / AUTHORITY).exists() else directory / CERTIFICATE
    authority = make_authority(now, organisation=SELF_SIGNED)
    leaf = issue_leaf(authority, names, now, organisation=SELF_SIGNED)
    store(directory / AUTHORITY, authority.certificate, 0o644)
    store(directory / KEY, leaf.key, 0o600)
    store(directory / CERTIFICATE, leaf.certificate, 0o644)
    return directory / AUTHORITY


def store(path: Path, content: bytes, mode: int) -> None:
    """Writes a file whole or not at all; it never exists with wider permissions than `mode`."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink()
        raise


def _check(directory: Path, names: tuple[str, ...], now: datetime) -> None:
    """Raises PairError unless the pair is good at that time, and has the names, if any, from the authority beside it (if there is one)."""
    leaf = judge(*load_pair(directory), now)
    if missing := [name for name in names if name not in leaf.names]:
        raise PairError(f"{CERTIFICATE} must name {', '.join(missing)}")
    if names and (directory / AUTHORITY).exists():
        authority = read_certificate(read_file(directory / AUTHORITY))
        if authority is None or not authority.issued(leaf):
            raise PairError(f"{CERTIFICATE} must be signed by {AUTHORITY}")


def _is_ours(path: Path) -> bool:
    """Whether the authority beside a pair is one that this module made."""
    try:
        authority = read_certificate(read_file(path))
        organizations = authority.parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME) if authority else ()
    except UNREADABLE:  # a PairError, too
        return False
    return any(part.value == SELF_SIGNED for part in organizations)


def read_file(path: Path) -> bytes:
    """Reads a small regular file, also by links, as in Kubernetes. Raises: PairError, also for a pipe or device, which may never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PairError(f"{path.name} must be a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(MAX_FILE_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise PairError(f"{path.name} can't be read: {error.strerror or type(error).__name__}") from None
    if len(content) > MAX_FILE_BYTES:
        raise PairError(f"{path.name} must be at most {MAX_FILE_BYTES} bytes")
    return content


def local_names(host: str) -> tuple[str, ...]:
    """The names of a self-signed leaf: this machine's own, and the address listened on when it is a particular one."""
    names = ["localhost", "127.0.0.1", "::1"]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return tuple(dict.fromkeys([*names, host] if host else names))
    return tuple(dict.fromkeys(names if address.is_unspecified else [*names, str(address)]))
