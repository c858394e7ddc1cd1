"""CPU of the server process for each request: every route, single and in bulk, and how it grows with objects and services."""

import statistics
import time
from typing import Any, Final

import orjson

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.bench.footprint import Watch
from tests.bench.load import Measured
from tests.bench.requests import conversion, graph, objects, review, wide
from tests.bench.table import Settings, Table, microseconds

GRAPH: Final = "DynamoGraphDeployment"
BULK: Final = 100
# of a graph of about 1.8 KB with three services, which the mutating webhook sees without any default yet
GOALS: Final = {
    ("v1beta1", Purpose.VALIDATE): 1.4,
    ("v1beta1", Purpose.MUTATE): 1.5,
    ("v1alpha1", Purpose.VALIDATE): 2.2,
    ("v1alpha1", Purpose.MUTATE): 1.9,
    ("v1beta1", Purpose.CONVERT): 2.4,
    ("v1alpha1", Purpose.CONVERT): 2.4,
}
BULK_GOAL: Final = 1.0  # for an object of a review
LIST: Final = 2_000  # objects of a list that an API server has converted as a whole
LIST_BYTES: Final = 20 * 2**20  # of it, at least


class Pair:
    """Our server and the bare one, under the same requests."""

    def __init__(self, our: Measured, yardstick: Measured) -> None:
        """Both serve with one process."""
        self.our, self.yardstick = our, yardstick

    def costs(self, path: str, body: bytes, times: int, rounds: int, bare: tuple[bytes, int] | None = None) -> tuple[float, float, float]:
        """Seconds of CPU for a request, ours and bare: medians of interleaved blocks, and the median of their ratios.

        `bare`: the body and the number of the bare server's requests, if they are others.
        """
        theirs_body, theirs_times = bare or (body, times)
        self.our.send(path, body, max(2, times // 4))
        self.yardstick.send(path, theirs_body, max(2, theirs_times // 4))
        found = [(cost(self.our, path, body, times), cost(self.yardstick, path, theirs_body, theirs_times)) for _ in range(rounds)]
        mine, theirs = (statistics.median(column) for column in zip(*found, strict=True))
        return mine, theirs, statistics.median(one / other for one, other in found)


def cost(server: Measured, path: str, body: bytes, times: int) -> float:
    """Seconds of CPU for one of so many requests."""
    before = server.cpu()
    server.send(path, body, times)
    return (server.cpu() - before) / times


def single(table: Table, pair: Pair, settings: Settings) -> None:
    """Every route with one object; those that goals are about for longer."""
    known = objects()
    for route in ROUTES.values():
        if (route.kind, route.version) in known:  # pods are labelled, and not judged
            obj = known[route.kind, route.version]
            if (route.kind, route.purpose) == (GRAPH, Purpose.MUTATE):
                new = graph(defaulted=False)
                obj = new if route.version == "v1alpha1" else convert(KINDS[GRAPH], new, route.version).object
            _one(table, pair, settings, route.purpose, obj, route.path, review(obj))
    for (kind, version), obj in known.items():
        if (kind, _other(version)) in known:
            _one(table, pair, settings, Purpose.CONVERT, obj, "/convert", conversion(1, obj, _other(version)))


def _one(table: Table, pair: Pair, settings: Settings, purpose: Purpose, obj: Any, path: str, body: bytes) -> None:
    kind, version = obj["kind"], obj["apiVersion"].partition("/")[2]
    special = kind == GRAPH
    mine, theirs, ratio = pair.costs(path, body, settings.block if special else settings.small_block, settings.rounds)
    what = f"{purpose.value} {kind} {version} ({len(body):,} bytes)"
    table.row("Single objects", what, microseconds(mine), microseconds(theirs), ratio, limit=GOALS[version, purpose] if special else 0.0)


def bulk(table: Table, pair: Pair, settings: Settings) -> None:
    """A hundred objects in one conversion review, for each kind and direction: an object of ours against a whole bare answer about one."""
    known = objects()
    for (kind, version), obj in known.items():
        desired = _other(version)
        if (kind, desired) not in known:
            continue
        block, limit = (settings.block, BULK_GOAL) if kind == GRAPH else (settings.small_block, 0.0)
        body, alone = conversion(BULK, obj, desired), (conversion(1, obj, desired), block)
        mine, theirs, ratio = pair.costs("/convert", body, max(2, block // 20), settings.rounds, bare=alone)
        what = f"convert {kind} {version}, one of {BULK} ({len(body):,} bytes)"
        table.row("Bulk conversion, an object", what, microseconds(mine / BULK), microseconds(theirs), ratio / BULK, limit=limit)


def _other(version: str) -> str:
    return "v1beta1" if version == "v1alpha1" else "v1alpha1"


def linear(table: Table, pair: Pair, settings: Settings) -> None:
    """What one more object of a review, or one more service of a graph, costs: as much where there are many as where there are few.

    Reviews of graphs with more services than the schema allows are not measured: they are answered without looking into them.
    """
    _growth(table, pair, settings, "convert: an object of a review", "/convert", conversion)
    _growth(table, pair, settings, "convert: a service of a graph", "/convert", lambda size: conversion(1, wide(size)))


def _growth(table: Table, pair: Pair, settings: Settings, what: str, path: str, body_of: Any) -> None:
    """The ratio is to the cost of one among a hundred: below that, what a request costs at all is the larger part."""
    costs: dict[int, float] = {}
    for size in settings.sizes:
        body, times = body_of(size), max(1, min(settings.small_block, 2_000 // size))
        pair.our.send(path, body, 1)
        costs[size] = statistics.median(cost(pair.our, path, body, times) for _ in range(3)) / size
        ratio = costs[size] / costs[100] if size > 100 else 0.0
        table.row(
            "Growth", f"{what} of {size:,} ({len(body):,} bytes)", microseconds(costs[size]), ratio=ratio, goal="about 1" if ratio else ""
        )


def whole(table: Table, our: Measured) -> None:
    """How long a client waits for one long list, sending and taking included: an API server gives up after thirty seconds."""
    obj = graph()
    obj["metadata"]["annotations"]["padding"] = "x" * (LIST_BYTES // LIST)
    body = conversion(LIST, obj)
    begin = time.perf_counter()
    answer = our.send("/convert", body, 1)
    seconds = time.perf_counter() - begin
    if len(orjson.loads(answer)["response"]["convertedObjects"]) != LIST:
        raise RuntimeError("a list came back with another number of objects")
    table.row("Lists", f"convert: one review of {LIST:,} objects of {len(body) // 2**20} MiB, seconds", f"{seconds:.2f} s", goal="10 s")


def peak(table: Table, our: Measured, objects: int, what: str, goal: str, section: str = "Memory") -> None:
    """The most memory that all processes of the server use together while it converts one long review."""
    body = conversion(objects)
    with Watch(our.pid) as watch:
        our.send("/convert", body, 2)
    table.row(section, f"convert {len(body) / 1e6:.1f} MB{what}, most of all processes together", f"{watch.most / 1e6:.0f} MB", goal=goal)
