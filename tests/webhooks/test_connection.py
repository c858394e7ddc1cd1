"""A connection reads the requests that a strict reader of HTTP reads in the same bytes, in whatever pieces they come, or refuses them."""

import asyncio
import os
import random
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import h11
import pytest

from dynamo_webhooks.webhooks import jobs
from dynamo_webhooks.webhooks.connection import MAX_UNSENT_BYTES, Connection
from dynamo_webhooks.webhooks.connections import Connections
from dynamo_webhooks.webhooks.http1 import Head, HeadReader, UnreadableError
from dynamo_webhooks.webhooks.limits import Bound, Limits
from dynamo_webhooks.webhooks.reply import Reply
from dynamo_webhooks.webhooks.service import Service
from dynamo_webhooks.webhooks.short_requests import TURN_SECONDS
from tests.hostile.settings import SEED
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import QUICK, post, served, until
from tests.webhooks.wire import Wire

BODY: Final = review(graph(), uid="one")
STREAMS: Final = int(os.environ.get("HOSTILE_STREAMS", "1000"))  # `make nightly` tries 20,000


class Request(NamedTuple):
    """A request as somebody read it."""

    method: bytes
    target: str
    body: bytes


class Noted(Service[Connection]):
    """A service that notes the requests that it is given, and answers each."""

    small_body = 40

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def begin(self, _connection: Connection, head: Head) -> Reply | None:
        """Every seventh target wants no body."""
        return self._noted(head, b"unread") if head.target.endswith("7") else None

    def answer(self, connection: Connection, head: Head, body: bytes) -> Reply | Callable[[], Any]:
        """Some wait for their turn."""
        return partial(self._later, connection, head, body) if head.target.endswith("3") else self._noted(head, body)

    async def answer_long(self, connection: Connection, head: Head) -> None:
        """Reads to the end."""
        parts = []
        try:
            while part := await connection.read():
                parts.append(part)
        except UnreadableError:
            await connection.send(Reply(400, b"broken", closes=True))
        else:
            await connection.send(self._noted(head, b"".join(parts)))

    def body_seconds(self, _head: Head) -> float:
        """Longer than a test."""
        return 60

    def too_slow(self, _head: Head) -> Reply:
        """Never comes."""
        return Reply(408, b"")

    async def _later(self, connection: Connection, head: Head, body: bytes) -> None:
        await asyncio.sleep(0)
        await connection.send(self._noted(head, body))

    def _noted(self, head: Head, body: bytes) -> Reply:
        self.requests.append(Request(head.method, head.target, body))
        return Reply(200, b"")


def _reader(data: bytes) -> h11.Connection:
    """A reader of one request; unlike h11, it forgives empty lines before it, as HTTP asks."""
    made = h11.Connection(h11.SERVER)
    while data.startswith(b"\r\n"):
        data = data[2:]
    made.receive_data(data)
    return made


def by_h11(data: bytes) -> list[Request]:
    """The requests in a stream, as h11 reads them, until one ends the connection or isn't HTTP."""
    requests: list[Request] = []
    reader = _reader(data)
    request: h11.Request | None = None
    body = b""
    try:
        while True:
            match reader.next_event():
                case h11.Request() as request:
                    body = b""
                    if request.target.endswith(b"7") and _has_body(request):  # which is answered before its body has come
                        return [*requests, Request(request.method, request.target.decode("latin-1"), b"unread")]
                case h11.Data(data=part):
                    body += part
                case h11.EndOfMessage():
                    assert request is not None
                    target = request.target.decode("latin-1")
                    requests.append(Request(request.method, target, b"unread" if target.endswith("7") else body))
                    reader.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
                    reader.send(h11.EndOfMessage())
                    if reader.our_state is not h11.DONE:
                        return requests
                    reader = _reader(reader.trailing_data[0])
                case _:  # more would have to come, or another protocol
                    return requests
    except (h11.RemoteProtocolError, h11.LocalProtocolError):
        return requests


def _has_body(request: h11.Request) -> bool:
    headers = dict(request.headers)
    return b"transfer-encoding" in headers or int(headers.get(b"content-length", 0)) > 0


async def by_us(pieces: list[bytes], draw: random.Random) -> tuple[list[Request], Wire]:
    """The requests in a stream that comes in pieces, as a connection reads them, and what it answers."""
    noted, wire = Noted(), Wire()
    connections = Connections(noted, Limits(), lambda _bound: None, lambda _name: None)
    assert connections.admit("127.0.0.1")
    connection = connections.make("127.0.0.1")
    connection.connection_made(wire)
    for piece in pieces:
        if not wire.ended:
            connection.data_received(piece)
        if draw.random() < 0.5:
            await asyncio.sleep(0)
    before = -1
    while before != len(wire.written):  # a turn without an answer is the end
        before = len(wire.written)
        for _ in range(8):
            await asyncio.sleep(0)
    connection.connection_lost(None)
    await asyncio.sleep(0)
    assert not connections.open
    return noted.requests, wire


def _body(draw: random.Random) -> bytes:
    return draw.choice(
        (b"", b"{}", b"\r\n\r\n", post("/x", b"y"), b"0\r\n\r\n", bytes(draw.randrange(256) for _ in range(draw.randrange(120))))
    )


def _chunks(draw: random.Random, body: bytes) -> bytes:
    chunks = b""
    while body:
        size = draw.randrange(1, len(body) + 1)
        extension = draw.choice((b"", b"", b";a", b';a="b"'))
        chunks += draw.choice((b"%x", b"%X", b"0%x")) % size + extension + b"\r\n" + body[:size] + b"\r\n"
        body = body[size:]
    return chunks + draw.choice((b"0", b"00", b"0;x")) + b"\r\n" + draw.choice((b"", b"", b"T: u\r\n")) + b"\r\n"


def _request(draw: random.Random) -> bytes:
    body = _body(draw)
    lines = [b"Host: s", b"Content-Type: application/json", b"X: " + draw.choice((b"", b"y", b"a, b"))]
    lines += draw.choice(([], [], [], [b"Connection: close"], [b"Connection: keep-alive"], [b"Expect: 100-continue"], [b"Upgrade: h2c"]))
    chunked = draw.random() < 0.4
    if chunked:
        lines.append(draw.choice((b"Transfer-Encoding: chunked", b"transfer-encoding:  chunked")))
        body = _chunks(draw, body)
    elif body or draw.random() < 0.5:
        lines.append(draw.choice((b"Content-Length: %d", b"content-length:%d", b"Content-Length: 0%d")) % len(body))
    draw.shuffle(lines)
    method, version = draw.choice((b"POST", b"POST", b"GET", b"HEAD")), draw.choice((b"1.1",) * 9 + (b"1.0",))
    return method + b" /%d HTTP/" % draw.randrange(20) + version + b"\r\n" + b"\r\n".join(lines) + b"\r\n\r\n" + body


def _damaged(draw: random.Random, data: bytes) -> bytes:
    at = draw.randrange(len(data))
    match draw.randrange(7):
        case 0:
            return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + draw.choice((b"\r", b"\n", b" ", b"\t", b"\x00", b",", b"chunked")) + data[at:]
        case 2:
            return data[:at] + data[at + draw.randrange(1, 4) :]
        case 3:
            return data.replace(b"\r\n", b"\n", draw.randrange(1, 4))
        case 4:
            return data.replace(b"Content-Length: ", b"Content-Length: 1\r\nContent-Length: ", 1)
        case 5:
            return data.replace(b"\r\n", b"\r\nTransfer-Encoding: chunked\r\n", 1)
        case _:
            line = data.split(b"\r\n")[draw.randrange(data.count(b"\r\n") + 1)]
            return data[:at] + line + b"\r\n" + data[at:]


async def test_requests_are_those_that_a_strict_reader_finds_or_are_refused() -> None:
    read = refused = 0
    for number in range(STREAMS):
        draw = random.Random(f"{SEED}/streams/{number}")  # noqa: S311 - no secret
        data = b"".join(_request(draw) for _ in range(draw.choice((1, 1, 2, 3, 5))))
        if draw.random() < 0.4:  # heads that differ by their length alone
            data = b"".join(post("/1", _body(draw)) for _ in range(draw.randrange(2, 5))) + data
        for _ in range(draw.choice((0, 0, 1, 1, 2, 3))):
            data = _damaged(draw, data)
        cuts = sorted(draw.randrange(len(data) + 1) for _ in range(draw.choice((0, 1, 3, 20))))
        pieces = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if begin < end]
        wanted, (requests, wire) = by_h11(data), await by_us(pieces, draw)
        assert requests == wanted[: len(requests)], f"HOSTILE_SEED={SEED}, stream {number}: {data!r}"
        assert len(requests) == len(wanted) or wire.ended, f"HOSTILE_SEED={SEED}, stream {number}, unanswered: {data!r}"
        assert wire.written.count(b"HTTP/1.1 200") == len(requests)
        read += len(requests)
        refused += b"HTTP/1.1 400" in wire.written
    assert read > STREAMS / 2
    assert refused > STREAMS / 10


def test_a_head_that_comes_again_is_read_as_by_a_new_reader() -> None:
    """With another length, or with what isn't one, and in two pieces."""
    first = post("/1", b"x" * 7)
    heads = [
        first,
        *(
            first.replace(b": 7\r", b": %b\r" % digits)
            for digits in (b"0", b"007", b"12345", b"999999999", b"+7", b"7 ", b"", b"x", b"7,7")
        ),
    ]
    for head in (*heads, first.replace(b"/1", b"/2"), first.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), first[:-1]):
        for cut in range(len(first)):
            known = HeadReader(Limits())
            assert known.feed(first)[0] is not None
            assert _read(known, head, cut) == _read(HeadReader(Limits()), head, cut), (head, cut)


def test_half_an_empty_line_before_a_head_is_refused_and_a_whole_one_forgiven() -> None:
    head = post("/1", b"x" * 7)
    for line, wanted in ((b"\r", ("refused",)), (b"\n", ("refused",)), (b"\r\n", _read(HeadReader(Limits()), head, 0))):
        for known in (False, True):
            reader = HeadReader(Limits())
            if known:
                assert reader.feed(head)[0] is not None
            assert _read(reader, line + head, len(line)) == wanted


def _read(reader: HeadReader, data: bytes, cut: int) -> tuple[Any, ...]:
    try:
        head, rest = reader.feed(data[:cut]) if cut else (None, b"")
        if head is None:
            head, rest = reader.feed(data[cut:])
    except UnreadableError:
        return ("refused",)
    return (head.method, head.target, head.content_length, head.is_last, rest) if head is not None else ("waits",)


async def test_a_whole_request_is_answered_where_it_is_read(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK) as running:
        wire, connection = Wire(), running.server.connections.make("127.0.0.1")
        connection.connection_made(wire)
        for number in range(1, 4):
            connection.data_received(post(GRAPHS, BODY))
            await asyncio.sleep(0)  # a turn of the loop, which has time for a request
            assert wire.written.count(b'"allowed":true') == number
        connection.connection_lost(None)


async def test_a_request_waits_while_the_turn_of_the_loop_has_no_time_left(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK) as running:
        wire, connection = Wire(), running.server.connections.make("127.0.0.1")
        connection.connection_made(wire)
        running.server._jobs.short_requests._spent = TURN_SECONDS
        connection.data_received(post(GRAPHS, BODY) * 2)
        assert wire.written == b""
        await until(lambda: wire.written.count(b'"allowed":true') == 2)
        connection.connection_lost(None)


async def test_a_draining_server_says_that_it_ends_the_connection(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        await client.post(GRAPHS, BODY)
        running.server.connections.begin_drain()
        assert (await client.post(GRAPHS, BODY)).headers["connection"] == "close"
        assert await client.closed()
        assert (await (await running.connect()).post(GRAPHS, BODY)).headers["connection"] == "close"


async def test_a_trace_is_logged(tmp_path: Path) -> None:
    trace = f"traceparent: 00-{'a' * 32}-{'b' * 16}-01"
    async with served(tmp_path, QUICK) as running:
        assert (await (await running.connect()).post(GRAPHS, BODY, "application/json", trace)).status == 200
    assert [line["traceparent"] for line in running.log() if "traceparent" in line] == [trace.partition(" ")[2]]


class _Broken(defaultdict[Any, Any]):
    """Counts nothing."""

    def __getitem__(self, _: object) -> Any:
        return 1 / 0


@pytest.mark.parametrize("name", [pytest.param("answer", marks=pytest.mark.interpreted), "callers", "requests"])
async def test_an_error_is_answered_and_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Wherever it comes from, and also where the request waits for its turn."""
    async with served(tmp_path, QUICK) as running:
        for spent in (0.0, TURN_SECONDS):
            client = await running.connect()
            await client.post(GRAPHS, BODY)
            broken: Any = _Broken() if name != "answer" else lambda *_: 1 / 0
            monkeypatch.setattr(running.server.meter if name != "answer" else jobs, name, broken)
            running.server._jobs.short_requests._spent = spent
            reply = await client.post(GRAPHS, BODY)
            assert (reply.status, reply.headers["connection"]) == (500, "close")
            assert await client.closed()
            monkeypatch.undo()
        assert (await (await running.connect()).post(GRAPHS, BODY)).json["response"]["allowed"]
    lines = [each for each in running.log() if each["level"] == "error"]
    assert ["ZeroDivisionError" in str(line) for line in lines] == [True, True]


async def test_a_client_that_takes_no_answer_has_a_bounded_number_of_them(tmp_path: Path) -> None:
    """One request after the other, each whole: what lies here for a client that doesn't read stays below the bound of a connection.

    The requests don't come through a socket: Linux drops what acknowledges a client's own bytes where it has no room for answers.
    """
    async with served(tmp_path, QUICK._replace(write_seconds=0.5)) as running:
        client = await running.connect()
        assert (await client.post(GRAPHS, BODY)).status == 200
        [connection] = running.server.connections.open
        transport: Any = connection.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        most, end = 0, time.monotonic() + 60
        while not running.server.meter.bounds.get(Bound.WRITE_SECONDS) and time.monotonic() < end:
            if transport.is_reading():
                connection.data_received(post(GRAPHS, b"["))
            await asyncio.sleep(0)
            most = max(most, transport.get_write_buffer_size())
        assert MAX_UNSENT_BYTES < most < 2 * MAX_UNSENT_BYTES
        await until(lambda: running.server.meter.bounds.get(Bound.WRITE_SECONDS))
