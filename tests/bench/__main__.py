"""Prints one table: CPU per request of each route against the bare server, memory over many requests, cold start of `check`.

`--write` also writes it to docs/bench.md.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import yaml

from certs.files import store_self_signed
from tests.bench.load import Measured, bare, ours
from tests.bench.requests import conversion, graph, review
from tests.policies.examples import base

ROUNDS, BLOCK = 9, 1_500  # interleaved blocks, so that both servers see the same neighbours
ROUTES = {
    "validate": ("/validate-nvidia-com-v1alpha1-dynamographdeployment", review(graph()), 1.6),
    "mutate": ("/mutate-nvidia-com-v1alpha1-dynamographdeployment", review(graph(defaulted=False)), 1.9),
    "convert": ("/convert", conversion(1), 2.4),
}
LISTS = {1: BLOCK, 100: 40, 1_000: 6, 10_000: 1}  # objects in a review -> reviews sent
LARGE = 5_600  # objects in a review of 10 MB
LONG = int(os.environ.get("BENCH_LONG", "100000"))


PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "bench.md"
HEAD: Final = """<!-- written by `python -m tests.bench --write` (tests/bench/__main__.py) -->

# Measurements

CPU time of the server process per request, over one TLS keep-alive connection, against a bare aiohttp server that decodes the body with
orjson and answers a fixed review. Both run in one measurement, in interleaved blocks, so that the ratio means something where the
microseconds, which belong to the machine of the day, do not.

"""
LINES: list[str] = []


def say(line: str) -> None:
    """Prints a line of the table, and remembers it for the page."""
    print(line, flush=True)
    LINES.append(line)


def speed(our: Measured, yardstick: Measured) -> None:
    """CPU of the server process per request, median of interleaved blocks, as a ratio to the bare answer to the same request."""
    for name, (path, body, goal) in ROUTES.items():
        our.send(path, body, 2_000)
        yardstick.send(path, body, 2_000)
        costs = [(_cost(our, path, body), _cost(yardstick, path, body)) for _ in range(ROUNDS)]
        mine, theirs = (statistics.median(column) for column in zip(*costs, strict=True))
        ratio = statistics.median(a / b for a, b in costs)
        say(f"| {name} ({len(body)} bytes) | {mine * 1e6:.0f} us | {theirs * 1e6:.0f} us | {ratio:.2f} | {goal} |")


def _cost(server: Measured, path: str, body: bytes) -> float:
    before = server.cpu()
    server.send(path, body, BLOCK)
    return (server.cpu() - before) / BLOCK


def lists(our: Measured, yardstick: Measured) -> None:
    """CPU per object of ever longer conversion reviews, as a ratio to the bare answer to a review of one."""
    one = conversion(1)
    yardstick.send("/convert", one, 500)
    theirs = statistics.median(_cost(yardstick, "/convert", one) for _ in range(3))
    for objects, times in LISTS.items():
        body = conversion(objects)
        before = our.cpu()
        our.send("/convert", body, times)
        mine = (our.cpu() - before) / times / objects
        goal = {100: "1.9", 10_000: "as 1,000"}.get(objects, "")
        line = f"convert an object of {objects:,} ({len(body):,} bytes) | {mine * 1e6:.0f} us | {theirs * 1e6:.0f} us | {mine / theirs:.2f}"
        say(f"| {line} | {goal} |")


def large(our: Measured) -> None:
    """The highest resident memory of the server while it converts a review of 10 MB."""
    body = conversion(LARGE)
    our.send("/convert", body, 2)
    say(f"| convert {len(body) / 1e6:.1f} MB, peak resident | {our.peak():.0f} MB | | | 300 MB |")


def memory(our: Measured) -> None:
    """Resident memory after a warm-up and after many more requests."""
    path, body, _ = ROUTES["validate"]
    first = our.resident()
    our.send(path, body, LONG)
    say(f"| resident, then after {LONG:,} requests | {first:.1f} MB | {our.resident():.1f} MB | | 80 MB, flat |")


def cold_start(folder: Path) -> None:
    """CPU and wall-clock beyond the bare interpreter's for `check` of one file."""
    file = folder / "graph.yaml"
    file.write_text(yaml.safe_dump(graph()))
    check = [sys.executable, "-m", "cli.main", "check", "-q", "--set-fact", "grove=true", str(file)]
    _cpu_of(check)  # compiles
    extra = statistics.median(_cpu_of(check) - _cpu_of([sys.executable, "-c", "pass"]) for _ in range(11))
    say(f"| check of one file, beyond the bare interpreter | {extra * 1e3:.0f} ms CPU | | | 80 ms |")


def _cpu_of(command: list[str]) -> float:
    # compiled files are part of an installation, whatever this shell thinks of them
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def main() -> None:
    """One run of everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates = folder / "certs"
        store_self_signed(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
        facts = folder / "facts.yaml"
        facts.write_text(yaml.safe_dump(base()["facts"]))
        say("| what | ours | bare | ratio | goal |\n| --- | --- | --- | --- | --- |")
        authority = certificates / "ca.crt"
        with Measured(ours(certificates, facts), authority) as our, Measured(bare(certificates), authority) as yardstick:
            speed(our, yardstick)
            memory(our)
            large(our)
            lists(our, yardstick)
        cold_start(folder)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(HEAD + "\n".join(LINES) + "\n")


if __name__ == "__main__":
    main()
