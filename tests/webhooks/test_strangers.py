"""Clients that mean no good, or speak something else: each is answered or dropped, nothing of it stays, and others are served on."""

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp.web import RequestHandler

from dynamo_webhooks.webhooks import listener
from dynamo_webhooks.webhooks.limits import Bound
from dynamo_webhooks.webhooks.listener import AT_ONCE, TlsQueue
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Client, Served, served, until

BODY: Final = review(graph())
MANY: Final = 150_000  # requests, whose answers a kernel doesn't keep on the way
CHUNKED: Final = f"POST {GRAPHS} HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made
        assert (await (await made.connect()).post(GRAPHS, BODY)).status == 200
        assert not any(line["level"] == "error" for line in made.log())


async def all_of(client: Client) -> bytes:
    """What comes until the connection ends."""
    async with asyncio.timeout(DEADLINE):
        try:
            return await client.reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize(
    "data",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        b"GET / HTTP/0.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost : s\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\n folded: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 99999999999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 0x10\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\x00\r\n\r\n",
    ],
    ids=lambda data: str(data)[:40],
)
async def test_what_is_no_request_is_refused(running: Served, data: bytes) -> None:
    client = await running.connect()
    client.send(data)
    head, _, _ = (await all_of(client)).partition(b"\r\n")
    assert head.split()[1:2] in ([b"400"], [b"404"], [b"415"]), head


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"-1\r\n{}\r\n0\r\n\r\n",
        b"ffffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}}}}}\r\n0\r\n\r\n",
        b"2" + b" " * 20_000 + b"\r\n{}\r\n0\r\n\r\n",
        b"2;" + b"x" * 20_000 + b"\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}\r\n0\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
    ],
    ids=lambda body: str(body)[:30],
)
async def test_chunks_that_lie_are_no_fault_of_ours(running: Served, body: bytes) -> None:
    client = await running.connect()
    client.send(CHUNKED + body + b"GET / HTTP/1.1\r\nHost: s\r\n\r\n")
    async with asyncio.timeout(DEADLINE):
        head = await client.reader.readuntil(b"\r\n")
    assert head.split()[1] in (b"200", b"400", b"413"), head
    client.writer.transport.abort()
    await running.gone()


async def test_a_body_of_ever_so_small_chunks_is_read(running: Served) -> None:
    client = await running.connect()
    client.send(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n")
    assert (await client.answer()).status == 200
    assert (await client.post(GRAPHS, BODY)).status == 200


@pytest.mark.parametrize(
    "flood",
    [b"1\r\n \r\n" * 300_000, b"1;" + b"x" * 2_000_000, b"20\r\n" + b" " * 32 + b"\r\n" + b"1\r\n \r\n" * 300_000],
    ids=["chunks of a byte", "an extension", "later"],
)
@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: s\r\n\r\n" * 200], ids=["alone", "behind others"])
async def test_chunks_that_are_next_to_nothing_but_framing_keep_nobody_waiting(
    running: Served, monkeypatch: pytest.MonkeyPatch, flood: bytes, before: bytes
) -> None:
    """The parser takes a microsecond for each chunk; of such a body it sees a small part."""
    seen = 0
    received = RequestHandler.data_received

    def counted(connection: RequestHandler, data: bytes) -> None:
        nonlocal seen
        seen += len(data)
        received(connection, data)

    monkeypatch.setattr(RequestHandler, "data_received", counted)
    client = await running.connect()
    client.send(before + CHUNKED + flood)
    found = await all_of(client)
    assert found.count(b"HTTP/1.1 404") == before.count(b"GET")
    assert found.rpartition(b"HTTP/1.1 ")[2].startswith(b"400")
    assert len(before) < seen < len(before) + 100_000
    await running.gone()


async def test_strange_expectations_are_not_met_and_do_no_harm(running: Served) -> None:
    client = await running.connect()
    assert (await client.post(GRAPHS, BODY, "application/json", "Expect: 200-ok")).status == 200


async def test_requests_without_end_from_a_client_that_reads_nothing_are_not_collected(tmp_path: Path) -> None:
    """They wait on its side; the connection goes when it takes nothing for too long."""
    async with served(tmp_path, QUICK._replace(write_seconds=0.5)) as running:
        client = await running.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(b"GET / HTTP/1.1\r\nHost: s\r\n\r\n" * MANY)
        await until(lambda: running.server.meter.bounds.get(Bound.WRITE_SECONDS))
        assert sum(sum(series[1:]) for series in running.server.meter.requests.values()) < MANY
        client.writer.transport.abort()
        await running.gone()
        assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200


async def test_garbage_instead_of_a_handshake_costs_a_connection(running: Served) -> None:
    """Beside one that is in use, and in the middle of what was good until then."""
    other = await running.connect()
    for data in (b"\x00" * 500, b"\x16\x03\x03\xff\xff" + b"x" * 500, b"\x80\x2e\x01\x03\x01", b"\x15\x03\x03\x00\x02\x02\x28"):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(data)
        writer.write_eof()
        async with asyncio.timeout(DEADLINE):
            with contextlib.suppress(ConnectionError):
                assert b"HTTP/" not in await reader.read()
        writer.transport.abort()
        assert (await other.post(GRAPHS, BODY)).status == 200
    torn = await running.connect()
    raw: socket.socket = torn.writer.get_extra_info("socket")
    with socket.socket(fileno=socket.dup(raw.fileno())) as below:
        below.send(b"\x17\x03\x03\x00\x20" + b"z" * 32)  # a record that nobody has encrypted
        assert b"HTTP/1.1 200" not in await all_of(torn)
    assert (await other.post(GRAPHS, BODY)).status == 200


async def test_who_has_begun_most_handshakes_loses_the_oldest(tmp_path: Path) -> None:
    """One who takes longer than the many of a stranger need is not in their way."""
    async with served(tmp_path, QUICK._replace(handshakes=3)) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        strangers = [await asyncio.open_connection("127.0.0.1", running.port, local_addr=("127.0.0.2", 0)) for _ in range(10)]
        await until(lambda: running.server.meter.bounds[Bound.HANDSHAKES] == 8)
        await writer.start_tls(running.trusting())
        assert (await Client(reader, writer).post(GRAPHS, BODY)).status == 200
        for _, each in [(reader, writer), *strangers]:
            each.transport.abort()


async def test_a_client_cannot_have_keys_made_again_and_again(running: Served) -> None:
    """Renegotiation, which costs a server much more than a client, is not offered under TLS 1.2 either."""
    context = ssl.create_default_context()
    running._authority.configure_trust(context)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with asyncio.timeout(DEADLINE):
        client = Client(*await asyncio.open_connection("127.0.0.1", running.port, ssl=context))
    assert client.writer.get_extra_info("ssl_object").version() == "TLSv1.2"
    assert (await client.post(GRAPHS, BODY)).status == 200
    client.writer.transport.abort()


def descriptors() -> int:
    """How many this process has open, the server's among them."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts file descriptors in /proc")
async def test_a_thousand_clients_that_never_speak_cost_next_to_nothing(tmp_path: Path) -> None:
    """They are let go one by one as others come, leave no descriptor behind, and keep nobody out."""
    async with served(tmp_path, QUICK._replace(handshakes=20)) as running:
        speaker = await running.connect()
        assert (await speaker.post(GRAPHS, BODY)).status == 200
        before = descriptors()
        for _ in range(10):
            silent = [socket.create_connection(("127.0.0.1", running.port), timeout=DEADLINE) for _ in range(100)]
            assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200
            assert (await speaker.post(GRAPHS, BODY)).status == 200
            for sock in silent:
                sock.close()
        await until(lambda: descriptors() < before + 60)
        assert running.server.meter.bounds[Bound.HANDSHAKES] > 0


def hello() -> bytes:
    """The first message of a client, as a recording of it has it."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(back, there, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return there.read()


async def test_a_flood_of_first_messages_keeps_no_other_client_waiting(tmp_path: Path) -> None:
    """Each costs its sender nothing, and the server a millisecond; another client comes before most of those that came before it."""
    began: list[str] = []

    class Seen(TlsQueue):
        async def _greet(self, greeting: Any) -> None:
            began.append(greeting.client)
            await super()._greet(greeting)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listener, "TlsQueue", Seen)
        async with served(tmp_path, QUICK._replace(handshakes=100)) as running:
            recorded, flood = hello(), []
            for _ in range(90):
                sock = socket.create_connection(("127.0.0.1", running.port), timeout=DEADLINE, source_address=("127.0.0.2", 0))
                sock.sendall(recorded)
                flood.append(sock)
            client = await running.connect()
            assert running.server.reasons() == []  # a queue is no reason, as long as it moves
            place = began.index("127.0.0.1")
            assert (await client.post(GRAPHS, BODY)).status == 200
            await until(lambda: len(began) == 91)
            for sock in flood:
                sock.close()
    assert place <= 4 * AT_ONCE


async def test_a_listener_that_accepts_nothing_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it goes on."""
    monkeypatch.setattr(listener, "STUCK_SECONDS", 0.05)
    async with served(tmp_path) as running:
        [stuck] = running.server._listeners
        asyncio.get_running_loop().remove_reader(stuck._sock)
        with socket.create_connection(("127.0.0.1", running.port), timeout=DEADLINE):
            await until(running.server.reasons)
            [reason] = running.server.reasons()
            assert re.fullmatch(r"no connection has been accepted for \d+ s, and some wait", reason)
            stuck._resume()
            await until(lambda: not running.server.reasons())


async def test_handshakes_that_make_no_progress_are_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where some wait."""
    monkeypatch.setattr(listener, "STUCK_SECONDS", 0.05)
    async with served(tmp_path) as running:
        queue = running.server._listeners[0]._handshakes
        assert queue is not None
        monkeypatch.setattr(queue, "_begin", lambda: None)
        with socket.create_connection(("127.0.0.1", running.port), timeout=DEADLINE) as sock:
            sock.sendall(hello())
            await until(running.server.reasons)
            [reason] = running.server.reasons()
            assert re.fullmatch(r"no handshake has been computed for \d+ s, and some wait", reason)
            monkeypatch.undo()
            queue._begin()
            await until(lambda: not running.server.reasons())


async def test_first_messages_that_wait_are_bounded_and_leave_nothing_behind(tmp_path: Path) -> None:
    """Of one client, in all; parts of one as well."""
    async with served(tmp_path, QUICK._replace(handshakes=10, client_connections=20)) as running:
        other = await running.connect()
        flood = []
        for number in range(60):
            sock = socket.create_connection(("127.0.0.1", running.port), timeout=DEADLINE, source_address=("127.0.0.2", 0))
            sock.sendall(hello()[: 40 if number % 2 else None])
            flood.append(sock)
        assert (await other.post(GRAPHS, BODY)).status == 200
        assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200
        assert running.server.connections._of["127.0.0.2"] <= 20
        for sock in flood:
            sock.close()
        await until(lambda: running.server.connections._all == 2)
