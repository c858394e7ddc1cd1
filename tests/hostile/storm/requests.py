"""The bytes that the generator sends."""

import contextlib
import ssl
from typing import Final

from tests.bench.beside import VALIDATE, shapes
from tests.webhooks.serving import post

_FIELD: Final = 3_900  # bytes of a header, of 4,096 that are allowed for one


def _head(size: int) -> bytes:
    """A whole head of about so many bytes, in headers that are each as long as may be."""
    fields = [b"X-%d: %b" % (at, b"x" * min(_FIELD, size - at)) for at in range(0, size, _FIELD)]
    return b"\r\n".join([b"GET / HTTP/1.1", b"Host: s", *fields, b"", b""])


def stranger() -> ssl.SSLContext:
    """A client of TLS that verifies nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _greeting(curve: str, version: ssl.TLSVersion) -> bytes:
    """What a client of TLS sends first: the same bytes open any number of handshakes."""
    context = stranger()
    context.maximum_version = version
    context.set_ecdh_curve(curve)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


# of all that may be sent the last is the worst
HEADS: Final = tuple(_head(size) for size in (100, 4_000, 15_000, 60_000, 240 * 1024))
GREETINGS: Final = tuple(
    _greeting(curve, version)
    for curve, version in (
        ("X25519", ssl.TLSVersion.TLSv1_3),
        ("prime256v1", ssl.TLSVersion.TLSv1_2),
        ("secp384r1", ssl.TLSVersion.TLSv1_3),  # ten times what the first costs a server
    )
)
READ: Final = tuple(
    b"GET %b HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n" % path for path in (b"/readyz?verbose", b"/healthz", b"/metrics")
)
COSTLY: Final = tuple(post(*each) for each in shapes())
LONG: Final = COSTLY[5]  # tens of milliseconds in the event loop, where requests wait for each other
DRIBBLED: Final = f"POST {VALIDATE} HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
TRASH: Final = (b"GET / HTTP/1.1\r\nHost: s\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n" * 500, b"")
