"""Prints one table: CPU per request of each route against the bare server, memory over many requests, cold start of `check`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

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


def speed(our: Measured, yardstick: Measured) -> None:
    """CPU of the server process per request, median of interleaved blocks, as a ratio to the bare answer to the same request."""
    for name, (path, body, goal) in ROUTES.items():
        our.send(path, body, 2_000)
        yardstick.send(path, body, 2_000)
        costs = [(_cost(our, path, body), _cost(yardstick, path, body)) for _ in range(ROUNDS)]
        mine, theirs = (statistics.median(column) for column in zip(*costs, strict=True))
        ratio = statistics.median(a / b for a, b in costs)
        print(f"| {name} ({len(body)} bytes) | {mine * 1e6:.0f} us | {theirs * 1e6:.0f} us | {ratio:.2f} | {goal} |", flush=True)


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
        print(f"| {line} | {goal} |", flush=True)


def large(our: Measured) -> None:
    """The highest resident memory of the server while it converts a review of 10 MB."""
    body = conversion(LARGE)
    our.send("/convert", body, 2)
    print(f"| convert {len(body) / 1e6:.1f} MB, peak resident | {our.peak():.0f} MB | | | 300 MB |", flush=True)


def memory(our: Measured) -> None:
    """Resident memory after a warm-up and after many more requests."""
    path, body, _ = ROUTES["validate"]
    first = our.resident()
    our.send(path, body, LONG)
    print(f"| resident, then after {LONG:,} requests | {first:.1f} MB | {our.resident():.1f} MB | | 80 MB, flat |", flush=True)


def cold_start(folder: Path) -> None:
    """CPU and wall-clock beyond the bare interpreter's for `check` of one file."""
    file = folder / "graph.yaml"
    file.write_text(yaml.safe_dump(graph()))
    check = [sys.executable, "-m", "cli.main", "check", "-q", "--set-fact", "grove=true", str(file)]
    extra = statistics.median(_cpu_of(check) - _cpu_of([sys.executable, "-c", "pass"]) for _ in range(11))
    print(f"| check of one file, beyond the bare interpreter | {extra * 1e3:.0f} ms CPU | | | 80 ms |", flush=True)


def _cpu_of(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
        print("| what | ours | bare | ratio | goal |\n| --- | --- | --- | --- | --- |", flush=True)
        authority = certificates / "ca.crt"
        with Measured(ours(certificates, facts), authority) as our, Measured(bare(certificates), authority) as yardstick:
            speed(our, yardstick)
            memory(our)
            large(our)
            lists(our, yardstick)
        cold_start(folder)


if __name__ == "__main__":
    main()
