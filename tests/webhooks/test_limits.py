"""Every bound of the wire: somebody meets it, is told so or dropped, others are served on, and a metric counts it."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from dynamo_webhooks.webhooks.connection import Connection
from dynamo_webhooks.webhooks.limits import Bound, Limits
from dynamo_webhooks.webhooks.metrics import export
from tests.kube.timing import SettlingLoop
from tests.webhooks.requests import GRAPHS, conversion, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Served, post, served, until

BODY: Final = review(graph())
DEEP: Final = review({**graph(), "spec": {"deep": 0}}).replace(b'"deep":0', b'"deep":' + b"[" * 3_000 + b"]" * 3_000)
MANY: Final = conversion([graph()] * 1_000)  # the answer is longer than what is kept on the way


class Met(NamedTuple):
    """How a bound is met: limits that make it short, what a client does, and how often it is counted."""

    limits: Limits
    act: Callable[[Served], Awaitable[None]]
    times: int = 1


async def answered(running: Served, path: str, body: bytes, status: int) -> None:
    """Sends a whole request and wants a status."""
    assert (await (await running.connect()).post(path, body)).status == status


async def too_slow(running: Served, path: str = GRAPHS) -> None:
    client = await running.connect()
    client.send(post(path, BODY)[:-1])
    reply = await client.answer()
    assert (reply.status, reply.headers["connection"], "must arrive within" in reply.json["message"]) == (408, "close", True)


async def turns(running: Served) -> None:
    """Two large bodies for one place."""
    holder, other = await running.connect(), await running.connect()
    whole = post(GRAPHS, BODY)
    holder.send(whole[:-1])
    await until(lambda: running.server.snapshot().reading.get(GRAPHS) == 1)
    other.send(whole[:-1])
    await until(lambda: running.server.snapshot().reading.get(GRAPHS) == 2)
    holder.send(whole[-1:])
    other.send(whole[-1:])
    assert ((await holder.answer()).status, (await other.answer()).status) == (200, 200)


async def pace(running: Served) -> None:
    """A client that sends nothing more, while another one waits for its room."""
    slow, other = await running.connect(), await running.connect()
    slow.send(post(GRAPHS, BODY)[:-1])
    await until(lambda: running.server.snapshot().reading.get(GRAPHS) == 1)
    assert (await other.post(GRAPHS, BODY)).status == 200
    assert (await slow.answer()).status == 408
    slow.writer.transport.abort()  # the server would wait a while for what it may still send
    del running.server.meter.bounds[Bound.LARGE_BODIES]  # which it must have met too


async def silence(running: Served) -> None:
    assert await (await running.connect()).closed()


async def strange(running: Served) -> None:
    """A header line that is too long, headers without end, and no HTTP at all."""
    heads = (
        b"GET / HTTP/1.1\r\nA: " + b"x" * 9_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        b"nonsense\r\n\r\n",
    )
    for head in heads:
        client = await running.connect()
        client.send(head)
        reply = await client.answer()
        assert (reply.status, reply.json["message"]) == (400, "the request can't be read as HTTP/1.1")


async def not_reading(running: Served) -> None:
    """A client that doesn't take its answer; the time that it has passes once the server waits for it."""
    client = await running.connect()
    assert (await client.post(GRAPHS, BODY)).status == 200
    [connection] = running.server.connections.open
    assert isinstance(connection, Connection)
    assert connection.transport is not None
    client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    client.send(post("/convert", MANY))
    await until(lambda: connection.writing_paused)
    assert running.server.meter.bounds == {}
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SettlingLoop)
    loop.ahead += running.server._limits.write_seconds
    await until(lambda: running.server.meter.bounds)
    client.writer.transport.abort()


async def crowd(running: Served) -> None:
    first = await running.connect()
    assert (await first.post(GRAPHS, BODY)).status == 200
    with contextlib.suppress(OSError):  # it may be refused before its handshake has ended on the client's side
        assert await (await running.connect()).closed()
    first.writer.transport.abort()
    await running.gone()


async def greetings(running: Served) -> None:
    """Clients that never get to the end of a handshake: those who come later push out the first."""
    silent = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(4)]
    for reader, _ in silent[:2]:
        async with asyncio.timeout(DEADLINE):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
    await answered(running, GRAPHS, BODY, 200)  # pushes out the third
    for _, writer in silent:
        writer.close()


async def never_ending(running: Served) -> None:
    client = await running.connect()
    client.send(post(GRAPHS, BODY)[:-1])
    await until(lambda: running.server.snapshot().reading.get(GRAPHS) == 1)
    async with asyncio.timeout(DEADLINE):
        await running.server.drain()
    assert await client.closed()


async def too_much_to_decode(running: Served) -> None:
    body = b'{"request":{"objects":[' + b'{"":{}},' * 500_000 + b"{}]}}"  # 150 MB as objects
    reply = await (await running.connect()).post("/convert", body)
    assert reply.status in (413, 503)  # the decoder says so, or its process ends
    assert "more memory" in reply.json["message"]


CASES: Final = {
    Bound.ADMISSION_BODY: Met(QUICK._replace(body=len(BODY)), partial(answered, path=GRAPHS, body=b" " * len(BODY + b" "), status=413)),
    Bound.CONVERSION_BODY: Met(QUICK._replace(conversion_body=1_999), partial(answered, path="/convert", body=b" " * 2_000, status=413)),
    Bound.DEPTH: Met(QUICK, partial(answered, path=GRAPHS, body=DEEP, status=200)),
    Bound.BODY_SECONDS: Met(QUICK._replace(body_seconds=0.2), too_slow),
    Bound.CONVERSION_SECONDS: Met(QUICK._replace(conversion_seconds=0.2, body_seconds=1.0), partial(too_slow, path="/convert")),
    Bound.LARGE_BODIES: Met(QUICK._replace(small_body=10, room=10), turns),
    Bound.PACE: Met(QUICK._replace(small_body=10, room=10, slow_seconds=0.05), pace),
    Bound.REQUEST_CPU: Met(
        QUICK._replace(request_cpu=0.01, conversion_cpu_seconds_per_mib=0.0), partial(answered, path="/convert", body=MANY, status=200)
    ),
    Bound.REQUEST_MEMORY: Met(QUICK._replace(request_memory=2**22), too_much_to_decode),
    Bound.HEAD_SECONDS: Met(QUICK._replace(head_seconds=3.0), silence),  # enough for a handshake, whatever else runs
    Bound.HEAD: Met(QUICK, strange, 3),
    Bound.WRITE_SECONDS: Met(QUICK._replace(write_seconds=10.0), not_reading),
    Bound.CONNECTIONS: Met(QUICK._replace(connections=1), crowd),
    Bound.HANDSHAKES: Met(QUICK._replace(handshakes=2), greetings, 3),
    Bound.DRAIN_SECONDS: Met(QUICK._replace(drain_seconds=0.1), never_ending),
}


def test_every_bound_is_tried() -> None:
    assert CASES.keys() == {*Bound} - {Bound.CLIENT_CERTIFICATE}  # which test_callers.py tries


@pytest.mark.parametrize(
    "bound", [pytest.param(bound, marks=[pytest.mark.own_process] if bound is Bound.REQUEST_MEMORY else []) for bound in CASES], ids=str
)
async def test_a_bound_is_counted_when_it_is_met_and_others_are_served_on(tmp_path: Path, bound: Bound) -> None:
    met = CASES[bound]
    async with served(tmp_path, met.limits) as running:
        await met.act(running)
        assert running.server.meter.bounds == {bound.value: met.times}
        text = export(running.server.snapshot(), {}).decode().splitlines()
        counts = {
            line.partition(" ")[0]: float(line.rpartition(" ")[2]) for line in text if line.startswith("dynamo_webhooks_bounds_met_total")
        }
        assert counts == {f'dynamo_webhooks_bounds_met_total{{bound="{each}"}}': met.times if each is bound else 0 for each in Bound}
        if bound is not Bound.DRAIN_SECONDS:
            await answered(running, GRAPHS, BODY, 200)


async def test_ordinary_requests_meet_no_bound(tmp_path: Path) -> None:
    async with served(tmp_path) as running:
        client = await running.connect()
        for path, body in ((GRAPHS, BODY), ("/convert", conversion([graph()])), (GRAPHS, b"no JSON"), ("/nowhere", BODY)):
            await client.post(path, body)
        assert running.server.meter.bounds == {}
