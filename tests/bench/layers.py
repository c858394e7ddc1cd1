"""Where the CPU of one request goes, by layer, interpreted and compiled: a picture of each.

What is between a request's bytes and its answer's is timed in a process of its own, step by step, the lowest of many runs. All of a request
is measured in a server. The rest of that is TLS, the socket and HTTP, and what a server's colder caches add to the steps.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from dynamo_webhooks.admission.judging import _cross, compute_defaults, judge
from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.bounds import bounds
from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.conversion.engine import convert, convert_for_reading
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.envelope import read
from dynamo_webhooks.webhooks.meters import Meter, access_line
from dynamo_webhooks.webhooks.routes import Route, find_route
from tests.bench.guard import requests
from tests.bench.load import Measured, apart, ours
from tests.bench.table import Table

SECTION: Final = "Where the CPU of a request goes"
REST: Final = "TLS, socket, HTTP"
_RUNS: Final = 1_500
_WIDTH: Final = 50  # characters of a picture


def best(work: Callable[[], object]) -> float:
    """The lowest seconds of many runs."""
    found = 1.0
    for _ in range(_RUNS):
        began = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - began)
    return found


def steps(route: Route, body: bytes, settings: Settings) -> dict[str, float]:
    """Seconds of each layer between a request's bytes and its answer's; what is left of the whole is the answer's making."""
    whole, found = best(lambda: answer(route, body, settings)), answer(route, body, settings)
    meter = Meter()

    def told() -> None:
        meter.answered(route, found.verdict, 0.0, len(body))
        access_line("", route, found.verdict, 0.0)

    named = _of_conversion(body, settings) if route.purpose is Purpose.CONVERT else _of_admission(route, body, settings)
    return {**named, "answer": max(whole - sum(named.values()), 0.0), "log, metrics": best(told)}


def _of_conversion(body: bytes, settings: Settings) -> dict[str, float]:
    review: dict[str, Any] = orjson.loads(body)
    obj, wanted = review["request"]["objects"][0], review["request"]["desiredAPIVersion"].rpartition("/")[2]
    kind = kind_of(obj["kind"], settings.line)
    there = best(lambda: convert_for_reading(kind, obj, wanted))
    return {"JSON": best(lambda: orjson.loads(body)), "conversion": there, "back again": best(lambda: convert(kind, obj, wanted)) - there}


def _of_admission(route: Route, body: bytes, settings: Settings) -> dict[str, float]:
    call = read(body)
    measure, decode = bounds(route.kind, route.version), decoder(route.kind, route.version)
    review = Admission(route.kind, route.version, call.operation, call.object, user=call.user, settings=settings).review()
    mutating = route.purpose is Purpose.MUTATE
    conversion = 0.0 if route.read == route.version else best(lambda: _cross(review, route.read, pods=not mutating))
    judged = best(lambda: compute_defaults(review).patch() if mutating else judge(review))
    fields = best(lambda: (measure(call.object), decode(call.object)))
    return {"JSON": best(lambda: read(body)), "fields": fields, "conversion": conversion, "rules, defaults": judged - conversion}


def layers(table: Table, certificates: Path, facts: Path, block: int) -> None:
    """Adds a picture a request and form; without BENCH_TREE the interpreted form alone."""
    tree = os.environ.get("BENCH_TREE")
    forms = [("interpreted", str(Path(__file__).parents[2])), *([("compiled", tree)] if tree else [])]
    for form, folder in forms:
        command = [sys.executable, "-m", "tests.bench.layers", str(facts)]
        ran = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": folder}, check=True, capture_output=True, text=True)
        found: dict[str, dict[str, float]] = json.loads(ran.stdout)
        serve = ours(certificates, facts)
        serve = ["env", "-C", folder, f"PYTHONPATH={folder}", *serve[serve.index(sys.executable) :]]
        with Measured(serve, certificates / "ca.crt") as server, apart(server):
            for what, path, body, _ in _single():
                server.send(path, body, block // 4)
                began = server.cpu()
                server.send(path, body, block)
                picture(table, f"{what}, {form}", found[what], (server.cpu() - began) / block)


def picture(table: Table, what: str, found: dict[str, float], whole: float) -> None:
    """One row: the layers by their first letters, each as long as its share, the rest as dots; and their microseconds."""
    told = {**found, REST: max(whole - sum(found.values()), 0.0)}
    drawn = "".join(("·" if name == REST else name[0].upper()) * round(_WIDTH * seconds / whole) for name, seconds in told.items())
    named = ", ".join(f"{name} {seconds * 1e6:.0f}" for name, seconds in told.items() if seconds)
    table.row(SECTION, what, f"`{drawn}` {whole * 1e6:.0f} us: {named}")


def _single() -> Iterator[tuple[str, str, bytes, int]]:
    return (each for each in requests() if each[3] == 1)


if __name__ == "__main__":
    chosen = Settings(facts_from(yaml.safe_load(Path(sys.argv[1]).read_text())))
    print(json.dumps({what: steps(route, body, chosen) for what, path, body, _ in _single() if (route := find_route(path)) is not None}))
