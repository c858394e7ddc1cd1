"""How long clients wait: at sixteen connections, and beside long lists; what stays of many requests in memory; and what a start costs."""

import contextlib
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.routes import route_path
from tests.bench.asker import Asker
from tests.bench.load import Measured, ours
from tests.bench.requests import conversion, graph, review
from tests.bench.speed import GRAPH
from tests.bench.table import Settings, Table

CONNECTIONS: Final = 16
RATE: Final = 300.0  # requests a second over all connections: what a server on half a CPU has time for
STREAM: Final = 500  # objects in a review
PATH: Final = route_path(GRAPH, "v1alpha1", Purpose.VALIDATE)


def waiting(table: Table, our: Measured, yardstick: Measured, settings: Settings, folder: Path) -> None:
    """Waiting times of admission over sixteen connections: at a pace, as fast as answers come, and at a pace beside a stream."""
    one, many = folder / "review.json", folder / "list.json"
    one.write_bytes(review(graph()))
    many.write_bytes(conversion(STREAM))
    quiet = _row(table, "16 connections, 300 requests a second", our, yardstick, one, RATE, settings, goal="p99 5 ms, idle machine")
    _row(table, "16 connections, each asking again at once", our, yardstick, one, 0, settings)
    beside, elsewhere = (_beside(server, our, many, one, settings) for server in (our, yardstick))
    what = f"the first, beside a stream of conversions of {STREAM} objects; ratio: of p99 to quiet"
    table.row("Waiting", what, _said(beside), ratio=at(beside, 99) / quiet, limit=3.0)
    what = "the same where the stream goes to the other server: what the machine and the clients add"
    table.row("Waiting", what, _said(elsewhere), ratio=at(elsewhere, 99) / quiet)


def _beside(streamed: Measured, our: Measured, many: Path, one: Path, settings: Settings) -> list[float]:
    """Waiting times of admission while a server is sent a stream."""
    with _stream(streamed, many, settings.seconds + 3):
        return Asker(our, PATH, one, CONNECTIONS, RATE, settings.seconds).times()


@contextlib.contextmanager
def _stream(server: Measured, many: Path, seconds: float) -> Iterator[None]:
    """An API server that has a list converted, and again, without a pause."""
    asker = Asker(server, "/convert", many, 1, 0, seconds)
    yield
    if len(asker.times()) < 3:
        raise RuntimeError("there was hardly a stream")


def _row(table: Table, what: str, our: Measured, yardstick: Measured, body: Path, rate: float, settings: Settings, goal: str = "") -> float:
    mine, theirs = (Asker(server, PATH, body, CONNECTIONS, rate, settings.seconds).times() for server in (our, yardstick))
    table.row("Waiting", f"validate: {what}", _said(mine), _said(theirs), at(mine, 99) / at(theirs, 99), goal=goal)
    return at(mine, 99)


def at(times: list[float], share: float) -> float:
    """The time within which that many percent of the answers came."""
    return times[min(len(times) - 1, int(len(times) * share / 100))]


def _said(times: list[float]) -> str:
    return f"p50 {at(times, 50) * 1e3:.1f} ms, p99 {at(times, 99) * 1e3:.1f} ms ({len(times):,} answers)"


LOOKS: Final = 10


def memory(table: Table, our: Measured, settings: Settings) -> None:
    """Resident memory after a warm-up, and on the way through many more requests of all three purposes."""
    bodies = [(route_path("DynamoGraphDeployment", "v1alpha1", purpose), review(graph())) for purpose in (Purpose.VALIDATE, Purpose.MUTATE)]
    bodies.append(("/convert", conversion(1)))
    seen = [our.resident()]
    for _ in range(LOOKS):
        for path, body in bodies:
            our.send(path, body, settings.long // LOOKS // len(bodies))
        seen.append(our.resident())
    first, last = seen[1], seen[-1]
    what = f"resident after a tenth of {settings.long:,} requests, and after all; ratio: of the two"
    table.row("Memory", what, f"{first:.1f} MB, {last:.1f} MB", ratio=last / first, goal="80 MB, flat")


def starts(table: Table, certificates: Path, facts: Path, settings: Settings) -> None:
    """From the start of the process to a first answer, for `serve`."""
    body, path = review(graph()), route_path("DynamoGraphDeployment", "v1alpha1", Purpose.VALIDATE)
    walls, used = [], []
    for _ in range(settings.starts):
        begin = time.perf_counter()
        with Measured(ours(certificates, facts), certificates / "ca.crt") as server:
            server.send(path, body, 1)
            walls.append(time.perf_counter() - begin)
            used.append(server.cpu())
    table.row("Start", "serve, until its first answer", f"{statistics.median(walls):.2f} s, {statistics.median(used):.2f} s of CPU")
