"""The side listeners: what readiness says, to whom, and that a probe's query is never more than a choice among our own checks."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from dynamo_webhooks.webhooks.limits import SIDE
from dynamo_webhooks.webhooks.probes import METRICS, PROBES, Probes, Scrapes
from dynamo_webhooks.webhooks.sockets import Address, bind
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
async def listening(state: State) -> AsyncIterator[int]:
    """The port of a listener that serves everything."""
    address, sock = bind(Address("127.0.0.1", 0))
    probes = Probes(state, state.details)
    await probes.listen(asyncio.get_running_loop(), sock, PROBES | METRICS)
    try:
        yield address.port
    finally:
        await probes.close()
        sock.close()


async def get(state: State, path: str, method: str = "GET") -> tuple[int, list[str]]:
    """Status and lines of an answer."""
    async with listening(state) as port, asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    return int(head.split()[1]), body.decode().splitlines()


READY = State({"server": [], "facts": [], "handshake": []})
WRONG = State({"server": ["draining", "not listening"], "facts": ["not known yet"], "handshake": []})


async def test_readiness_is_one_word_or_the_reasons() -> None:
    assert await get(READY, "/readyz") == (200, ["ok"])
    assert await get(WRONG, "/readyz") == (503, ["not ready: draining", "not ready: not listening", "not ready: not known yet"])


@pytest.mark.parametrize("query", ["verbose", "verbose=1", "verbose=", "a=b&verbose"])
async def test_who_asks_verbosely_sees_every_check_and_what_is_degraded(query: str) -> None:
    """Degraded is not unready."""
    listed = ["[+]server ok", "[+]facts ok", "[+]handshake ok", "certificate: serial 5", "degraded: something", "ok"]
    assert await get(READY, f"/readyz?{query}") == (200, listed)


async def test_failed_checks_are_named() -> None:
    status, lines = await get(WRONG, "/readyz?verbose")
    assert status == 503
    assert lines[:3] == ["[-]server failed", "[-]facts failed", "[+]handshake ok"]
    assert lines[-1] == "not ready: not known yet"


async def test_checks_can_be_excluded() -> None:
    assert await get(WRONG, "/readyz?exclude=server") == (503, ["not ready: not known yet"])
    assert await get(WRONG, "/readyz?exclude=server&exclude=facts") == (200, ["ok"])
    status, lines = await get(WRONG, "/readyz?verbose&exclude=server&exclude=facts&exclude=nothing")
    assert status == 200
    assert lines[:4] == ["[+]server excluded", "[+]facts excluded", "[+]handshake ok", "warn: no check is called nothing"]


async def test_an_unknown_check_is_passed_over() -> None:
    assert await get(WRONG, "/readyz?exclude=nothing") == await get(WRONG, "/readyz")
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
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
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
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X%d: " % each + b"y" * 3_000 + b"\r\n" for each in range(9)))
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()


async def test_health_needs_nothing() -> None:
    """Liveness doesn't depend on readiness, on a cluster, or on what is asked with it."""
    assert await get(WRONG, "/healthz?verbose&exclude=x") == (200, ["ok"])


async def test_the_names_of_the_go_operators_checks_are_answered_as_well() -> None:
    assert await get(WRONG, "/healthz/healthz") == (200, ["ok"])
    assert await get(WRONG, "/readyz/readyz") == await get(WRONG, "/readyz")
    assert (await get(READY, "/readyz/healthz"))[0] == 404


async def test_other_paths_and_methods() -> None:
    assert (await get(READY, "/metrics"))[1] == ["metrics"]
    assert (await get(READY, "/"))[0] == 404
    assert (await get(READY, "/readyz", "POST"))[0] == 405
