"""How long clients wait for admission, alone and beside long lists; they ask in processes of their own."""

import asyncio
import multiprocessing
import random
import ssl
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import uvloop

from tests.bench.requests import conversion, graph, requests
from tests.bench.server import Server
from tests.bench.table import Table
from tests.webhooks.serving import Client

CONNECTIONS: Final = 16
RATE: Final = 300.0  # requests a second over all connections: what a server on half a CPU has time for
LISTED: Final = 500  # objects in a review of the stream


def ask(port: int, authority: Path, path: str, body: bytes, seconds: float, connections: int = 1, rate: float = 0.0) -> list[float]:
    """Asks until the time is up; seconds for each answer but those of the first tenth of the time.

    `rate` is of all connections, 0 for the next request as soon as the last was answered.
    """
    taken: list[float] = []
    context = ssl.create_default_context(cafile=str(authority))

    async def connect() -> None:
        client = Client(*await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=2**24))
        due = began = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds:
            # pauses are drawn, so that connections don't march in step; a request that is late has waited since it was due
            due = due + random.expovariate(rate / connections) if rate else now
            await asyncio.sleep(max(0.0, due - now))
            answer = await client.post(path, body)
            if answer.status != 200:
                raise RuntimeError(f"unexpected answer: {answer.status} {answer.body[:100]!r}")
            if time.perf_counter() > began + seconds / 10:
                taken.append(time.perf_counter() - due)
        await client.close()

    async def connect_all() -> None:
        await asyncio.gather(*(connect() for _ in range(connections)))

    uvloop.run(connect_all())
    return taken


def wait(table: Table, our: Server, bare: Server, seconds: float) -> None:
    """Adds the waiting times of admission at a pace, and the same beside a stream of conversions, which goes to ours or to the other."""
    small, lists = next(requests()), conversion(LISTED, graph(), "v1beta1")
    paced = (small.path, small.body, seconds, CONNECTIONS, RATE)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        quiet, bare_quiet = (pool.submit(ask, server.port, server.authority, *paced).result() for server in (our, bare))
        beside = []
        for server in (our, bare):
            stream = pool.submit(ask, server.port, server.authority, "/convert", lists, seconds + 3)
            beside.append(pool.submit(ask, our.port, our.authority, *paced).result())
            if len(stream.result()) < 3:
                raise RuntimeError("there was hardly a stream")
    ours, theirs, beside_ours, beside_theirs = map(_tell, (quiet, bare_quiet, *beside))
    what = f"wait for validation: {CONNECTIONS} connections, {RATE:g} requests a second"
    table.row(what, ours[0], theirs[0], ours[1] / theirs[1], "p99 5 ms, idle machine")
    what = f"the same while ours, or the bare server, converts lists of {LISTED}; ratio: of p99 to the row above"
    table.row(what, beside_ours[0], beside_theirs[0], beside_ours[1] / ours[1], "3")


def _tell(times: list[float]) -> tuple[str, float]:
    """Percentiles as the page has them, and the 99th."""
    shares = statistics.quantiles(times, n=100)
    return f"p50 {shares[49] * 1e3:.1f} ms, p99 {shares[98] * 1e3:.1f} ms", shares[98]
