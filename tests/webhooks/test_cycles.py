"""What a client that has left leaves to the collector of cycles, which looks seldom: nothing, for megabytes may hang on it."""

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
import uvloop

from dynamo_webhooks.webhooks.connection import Connection
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import DEADLINE, Served, post, served, until

WHOLE: Final = post(GRAPHS, review(graph()))
CHUNKED: Final = WHOLE.partition(b"\r\n\r\n")[0].replace(b"Content-Length: ", b"Transfer-Encoding: chunked\r\nX: ") + b"\r\n\r\n"


async def leaves_in_the_middle(running: Served) -> None:
    """Of a body."""
    client = await running.connect()
    client.send(WHOLE[:-9])
    await until(lambda: running.server.meter.reading.get(GRAPHS) == 1)
    client.writer.transport.abort()


async def is_too_long(running: Served) -> None:
    """It is answered before the rest of its body has come, which it never sends."""
    client = await running.connect()
    client.send(post(GRAPHS, b"").replace(b"Content-Length: 0", b"Content-Length: 99999999"))
    assert (await client.answer()).status == 413
    client.writer.transport.abort()


async def says_what_is_not_http(running: Served) -> None:
    """More of it than is read at once."""
    client = await running.connect()
    client.send(b"x" * 1_000_000)
    assert (await client.answer()).status == 400
    client.writer.transport.abort()


async def sends_a_chunk_that_is_none(running: Served) -> None:
    """In the midst of a body, which is refused because of it."""
    client = await running.connect()
    client.send(CHUNKED + b"2\r\n{}\r\nzz\r\n")
    assert (await client.answer()).status == 400
    client.writer.transport.abort()


async def sends_chunks_of_a_byte(running: Served) -> None:
    """So many that they are refused."""
    client = await running.connect()
    client.send(CHUNKED + b"1\r\n \r\n" * 50_000)
    assert (await client.answer()).status == 400
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
    is_too_long,
    says_what_is_not_http,
    sends_a_chunk_that_is_none,
    sends_chunks_of_a_byte,
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
