"""The side listeners: what readiness says, to whom, and that a probe's query is never more than a choice among our own checks."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from dynamo_webhooks.webhooks.limits import SIDE
from dynamo_webhooks.webhooks.probes import Probes, Scrapes
from dynamo_webhooks.webhooks.sockets import Address, bind
from tests.rows import run_each
from tests.webhooks.serving import DEADLINE


class State(NamedTuple):
    """What the listener is told."""

    found: dict[str, list[str]]

    async def checks(self) -> dict[str, list[str]]:
        return self.found

    async def metrics(self) -> bytes:
        return b"metrics\n"

    async def details(self) -> list[str]:
        return ["certificate: serial 5", "degraded: something"]


@asynccontextmanager
async def listening(state: State, *secured: Any) -> AsyncIterator[int]:
    """The port of probes and metrics; of metrics over TLS, for bearers alone, where these are `secured` by a context and a gate."""
    address, sock = bind(Address("127.0.0.1", 0))
    probes = Probes(state)
    probes.serve(bind(Address("127.0.0.1", 0))[1] if secured else sock, sock, *secured)
    try:
        yield address.port
    finally:
        await probes.close()


async def said(port: int, request: str, header: str = "", tls: ssl.SSLContext | None = None) -> tuple[int, str, str]:
    """Status, head and body of an answer."""
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        writer.write(f"{request} HTTP/1.1\r\nHost: x\r\n{header}Connection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
    return int(head.split()[1]), head, body


async def get(state: State, path: str, method: str = "GET") -> tuple[int, list[str]]:
    """Status and lines of an answer."""
    async with listening(state) as port:
        status, _, body = await said(port, f"{method} {path}")
    return status, body.splitlines()


READY = State({"server": [], "facts": [], "handshake": []})
WRONG = State({"server": ["draining", "not listening"], "facts": ["not known yet"], "handshake": []})


SHOWN = ["[+]server ok", "[+]facts ok", "[+]handshake ok", "certificate: serial 5", "degraded: something", "ok"]
NOT_READY = ["not ready: draining", "not ready: not listening", "not ready: not known yet"]
FAILED = ["[-]server failed", "[-]facts failed", "[+]handshake ok", *SHOWN[3:5], *NOT_READY]
EXCLUDED = ["[+]server excluded", "[+]facts excluded", "[+]handshake ok", "warn: no check is called nothing", *SHOWN[3:]]


@run_each(
    ("state", "path", "status", "lines"),
    [
        (READY, "/readyz", 200, ["ok"]),
        (WRONG, "/readyz", 503, NOT_READY),
        (WRONG, "/readyz/readyz", 503, NOT_READY),  # the names of the Go operator's checks
        (WRONG, "/healthz/healthz", 200, ["ok"]),
        (WRONG, "/healthz?verbose&exclude=x", 200, ["ok"]),  # liveness depends on nothing
        *((READY, f"/readyz?{query}", 200, SHOWN) for query in ("verbose", "verbose=1", "verbose=", "a=b&verbose")),
        (WRONG, "/readyz?verbose", 503, FAILED),
        (WRONG, "/readyz?exclude=server", 503, NOT_READY[2:]),
        (WRONG, "/readyz?exclude=server&exclude=facts", 200, ["ok"]),
        (WRONG, "/readyz?verbose&exclude=server&exclude=facts&exclude=nothing", 200, EXCLUDED),
        (WRONG, "/readyz?exclude=nothing", 503, NOT_READY),
        (READY, "/metrics", 200, ["metrics"]),
    ],
)
async def test_what_is_said_to_whom(state: State, path: str, status: int, lines: list[str]) -> None:
    """Readiness is one word or the reasons; who asks verbosely sees every check and what is degraded, which is not unready."""
    assert await get(state, path) == (status, lines)


async def test_an_unknown_check_is_passed_over() -> None:
    status, lines = await get(READY, "/readyz?verbose&" + "&".join(f"exclude={number:0100}" for number in range(30)))
    assert status == 200
    assert len(lines) < 15
    assert max(len(line) for line in lines) < 100


async def test_scrapes_of_a_second_share_one_rendering() -> None:
    """1,500 renderings at once kept readiness waiting for longer than the kubelet does."""
    renderings, go = 0, asyncio.Event()

    async def render() -> bytes:
        nonlocal renderings
        renderings += 1
        await go.wait()
        return b"%d" % renderings

    scrapes = Scrapes(render, seconds=0.1)
    waiting = [asyncio.ensure_future(scrapes.text()) for _ in range(1_500)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # a scraper that leaves takes nothing from others
    go.set()
    assert {*await asyncio.gather(*waiting[1:])} == {b"1"}
    await asyncio.sleep(0.11)
    assert await scrapes.text() == b"2"


async def test_a_side_port_has_few_connections_for_one_client_and_some_for_others() -> None:
    """4,000 unfinished heads took 1.8 GiB there. Those that are too many go before they have sent anything."""
    async with listening(READY) as port, asyncio.timeout(DEADLINE):
        many = []
        for _ in range(3 * SIDE.connections):
            sock = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
            sock.sendall(b"GET /readyz HTTP/1.1\r\nX: " + b"y" * 2_000)
            sock.setblocking(False)
            many.append(sock)
        assert (await said(port, "GET /readyz"))[0] == 200
        left = 0
        for sock in many:
            try:
                sock.recv(1)
            except BlockingIOError:
                left += 1
            except ConnectionError:
                pass
            sock.close()
        assert 0 < left <= SIDE.client_connections


async def test_a_client_comes_in_beside_connections_that_are_not_open_yet() -> None:
    """All that a side port has were accepted in one turn of the loop: none of them could go. A kubelet asks for both probes at once."""
    async with listening(READY) as port, asyncio.timeout(DEADLINE):
        many = [
            socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.0.{2 + number % 2}", 0))
            for number in range(SIDE.connections)
        ]
        asking = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        for sock in asking:
            reader, writer = await asyncio.open_connection(sock=sock)
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
            writer.close()
        for sock in many:
            sock.close()


async def test_a_head_on_a_side_port_is_bounded() -> None:
    async with listening(READY) as port, asyncio.timeout(DEADLINE):
        assert (await said(port, "GET /metrics", "".join(f"X{each}: {'y' * 3_000}\r\n" for each in range(9))))[0] == 400


async def test_other_paths_and_methods() -> None:
    assert [(await get(READY, path))[0] for path in ("/", "/readyz/healthz")] == [404, 404]
    assert (await get(READY, "/readyz", "POST"))[0] == 405
