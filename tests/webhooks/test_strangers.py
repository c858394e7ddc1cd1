"""Clients that mean no good, or speak something else: each is answered or dropped, nothing of it stays, and others are served on."""

import asyncio
import contextlib
import gc
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import uvloop
from httptools import HttpRequestParser

from dynamo_webhooks.webhooks import http1, listener
from dynamo_webhooks.webhooks.connection import Connection
from dynamo_webhooks.webhooks.handshakes import MAX_HANDSHAKES, TlsQueue
from dynamo_webhooks.webhooks.limits import Bound
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Client, Served, post, served, until

BODY: Final = review(graph())
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

    class Counted:
        def __init__(self, events: object) -> None:
            self._parser = HttpRequestParser(events)

        def feed_data(self, data: bytes) -> None:
            nonlocal seen
            seen += len(data)
            self._parser.feed_data(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._parser, name)

    monkeypatch.setattr(http1, "HttpRequestParser", Counted)
    client = await running.connect()
    client.send(before + CHUNKED + flood)
    received = await all_of(client)
    assert received.count(b"HTTP/1.1 404") == before.count(b"GET")
    assert received.rpartition(b"HTTP/1.1 ")[2].startswith(b"400")
    assert len(before) < seen < len(before) + 100_000
    await running.gone()


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
    assert place <= 4 * MAX_HANDSHAKES


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


WHOLE: Final = post(GRAPHS, review(graph()))


async def leaves_in_the_middle(running: Served) -> None:
    """Of a body."""
    client = await running.connect()
    client.send(WHOLE[:-9])
    await until(lambda: running.server.snapshot().reading.get(GRAPHS) == 1)
    client.writer.transport.abort()


async def is_refused(running: Served, data: bytes, status: int) -> None:
    """It is answered before all of what it sends has been read, or could be."""
    client = await running.connect()
    client.send(data)
    assert (await client.answer()).status == status
    client.writer.transport.abort()


async def leaves_before_all_is_answered(running: Served) -> None:
    """Of many requests that were sent at once."""
    client = await running.connect()
    client.send(WHOLE * 200)
    await client.answer()
    client.writer.transport.abort()


async def leaves_with_a_request(running: Served) -> None:
    """Which the server has read, but not begun to answer."""
    client = await running.connect()
    client.send(WHOLE)
    await client.answer()
    (connection,) = (each for each in gc.get_objects() if isinstance(each, Connection))
    connection.data_received(WHOLE)
    connection.connection_lost(None)
    client.writer.transport.abort()


async def speaks_no_tls(running: Served) -> None:
    """Nor anything else."""
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):  # the server may close before it has read everything
            await reader.read()
    writer.transport.abort()


VISITS: Final = (
    leaves_in_the_middle,
    partial(is_refused, data=post(GRAPHS, b"").replace(b"Content-Length: 0", b"Content-Length: 99999999"), status=413),
    partial(is_refused, data=b"x" * 1_000_000, status=400),  # more than is read at once
    partial(is_refused, data=CHUNKED + b"2\r\n{}\r\nzz\r\n", status=400),  # in the midst of a body
    partial(is_refused, data=CHUNKED + b"1\r\n \r\n" * 50_000, status=400),
    leaves_before_all_is_answered,
    leaves_with_a_request,
    speaks_no_tls,
)


@pytest.mark.parametrize("visit", VISITS)
def test_nothing_of_a_connection_stays(tmp_path: Path, visit: Callable[[Served], Awaitable[None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as in production: others keep other things
        runner.run(_visited(tmp_path, visit))


async def _visited(tmp_path: Path, visit: Callable[[Served], Awaitable[None]]) -> None:
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, failure: failures.append(failure))
    async with served(tmp_path) as running:
        gc.collect()
        gc.disable()
        try:
            await visit(running)
            await running.gone()
            await until(lambda: not any(isinstance(each, Connection) for each in gc.get_objects()))
        finally:
            gc.enable()
    assert not failures
