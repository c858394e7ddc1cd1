"""Measures our server, compiled if BENCH_TREE is a copy that is, beside a bare one or an earlier one."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import yaml

from tests.bench.compare import Pair, against, compare
from tests.bench.requests import graph, requests
from tests.bench.server import TREE, Server
from tests.bench.table import Table
from tests.bench.waiting import wait
from tests.webhooks.processes import ROOT

SECTION: Final = "Requests"


def measure(folder: Path, *, quick: bool) -> Table:
    """Measures everything about a server in turn, and the command that checks files."""
    table = Table(SECTION)
    with Server(folder) as our, Server(folder, program=("-m", "tests.bench.bare"), where=ROOT) as bare:
        compare(table, Pair(our, bare, quick), bare=True)
        hold(table, our, 2_000 if quick else 100_000)
        wait(table, our, bare, 2.0 if quick else 12.0)
    for count, goal in ((150, "0.5 s"), (1_000, "1 s")):
        seconds = min(check(folder, count) for _ in range(3))
        table.row(f"check {count:,} files", f"{seconds:.2f} s", goal=goal)
    return table


def hold(table: Table, our: Server, long: int) -> None:
    """Adds the resident memory after a tenth of so many requests, and after all."""
    small = [request for request in requests() if request.objects == 1]
    seen = []
    for share in (0.1, 0.9):
        for request in small:
            our.post(request.path, request.body, int(share * long / len(small)))
        seen.append(our.resident())
    what = f"memory after {long // 10:,} requests, and after {long:,}; ratio: of the two"
    table.row(what, ", ".join(f"{megabytes:.1f} MB" for megabytes in seen), ratio=seen[1] / seen[0], goal="80 MB, flat")


def check(folder: Path, count: int) -> float:
    """Seconds until so many files with a graph each have been checked."""
    files = folder / f"{count}"
    if not files.exists():
        files.mkdir()
        for number in range(count):
            obj = graph()
            obj["metadata"]["name"] = f"graph-{number}"
            (files / f"{number}.yaml").write_text(yaml.safe_dump(obj, sort_keys=False))
    words = [sys.executable, "-m", "dynamo_webhooks.cli.main", "check", "-q", "--set-fact", "grove=true", str(files)]
    began = time.perf_counter()
    subprocess.run(words, cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> str:
    """Measures what is asked for; returns what must not be."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--write", action="store_true", help="write docs/bench.md")
    parser.add_argument("--quick", action="store_true", help="short runs: shows that it works")
    parser.add_argument("--against", nargs="?", const="", metavar="COMMIT", help="only beside the last release or figures, or a commit")
    parser.add_argument("--report", action="store_true", help="with --against: tell what costs more without failing")
    options = parser.parse_args()
    if options.against is not None:
        wrong = against(options.against, quick=options.quick)
        return "" if options.report else wrong
    with tempfile.TemporaryDirectory() as name:
        table = measure(Path(name), quick=options.quick)
    if options.write:
        table.write()
    return ""


if __name__ == "__main__":
    sys.exit(main() or None)
