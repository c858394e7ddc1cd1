"""How long clients wait: at sixteen connections, and for admission while an API server has long lists converted."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.routes import route_path
from tests.bench.asker import Asker
from tests.bench.load import Measured
from tests.bench.requests import conversion, graph, review
from tests.bench.settings import Settings
from tests.bench.speed import GRAPH
from tests.bench.table import Table

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
