"""Calls over the network: what is sent, what counts as an answer, and what bounds it."""

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from dynamo_webhooks.api.operator.controllers import Models
from dynamo_webhooks.reconciler.model.worker import NoConnectionError, Reply, UnreachableError, WorkerClient
from tests.cluster.processes import free_ports
from tests.rows import run_each

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def serving(handler: Handler, settings: Models | None = None) -> AsyncIterator[tuple[WorkerClient, str]]:
    """A worker that answers so, and who calls it."""
    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)  # some of its answers never end
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    workers = WorkerClient(settings or Models(connect_timeout=5, load_timeout=5, unload_timeout=5, verify_timeout=5))
    try:
        yield workers, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await workers.close()
        await runner.cleanup()


async def test_what_is_sent() -> None:
    seen: list[tuple[str, str, str | None, str]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, request.headers.get("Content-Type"), await request.text()))
        return web.json_response({"status": "success", "loras": {"org/ü": 1}, "count": 1})

    async with serving(handler) as (workers, base):
        assert (await workers.load(base, "org/ü", "s3://b/a")).is_success
        assert (await workers.unload(base, "org/a b")).is_success
        assert await workers.names(base) == frozenset({"org/ü"})
    assert seen == [
        ("POST", "/v1/loras", "application/json", '{"lora_name":"org/ü","source":{"uri":"s3://b/a"}}'),
        ("DELETE", "/v1/loras/org/a%20b", None, ""),
        ("GET", "/v1/loras", None, ""),
    ]


async def test_a_redirect_is_a_failure_and_not_followed() -> None:
    calls = []

    async def handler(request: web.Request) -> web.Response:
        calls.append(request.path)
        raise web.HTTPFound("/elsewhere")

    async with serving(handler) as (workers, base):
        reply = await workers.load(base, "a", "u")
    assert (reply.is_success, reply.status, calls) == (False, 302, ["/v1/loras"])


async def test_no_more_of_an_answer_is_read_than_a_message_needs() -> None:
    sent = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(status=500)
        response.enable_chunked_encoding()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while sent < 1 << 30:
                await response.write(b"\x1b[31mno\n" * 1000)
                sent += 8000
        return response

    async with serving(handler) as (workers, base):
        reply = await workers.load(base, "a", "u")
    assert reply.status == 500
    assert reply.text.startswith(r"\x1b[31mno\n")
    assert len(reply.text) == 200
    assert sent < 1 << 30


async def test_a_compressed_answer_is_not_inflated() -> None:
    """A gigabyte of zeros takes a megabyte on the wire, and the bound counts what is read."""
    encodings: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        encodings.append(request.headers["Accept-Encoding"])
        packed = gzip.compress(json.dumps({"loras": {"a": "0" * 10_000}}).encode())
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    async with serving(handler) as (workers, base):
        assert await workers.names(base) is None
    assert encodings == ["identity"]


async def test_a_worker_that_keeps_silent_is_given_up() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:  # headers, and then nothing
            await request.read()
            await asyncio.sleep(10)

    async with serving(handler, Models(load_timeout=0.2)) as (workers, base):
        with pytest.raises(UnreachableError, match=r"no answer within 0\.2 s"):
            await workers.load(base, "a", "u")


async def test_where_nobody_listens_another_address_may_be_tried() -> None:
    [port] = free_ports(1)
    workers = WorkerClient(Models())
    with pytest.raises(NoConnectionError):
        await workers.names(f"http://127.0.0.1:{port}")
    await workers.close()


@run_each(
    ("status", "body"),
    [
        *((200, body) for body in ("", "[]", "{", '{"loras": []}', '{"loras": null}', "[" * 60_000, "x" * 100_000)),
        *((status, '{"loras": {"a": 1}}') for status in (404, 405, 500)),
    ],
)
async def test_an_answer_that_tells_nothing(status: int, body: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=body, status=status)

    async with serving(handler) as (workers, base):
        assert await workers.names(base) is None


async def test_no_answer_of_http_is_no_answer() -> None:
    async def garbage(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\xff not http\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(garbage, "127.0.0.1", 0)
    workers = WorkerClient(Models())
    try:
        with pytest.raises(UnreachableError):
            await workers.load(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "a", "u")
    finally:
        await workers.close()
        server.close()


@run_each(("status", "passing"), [(500, True), (503, True), (302, True), (408, True), (429, True), (400, False), (404, False)])
def test_which_refusals_pass(status: int, passing: bool) -> None:
    assert Reply(status).is_transient is passing
