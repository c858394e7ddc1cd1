"""Requests that are answered where they are read, and by a known head as the parser would have them answered, in whichever pieces."""

import asyncio
import random
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.certs.context import ClientTrust
from dynamo_webhooks.webhooks import known_heads
from dynamo_webhooks.webhooks import server as module
from dynamo_webhooks.webhooks.known_heads import KnownHeads, read_head
from dynamo_webhooks.webhooks.limits import Bound
from dynamo_webhooks.webhooks.reply import UNSENT
from dynamo_webhooks.webhooks.routes import find_route
from dynamo_webhooks.webhooks.server import Webhooks
from dynamo_webhooks.webhooks.short_requests import TURN_SECONDS
from tests.hostile.settings import SEED
from tests.rows import run_each
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import QUICK, Served, post, served, until

BODY = review(graph(), uid="one")
LONG = BODY + b" " * 20_000
ROUTE = find_route(GRAPHS)
assert ROUTE is not None


@pytest.fixture
def by_head(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each look for a known head, whether there was one."""
    found: list[bool] = []
    look = KnownHeads.find

    def counted(self: KnownHeads, data: bytes) -> Any:
        known = look(self, data)
        found.append(known is not None)
        return known

    monkeypatch.setattr(KnownHeads, "find", counted)
    return found


@run_each(
    ("data", "size", "length"),
    [
        (post(GRAPHS, BODY), len(post(GRAPHS, BODY)) - len(BODY), len(BODY)),
        (post(GRAPHS, b"")[:-1], None, None),
        (b"POST / HTTP/1.1\r\nContent-Length: 07\r\n\r\n", 39, 7),
        (b"POST / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n", None, None),
        (b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", None, None),
        (b"POST / HTTP/1.1\r\nContent-Length: 1234567890\r\n\r\n", None, None),
        (b"POST / HTTP/1.1\r\nContent-Length: \r\n\r\n", None, None),
        (b"POST / HTTP/1.1\r\nContent-Length: 1 \r\n\r\n", None, None),
        (b"POST / HTTP/1.1\r\ncontent-length: 1\r\n\r\n", None, None),
        (b"POST / HTTP/1.1\r\n\r\n\r\nContent-Length: 1\r\n\r\n", None, None),
        (b"\r\nContent-Length: 1", None, None),
        (b"POST / HTTP/1.1\r\nA: " + b"a" * 1024 + b"\r\nContent-Length: 1\r\n\r\n", None, None),
        (b"", None, None),
    ],
)
def test_a_head_is_read_in_one_spelling(data: bytes, size: int | None, length: int | None) -> None:
    head = read_head(data)
    assert (head and head.size, head and head.length) == (size, length)


@pytest.mark.interpreted
def test_few_heads_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_heads, "_MOST", 3)
    heads = KnownHeads()
    assert ROUTE is not None
    for number in range(4):
        head = read_head(post(f"/{number}", b"x"))
        assert head is not None
        heads.learn(head, ROUTE)
    assert [heads.find(post(f"/{number}", b"abc")) is not None for number in range(4)] == [False, False, False, True]
    assert heads.find(post("/3", b"abc")) == (ROUTE, b"abc")
    assert heads.find(post("/3", b"abc") + b"d") is None


async def test_a_head_is_known_to_all_connections(tmp_path: Path, by_head: list[bool]) -> None:
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        first = await client.post(GRAPHS, BODY)
        assert by_head == []  # a connection begins with the parser
        second, long = await client.post(GRAPHS, BODY), await client.post(GRAPHS, LONG)
        assert (first.status, first.body, first.body) == (200, second.body, long.body)
        other = await running.connect()
        assert [(await other.post(GRAPHS, b"{"[:1])).status, (await other.post(GRAPHS, b"[")).status] == [400, 400]
        assert (await other.post(GRAPHS, BODY)).body == first.body
        assert by_head == [True, True, True, True]
        assert running.server.meter.callers == {(GRAPHS, "unverified"): 6}
    lines = [line for line in running.log() if line["logger"] == "access"]
    assert [line["code"] for line in lines] == [200, 200, 200, 400, 400, 200]


async def test_what_is_not_whole_is_parsed_and_the_next_head_is_known_again(tmp_path: Path, by_head: list[bool]) -> None:
    request = post(GRAPHS, BODY)
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        await client.post(GRAPHS, BODY)
        [connection] = running.server.connections.open
        for cut in (-1, -len(BODY), -200):  # the head in one piece
            connection.data_received(request[:cut])
            connection.data_received(request[cut:])
            assert (await client.answer()).json["response"]["allowed"]
            assert (await client.post(GRAPHS, BODY)).json["response"]["allowed"]
        assert by_head == [False, True] * 3
        by_head.clear()
        connection.data_received(request + request[:40])
        assert (await client.answer()).json["response"]["allowed"]
        connection.data_received(request[40:])
        assert (await client.answer()).json["response"]["allowed"]
        assert (await client.post(GRAPHS, BODY)).json["response"]["allowed"]
        assert by_head == [False], "from here on the parser alone knows where requests begin"


async def test_a_traced_request_and_one_that_ends_its_connection_are_not_known(tmp_path: Path, by_head: list[bool]) -> None:
    trace = f"traceparent: 00-{'a' * 32}-{'b' * 16}-01"
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        for more in ((trace,), (trace,), ("Connection: close",)):
            assert (await client.post(GRAPHS, BODY, "application/json", *more)).status == 200
        assert await client.closed()
        assert by_head == [False, False]
    assert [line["traceparent"] for line in running.log() if "traceparent" in line] == [trace.partition(" ")[2]] * 2


async def test_a_draining_server_ends_the_connection_of_a_known_head(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        await client.post(GRAPHS, BODY)
        running.server._draining = True
        assert (await client.post(GRAPHS, BODY)).headers["connection"] == "close"
        assert await client.closed()


async def test_a_caller_who_may_no_longer_ask_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        assert (await client.post(GRAPHS, BODY)).status == 200
        running.server._callers._trust = ClientTrust(tmp_path / "no-authorities", frozenset())
        found = await client.post(GRAPHS, BODY)
        assert (found.status, found.headers["connection"]) == (403, "close")
        assert await client.closed()
        assert running.server.meter.callers[GRAPHS, "unverified"] == 2


class Wire(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.ended = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self.ended

    def close(self) -> None:
        self.ended = True

    abort = close


async def _written(running: Served, pieces: list[bytes]) -> tuple[bytes, bool]:
    """What a connection answers to pieces that come one after the other, without what changes with the clock; and whether it ends."""
    wire, connection = Wire(), running.server.connections.make("127.0.0.1")
    connection.connection_made(wire)
    await asyncio.sleep(0)
    for piece in pieces:
        if not wire.ended:
            connection.data_received(piece)
        for _ in range(6):
            await asyncio.sleep(0)
    for _ in range(30):
        await asyncio.sleep(0)
    ended = wire.ended
    connection.connection_lost(None)
    await asyncio.sleep(0)
    return re.sub(rb"Date: [^\r]*\r\n", b"", wire.written), ended


def _requests(draw: random.Random) -> bytes:
    """One or more requests, most of them as they should be, some damaged where heads are compared."""
    found = b""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        body = draw.choice((BODY, LONG, b"[", b"", b"{}", post(GRAPHS, BODY)))
        data = post(draw.choice((GRAPHS, GRAPHS, "/convert", "/none")), body, *draw.choice(((), (), ("text/plain",))))
        match draw.randrange(14):
            case 0:
                data = data.replace(b"Content-Length", draw.choice((b"content-length", b"Content-Length: 1\r\nContent-Length", b"X")), 1)
            case 1:
                data = data.replace(b"Content-Length", b"Transfer-Encoding: chunked\r\nContent-Length", 1)
            case 2:
                data = data.replace(b"\r\n", b"\n", draw.randrange(1, 5))
            case 3:
                data = data.replace(b"POST", draw.choice((b"GET", b"HEAD", b"\r\nPOST")), 1)
            case 4:
                data = data.replace(b"Length: ", draw.choice((b"Length: 0", b"Length: 9", b"Length:  ")), 1)
            case 5:
                at = draw.randrange(len(data))
                data = data[:at] + bytes([draw.randrange(256)]) + data[at + draw.randrange(2) :]
            case _:
                pass
        found += data
    return found


async def test_answers_are_those_of_the_parser_whatever_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_head: list[bool]) -> None:
    draw = random.Random(f"{SEED}/heads")  # noqa: S311 - nothing here is a secret
    async with served(tmp_path, QUICK) as running:
        for _ in range(150):
            pieces: list[bytes] = [post(GRAPHS, BODY)]
            for _ in range(draw.randrange(1, 5)):
                data = _requests(draw)
                cuts = sorted(draw.randrange(len(data) + 1) for _ in range(draw.choice((0, 0, 0, 1, 2))))
                pieces += [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if begin < end]
            with monkeypatch.context() as parsed:
                parsed.setattr(Webhooks, "_by_head", lambda *_: None)
                parsed.setattr(Webhooks, "_at_once", lambda *_: None)
                wanted = await _written(running, pieces)
            assert await _written(running, pieces) == wanted, f"HOSTILE_SEED={SEED}: {pieces!r}"
    assert sum(by_head) > 20


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the requests that took the way of those that wait."""
    paths: list[str] = []
    handle = Webhooks._handle

    async def counted(self: Webhooks, request: Any) -> Any:
        paths.append(request.path)
        return await handle(self, request)

    monkeypatch.setattr(Webhooks, "_handle", counted)
    return paths


async def test_a_whole_request_is_answered_where_it_is_read(tmp_path: Path, handled: list[str]) -> None:
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        assert (await client.post(GRAPHS, BODY)).json["response"]["allowed"]
        handled.clear()  # the first may have come before the connection's task had begun to wait
        for _ in range(3):
            assert (await client.post(GRAPHS, BODY)).json["response"]["allowed"]
        assert (await client.post(GRAPHS, b"[")).status == 400
        assert handled == []
        assert (await client.post(GRAPHS, BODY, "text/plain")).status == 415  # its body is not read
        assert await client.closed()
        assert handled == [GRAPHS]


async def test_others_take_their_turn(tmp_path: Path, handled: list[str]) -> None:
    request = post(GRAPHS, BODY)
    async with served(tmp_path, QUICK) as running:
        client = await running.connect()
        client.send(request[:-9])
        await until(lambda: handled == [GRAPHS])
        client.send(request[-9:])  # in two pieces
        assert (await client.answer()).json["response"]["allowed"]
        client.send(request + request)  # two that came together
        assert [(await client.answer()).json["response"]["allowed"] for _ in range(2)] == [True, True]
        assert handled == [GRAPHS] * 3
        running.server._short_requests._spent = TURN_SECONDS  # this turn of the loop has no time left
        assert (await client.post(GRAPHS, BODY)).json["response"]["allowed"]
        assert handled == [GRAPHS] * 4
        assert (await client.post(GRAPHS, BODY, "application/json", "Connection: close")).json["response"]["allowed"]
        assert await client.closed()


async def test_an_error_is_answered_and_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(tmp_path, QUICK) as running:
        new, known = await running.connect(), await running.connect()
        await known.post(GRAPHS, BODY)
        monkeypatch.setattr(module, "answer", lambda *_: 1 / 0)
        for client in (new, known):
            found = await client.post(GRAPHS, BODY)
            assert (found.status, found.headers["connection"]) == (500, "close")
            assert await client.closed()
        monkeypatch.undo()
        other = await running.connect()
        assert (await other.post(GRAPHS, BODY)).json["response"]["allowed"]
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
        assert UNSENT < most < 2 * UNSENT
        await until(lambda: running.server.meter.bounds.get(Bound.WRITE_SECONDS))
