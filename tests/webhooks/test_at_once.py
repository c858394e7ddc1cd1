"""Requests that are answered where they are read: which ones, and what happens when that isn't possible."""

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.webhooks import server as module
from dynamo_webhooks.webhooks.limits import Bound
from dynamo_webhooks.webhooks.reply import UNSENT
from dynamo_webhooks.webhooks.server import Webhooks
from dynamo_webhooks.webhooks.short_requests import TURN_SECONDS
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import QUICK, post, served, until

BODY = review(graph(), uid="one")


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
        monkeypatch.setattr(module, "answer", lambda *_: 1 / 0)
        client = await running.connect()
        found = await client.post(GRAPHS, BODY)
        assert (found.status, found.headers["connection"]) == (500, "close")
        assert await client.closed()
        monkeypatch.undo()
        other = await running.connect()
        assert (await other.post(GRAPHS, BODY)).json["response"]["allowed"]
    [line] = [each for each in running.log() if each["level"] == "error"]
    assert "ZeroDivisionError" in str(line)


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
