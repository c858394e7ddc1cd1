"""`/convert` on a real server: long reviews beside admission, sizes, drains, the log and the metrics."""

import asyncio
import mmap
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object
from dynamo_webhooks.webhooks import convert
from dynamo_webhooks.webhooks.body_memory import ANSWER_FACTOR
from dynamo_webhooks.webhooks.limits import Bound, Limits
from dynamo_webhooks.webhooks.short_requests import TURN_SECONDS
from tests.webhooks.requests import GRAPHS, PRIVATE, conversion, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Client, post, served, until
from tests.webhooks.test_convert import MIXED, OBJECTS, numbered, of_kind


class Held:
    """Conversions that wait for the test's word, in processes that are forked after this was made."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._begun, self._go = folder / "begun", folder / "go"
        self._begun.mkdir()
        answer_into = convert.answer_into

        def held(body: Any, sink: convert.Sink, line: Line) -> Any:
            if isinstance(body, mmap.mmap):  # a long one
                (self._begun / str(os.getpid())).touch()
                while not self._go.exists():
                    time.sleep(0.001)
            return answer_into(body, sink, line)

        monkeypatch.setattr(convert, "answer_into", held)

    def begun(self) -> int:
        """How many have begun."""
        return len(list(self._begun.iterdir()))

    def go(self) -> None:
        self._go.touch()


LONG: Final = conversion([graph()] * 1_000)


async def test_reviews_are_answered_and_logged_without_values_and_the_connection_stays_usable(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        client = await server.connect()
        reply = await client.post("/convert", conversion(MIXED))
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        assert [obj["metadata"]["name"] for obj in reply.json["response"]["convertedObjects"]] == [obj["metadata"]["name"] for obj in MIXED]
        await client.post("/convert", conversion([graph(), of_kind("DynamoNothing")]))
        assert (await client.post(GRAPHS, review(graph()))).json["response"]["allowed"] is True
        lines = server.log()
    shown = ("msg", "allowed", "code", "objects", "path", "uid", "operation")
    assert [tuple(line[name] for name in shown) for line in lines if line["logger"] == "access" and line["path"] == "/convert"] == [
        ("converted", True, 200, len(MIXED), "/convert", "c-1", "CONVERT"),
        ("refused", False, 422, 2, "/convert", "c-1", "CONVERT"),
    ]
    assert PRIVATE not in str(lines)


async def test_a_conversion_may_be_longer_than_an_admission_review(tmp_path: Path) -> None:
    """As far as its length is declared; both bounds hold."""
    body = conversion([graph()] * 500)
    limits = QUICK._replace(body=len(body) // 2, small_body=100, conversion_body=len(body))
    async with served(tmp_path, limits) as server:
        client = await server.connect()
        assert len((await client.post("/convert", body)).json["response"]["convertedObjects"]) == 500
        assert (await client.post("/convert", body + b" ")).status == 413
        assert (await (await server.connect()).post(GRAPHS, body)).status == 413
        chunked = await server.connect()
        chunked.send(b"POST /convert HTTP/1.1\r\nHost: server\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunked.send(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
        assert (await chunked.answer()).status == 413


@pytest.mark.interpreted
async def test_a_list_of_short_objects_needs_no_process_and_admission_is_answered_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    async with served(tmp_path) as server:
        os.kill(server.server._executor._pid, signal.SIGKILL)
        long, short = await server.connect(), await server.connect()

        def converted(obj: Any, target: Any) -> Any:
            if len(order) == 100:  # it has begun, and takes no notice of others before its turn ends
                short.send(post(GRAPHS, review(graph())))
            order.append(obj["metadata"]["name"])
            time.sleep(TURN_SECONDS / 4)
            return convert_object(obj, target)

        monkeypatch.setattr(convert, "convert_object", converted)
        body = conversion([{**graph(), "metadata": {"name": f"g-{number}"}} for number in range(200)])
        assert QUICK.small_body < len(body) < QUICK.stepped_body
        long.send(post("/convert", body))
        assert (await short.answer()).json["response"]["allowed"] is True
        assert 100 < len(order) < 150
        response = (await long.answer()).json["response"]
        assert [obj["metadata"]["name"] for obj in response["convertedObjects"]] == order == [f"g-{number}" for number in range(200)]


@pytest.mark.parametrize(
    "odd", [{"spec": {"padding": "x" * QUICK.small_body}}, {"kind": "DynamoGraphDeployment", "apiVersion": "nvidia.com/v1"}]
)
async def test_a_list_with_a_long_or_odd_object_is_left_to_a_process(tmp_path: Path, odd: dict[str, Any]) -> None:
    body = conversion([graph()] * 100 + [{**graph(), **odd}])
    async with served(tmp_path) as server:
        client = await server.connect()
        whole = await client.post("/convert", body)
        os.kill(server.server._executor._pid, signal.SIGKILL)
        assert (await client.post("/convert", body)).status == 503
    assert whole.body == convert.answer(body, line=Line.V1_2).body


@pytest.mark.parametrize("lag", [0.0, 15.0])
async def test_a_drain_waits_for_a_conversion_of_twenty_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lag: float) -> None:
    """T17, with the bounds of a real server, told to stop in the midst; the seconds pass on the loop's clock alone."""
    loop = asyncio.get_running_loop()
    clock, passed = loop.time, [0.0]
    held = Held(tmp_path, monkeypatch)
    async with served(tmp_path, Limits()) as server:
        client, idle = await server.connect(), await server.connect()
        monkeypatch.setattr(loop, "time", lambda: clock() + passed[0])
        objects = [{**graph(), "metadata": {"name": f"g-{number}"}} for number in range(1_000)]
        client.send(post("/convert", conversion(objects)))
        await until(held.begun)
        passed[0] += 10
        drain = asyncio.create_task(server.server.drain(lag))
        await until(lambda: "draining" in server.server.reasons())
        passed[0] += 10
        held.go()
        reply = await client.answer()
        assert [obj["metadata"]["name"] for obj in reply.json["response"]["convertedObjects"]] == [f"g-{number}" for number in range(1_000)]
        assert reply.headers["connection"] == "close"
        assert await client.closed()
        passed[0] += lag
        await drain
        assert await idle.closed()


async def test_a_drain_ends_with_the_last_of_an_answer_that_had_begun_before(tmp_path: Path) -> None:
    """Its head doesn't say that the connection ends with it, and clients keep such connections for minutes."""
    async with served(tmp_path) as server:
        client = await server.connect()
        client.send(post("/convert", conversion([numbered(graph(), number) for number in range(OBJECTS)])))
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"Connection: close" not in head
        draining = asyncio.create_task(server.server.drain())
        await until(lambda: "draining" in server.server.reasons())
        [length] = [int(line.split()[1]) for line in head.splitlines() if line.startswith(b"Content-Length:")]
        async with asyncio.timeout(DEADLINE):
            body = await client.reader.readexactly(length)
        assert len(orjson.loads(body)["response"]["convertedObjects"]) == OBJECTS
        assert await client.closed()
        await draining
        assert Bound.DRAIN_SECONDS not in server.server.meter.bounds


async def test_the_end_of_a_long_answer_reaches_a_client_that_pauses(tmp_path: Path) -> None:
    """Longer than a closed TLS connection is given; the answer ends its connection, as all do while a server drains."""
    limits = QUICK._replace(goodbye_seconds=0.01)
    async with served(tmp_path, limits) as server:
        for listener in server.server._listeners:  # so that much of an answer waits in the server, and not in the system
            listener._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
        client = await server.connect()
        client.send(
            post("/convert", conversion([numbered(graph(), number) for number in range(300)]), "application/json", "Connection: close")
        )
        head = await client.reader.readuntil(b"\r\n\r\n")
        [left] = [int(line.split()[1]) for line in head.splitlines() if line.startswith(b"Content-Length:")]
        async with asyncio.timeout(DEADLINE):
            while left:
                left -= len(await client.reader.readexactly(min(left, 64 * 1024)))
                await asyncio.sleep(5 * limits.goodbye_seconds)
        assert await client.closed()


async def test_a_client_that_leaves_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for its turn is not converted for nobody."""
    held = Held(tmp_path, monkeypatch)
    async with served(tmp_path) as server:
        first, second = await server.connect(), await server.connect()
        first.send(post("/convert", LONG))
        await until(held.begun)
        second.send(post("/convert", LONG))
        await until(lambda: server.server._bodies._conversion.used >= 2 * ANSWER_FACTOR * len(LONG))  # both bodies have arrived
        second.writer.transport.abort()
        await until(lambda: len(server.server.connections.open) == 1)
        held.go()
        assert (await first.answer()).status == 200
        await until(lambda: all(each.head is None for each in server.server.connections.open))
        assert held.begun() == 1
        left, answered = [line for line in server.log() if line["logger"] == "access"]
    assert (answered["msg"], left["msg"], left["code"]) == ("converted", "rejected", 408)


async def test_one_long_list_is_converted_at_a_time_and_the_smallest_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(tmp_path, monkeypatch)
    async with served(tmp_path) as server:
        clients = [await server.connect() for _ in range(3)]
        answered: list[int] = []

        async def ask(client: Client, count: int) -> None:
            reply = await client.post("/convert", conversion([numbered(graph(), number) for number in range(count)]))
            answered.append(len(reply.json["response"]["convertedObjects"]))

        asking = [asyncio.create_task(ask(clients[0], 500))]
        await until(held.begun)
        for client, count in zip(clients[1:], (900, 300), strict=True):
            asking.append(asyncio.create_task(ask(client, count)))
            await until(lambda: len(server.server._executor._lanes[True]._queue) == len(asking) - 1)
        assert held.begun() == 1
        held.go()
        await asyncio.gather(*asking)
    assert answered == [500, 300, 900]
