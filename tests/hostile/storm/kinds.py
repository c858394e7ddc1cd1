"""The kinds of attacks, each by what one of its connections does, and the bytes that it sends."""

import asyncio
import contextlib
import random
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from tests.hostile.large import VALIDATE, shapes
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


Choice = TypeVar("Choice")
_RESET: Final = struct.pack("ii", 1, 0)
_PIECE: Final = 65_536
_CONTEXT: Final = stranger()


@dataclass(slots=True)
class Line:
    """What an attack does with it. `worst`: nothing is drawn."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    chooser: random.Random
    worst: bool

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """The last of these, which is the worst, or any."""
        return choices[-1] if self.worst else self.chooser.choice(choices)

    async def send(self, data: bytes) -> None:
        """Sends as fast as the server reads."""
        for at in range(0, len(data), _PIECE):
            self.writer.write(data[at : at + _PIECE])
            await self.writer.drain()

    async def drip(self, data: bytes, pause: float) -> None:
        """Sends a byte at a time."""
        for at in range(len(data)):
            self.writer.write(data[at : at + 1])
            await asyncio.sleep(pause)

    async def hold(self) -> None:
        """Reads until the server ends the connection."""
        while await self.reader.read(_PIECE):
            pass

    def end(self) -> None:
        """Ends it with a reset, or by closing."""
        sock = self.writer.get_extra_info("socket")
        if sock is not None and self.chooser.random() < 0.5:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()


@contextlib.asynccontextmanager
async def opened(at: tuple[str, int], source: str, chooser: random.Random, *, tls: bool, worst: bool) -> AsyncIterator[Line]:
    """Opens a connection from a source address, if one is given, and ends it with the block."""
    local = (source, 0) if source else None
    context, name = (_CONTEXT, "localhost") if tls else (None, None)
    line = Line(*await asyncio.open_connection(*at, local_addr=local, ssl=context, server_hostname=name), chooser, worst)
    try:
        yield line
    finally:
        line.end()


WEBHOOKS: Final = ("webhooks",)
SIDE: Final = ("probes", "metrics")
ANY: Final = (*WEBHOOKS, *SIDE)


class Kind(NamedTuple):
    """One kind: `most` connections at once, each one replaced when it has ended if `again`. Only the port of webhooks has `tls`."""

    act: Callable[[Line], Awaitable[None]]
    most: int
    ports: tuple[str, ...] = WEBHOOKS
    tls: bool = True
    again: bool = False


async def _stay(line: Line) -> None:
    await line.hold()


async def _greet(line: Line) -> None:
    """The server computes a key exchange and a signature, the sender nothing."""
    await line.send(line.one_of(GREETINGS))
    await line.reader.read(1)


async def _leave_or_stay(line: Line) -> None:
    if line.chooser.random() < 0.5:
        await line.hold()


async def _drip_head(line: Line) -> None:
    await line.drip(line.one_of(HEADS), line.chooser.uniform(0.02, 0.5))


async def _begin_head(line: Line) -> None:
    """A head without its end."""
    await line.send(line.one_of(HEADS)[:-2])
    await line.hold()


async def _pipeline(line: Line) -> None:
    """Heads behind a review that takes long."""
    await line.send(LONG)
    for _ in range(40):
        await line.send(line.one_of(HEADS))
    await line.hold()


async def _read(line: Line) -> None:
    """Scrapes and probes, whose answers are taken or not."""
    await line.send(line.one_of(READ))
    await (line.hold() if line.worst or line.chooser.random() < 0.7 else asyncio.sleep(5))


async def _ask(line: Line) -> None:
    """A costly review, whole or not."""
    request = line.one_of(COSTLY)
    await line.send(request[: line.chooser.choice([len(request), line.chooser.randrange(len(request))])])
    await line.hold()


async def _dribble(line: Line) -> None:
    """A body of which each chunk has a byte."""
    await line.send(DRIBBLED)
    await line.drip(b"1\r\n \r\n" * 500, line.chooser.choice([0.0, 0.01, 0.2]))
    await line.hold()


async def _babble(line: Line) -> None:
    """What the port doesn't speak, half-closed afterwards or not."""
    await line.send(line.one_of((*TRASH, *GREETINGS, line.chooser.randbytes(2_000))))
    if line.chooser.random() < 0.7:
        line.writer.write_eof()
    await line.hold()


KINDS: Final = {
    "idle": Kind(_stay, 600, ANY, tls=False),
    "hellos": Kind(_greet, 250, tls=False, again=True),
    "handshakes": Kind(_leave_or_stay, 100, again=True),
    "slow heads": Kind(_drip_head, 200, ANY),
    "large heads": Kind(_begin_head, 1_200),
    "side heads": Kind(_begin_head, 1_500, SIDE),
    "pipelined": Kind(_pipeline, 150),
    "scrapes": Kind(_read, 1_500, ("metrics",)),
    "probes": Kind(_read, 500, SIDE),
    "bodies": Kind(_ask, 40),
    "dribble": Kind(_dribble, 100),
    "trash": Kind(_babble, 200, ANY, tls=False, again=True),
}
