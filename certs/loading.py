"""Loads a pair into OpenSSL, which reads keys only from files: in memory, or in a private directory."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .files import CERTIFICATE, KEY, PairError

_OPEN: Final = Path("/proc/self/fd")
_SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a directory of our own is made in it, 0700


def load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Loads a pair into a context; nothing of it stays behind, and the root file system may be read-only.

    Raises: PairError when OpenSSL refuses it, or there is nowhere to put it.
    """
    try:
        with _as_file(certificate.rstrip() + b"\n" + key) as file:
            context.load_cert_chain(file, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise PairError(f"{CERTIFICATE} and {KEY} can't be loaded: {getattr(error, 'reason', None) or type(error).__name__}") from None


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A name under which the content can be read while the block lasts, mode 0600."""
    if not hasattr(os, "memfd_create") or not _OPEN.is_dir():
        yield from _in_directory(content)
        return
    descriptor = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        os.fchmod(descriptor, 0o600)
        _write(descriptor, content)
        yield str(_OPEN / str(descriptor))
    finally:
        os.close(descriptor)


def _in_directory(content: bytes) -> Iterator[str]:
    where = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as directory:  # made 0700
        file = Path(directory) / "pair.pem"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _write(descriptor, content)
        finally:
            os.close(descriptor)
        yield str(file)


def _write(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)


def _no_password() -> bytes:
    raise ValueError("encrypted keys are not read")
