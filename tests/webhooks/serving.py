"""A real server in the test's own loop, with trustme certificates, and a client that sees every byte."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import trustme

from dynamo_webhooks.certs.context import ClientTrust, Pairs, ReloadingContext
from dynamo_webhooks.certs.files import CERTIFICATE, KEY
from dynamo_webhooks.webhooks import logs
from dynamo_webhooks.webhooks.executor.executor import Executor
from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.log_lines import Lines
from dynamo_webhooks.webhooks.server import Webhooks
from dynamo_webhooks.webhooks.sockets import Address, bind
from tests.webhooks.test_admission import SETTINGS

DEADLINE: Final = 300.0  # for anything to happen on a busy machine
# what ends a wait in a good case is short, what would end a test in a bad one is long
QUICK: Final = Limits(body_seconds=DEADLINE, head_seconds=DEADLINE, drain_seconds=DEADLINE, poll_seconds=0.02)


class Http(NamedTuple):
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> Http:
        """Reads one answer."""
        async with asyncio.timeout(DEADLINE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            body = await self.reader.readexactly(int(headers["content-length"]))
        return Http(int(head[0].split()[1]), headers, body)

    async def post(self, path: str, body: bytes, kind: str = "application/json", *more: str) -> Http:
        self.send(post(path, body, kind, *more))
        return await self.answer()

    async def closed(self) -> bool:
        """Waits until the server has closed the connection; nothing else may have come."""
        async with asyncio.timeout(DEADLINE):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True

    def serial(self) -> int:
        """The serial of the certificate that this connection was shown."""
        from cryptography import x509

        tls = self.writer.get_extra_info("ssl_object")
        return x509.load_der_x509_certificate(tls.getpeercert(binary_form=True)).serial_number

    async def close(self) -> None:
        transport: Any = self.writer.transport
        if transport.is_reading():
            self.writer.close()
        else:  # what waits there would never be read, nor the end behind it
            transport.abort()
        try:
            await self.writer.wait_closed()
        except (ConnectionError, ssl.SSLError):
            return


def post(path: str, body: bytes, kind: str = "application/json", *more: str) -> bytes:
    """The bytes of a request as the API server writes it."""
    lines = [f"POST {path}?timeout=10s HTTP/1.1", "Host: server", f"Content-Length: {len(body)}", *more]
    if kind:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join([*lines, "", ""]).encode() + body


class Served:
    """A running server, and what tests ask of it."""

    def __init__(self, server: Webhooks, port: int, authority: trustme.CA, directory: Path, log: Path, lines: Lines) -> None:
        self.server, self.port, self.directory = server, port, directory
        self._authority, self._log, self._lines = authority, log, lines
        self._trusting = self.trusting()
        self._clients: list[Client] = []

    async def connect(self, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> Client:
        """Opens a connection from an address of loopback, verified with the authority."""
        async with asyncio.timeout(DEADLINE):
            client = Client(*await asyncio.open_connection("127.0.0.1", self.port, ssl=tls or self._trusting, local_addr=(address, 0)))
        self._clients.append(client)
        return client

    def trusting(self) -> ssl.SSLContext:
        """What clients verify the server by."""
        return ssl.create_default_context(cadata=self._authority.cert_pem.bytes().decode())

    def issue(self) -> trustme.LeafCert:
        """A new leaf of the same authority."""
        return self._authority.issue_cert("127.0.0.1", "localhost")

    def put(self, leaf: trustme.LeafCert) -> None:
        """Writes a pair, key first: for a moment the files don't belong together."""
        write_pair(self.directory, leaf)

    async def gone(self) -> None:
        """Waits until the server has no connection left."""
        await until(lambda: self.server.gauges()["open_connections"] == 0)

    def log(self) -> list[dict[str, Any]]:
        """All log lines so far."""
        self._lines.close()
        return [orjson.loads(line) for line in self._log.read_bytes().splitlines()]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


async def until(condition: Any) -> None:
    """Gives the loop turns until something is true; fails at a deadline."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.001)


def write_pair(directory: Path, leaf: trustme.LeafCert) -> None:
    (directory / KEY).write_bytes(leaf.private_key_pem.bytes())
    (directory / CERTIFICATE).write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))


@asynccontextmanager
async def served(
    tmp_path: Path, limits: Limits = QUICK, *, clients: ClientTrust | None = None, source: Pairs | None = None
) -> AsyncIterator[Served]:
    """Starts a server, whose pair is in a directory unless a source brings it, and stops it with its connections."""
    authority = trustme.CA()
    directory = tmp_path / "certs"
    directory.mkdir()
    write_pair(directory, authority.issue_cert("127.0.0.1", "localhost"))
    log = tmp_path / "log"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    lines = Lines(descriptor)
    handler = logs.install(lines)
    executor = Executor(limits)
    server = Webhooks(SETTINGS, ReloadingContext(source or directory, clients=clients), lines, executor, limits)
    lines.start(asyncio.get_running_loop())
    address, sock = bind(Address("127.0.0.1", 0))
    await server.start([sock])
    running = Served(server, address.port, authority, directory, log, lines)
    try:
        yield running
    finally:
        await running.close()
        await server.drain()
        sock.close()
        executor.close()
        lines.close()
        logs.remove(handler)
        os.close(descriptor)
