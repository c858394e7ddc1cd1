"""Measures everything in one run (`make bench`), prints it, and with `--write` writes docs/bench.md.

`--quick` takes short settings, whose figures mean little; `--growth` measures (and writes) the growth by shape alone. BENCH_LONG is the
number of requests for the memory, BENCH_TREE the folder of a compiled copy to measure. On an idle machine of two CPUs a run takes about
six minutes.

`--against` measures the requests of a graph alone, beside the last release or a commit, and fails where one costs 5 % more; with `--report`
it only tells.

`--lines` measures the same requests by both lines of the operator alone, `--kubeconform` `check` beside kubeconform.

`--graphs N` measures the reconciler alone, with N graphs that come at once (1,000: three minutes; 10,000: half an hour); with several
numbers also what a graph costs in each. `--models M` has so many models beside them. `--minutes` bounds each run, which then tells how far
it came, as it does on Ctrl-C.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import yaml

from dynamo_webhooks.certs.files import store_self_signed
from tests.bench.beside import HOSTILE, beside
from tests.bench.checking import BESIDE, beside_kubeconform, checks
from tests.bench.growth import SECTION, growth
from tests.bench.guard import SECTION as GUARD
from tests.bench.guard import compare
from tests.bench.layers import SECTION as LAYERS
from tests.bench.layers import layers
from tests.bench.lines import SECTION as LINES
from tests.bench.lines import lines
from tests.bench.load import Measured, apart, bare, ours
from tests.bench.speed import Pair, bulk, linear, peak, single, whole
from tests.bench.table import QUICK, WHOLE, Settings, Table
from tests.bench.waiting import memory, starts, waiting
from tests.policies.examples import base

LARGEST = 38_000  # objects in a review of 69 MB, just below the bound of 66 MiB


def prepared(folder: Path) -> tuple[Path, Path]:
    """A directory with a pair, and a file of facts, for servers; made once."""
    certificates, facts = folder / "certs", folder / "facts.yaml"
    if not facts.exists():
        store_self_signed(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
        facts.write_text(yaml.safe_dump(base()["facts"]))
    return certificates, facts


def measure(table: Table, settings: Settings, folder: Path) -> None:
    """Every measurement in turn: first what needs a quiet server, last what leaves it large."""
    certificates, facts = prepared(folder)
    authority = certificates / "ca.crt"
    with Measured(ours(certificates, facts), authority) as our, Measured(bare(certificates), authority) as yardstick:
        pair = Pair(our, yardstick)
        with apart(our, yardstick):
            single(table, pair, settings)
            bulk(table, pair, settings)
        layers(table, certificates, facts, settings.block)
        memory(table, our, settings)
        waiting(table, our, yardstick, settings, folder)
        with apart(our, yardstick):
            linear(table, pair, settings)
    with Measured(ours(certificates, facts), authority) as our:
        peak(table, our, 5_600, "", "300 MB")
        whole(table, our)
    lines(table, settings, certificates, folder)
    hostile(table, settings, folder)
    starts(table, certificates, facts, settings)
    growth(table, settings)
    checks(table, settings, folder)


def hostile(table: Table, settings: Settings, folder: Path) -> None:
    """The largest review that a server accepts, and a small one beside clients that mean harm."""
    certificates, facts = prepared(folder)
    with Measured(ours(certificates, facts), certificates / "ca.crt") as our:
        peak(table, our, LARGEST, ", the largest that 1 GiB accepts", "60 %: 644 MB", HOSTILE)
        beside(table, our, settings, folder)


def graphs(table: Table, given: argparse.Namespace) -> None:
    """The reconciler with each number of graphs, and how their cost grows."""
    from tests.bench.figures import grown, section_of
    from tests.bench.graphs import Plan, crowded

    runs = []
    for number in given.graphs:
        with tempfile.TemporaryDirectory() as name:
            runs.append(crowded(table, Path(name), Plan(number, given.models, given.minutes)))
        if given.write:
            table.write_section(section_of(runs[-1]))
    if len(runs) > 1:
        section = grown(table, runs)
        if given.write:
            table.write_section(section)


def against(table: Table, given: argparse.Namespace) -> str:
    """The working tree beside an earlier commit; returns what must not be."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wrong = compare(table, QUICK if given.quick else WHOLE, folder, prepared(folder), given.against)
    if given.write and table.rows:
        table.write_section(GUARD)
    return "" if given.report else wrong


def _part(table: Table, given: argparse.Namespace) -> tuple[str, Callable[[Path], object]] | None:
    """The one part that was asked for: its section, and what measures it in a folder."""
    settings = QUICK if given.quick else WHOLE
    if given.lines:
        return LINES, lambda folder: lines(table, settings, prepared(folder)[0], folder)
    if given.layers:
        return LAYERS, lambda folder: layers(table, *prepared(folder), settings.block)
    if given.hostile:
        return HOSTILE, lambda folder: hostile(table, settings, folder)
    if given.kubeconform:
        return BESIDE, lambda folder: beside_kubeconform(table, settings, folder)
    return (SECTION, lambda _: growth(table, settings)) if given.growth else None


def main() -> None:
    """One run of everything."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--write", action="store_true", help="write docs/bench.md")
    parser.add_argument("--quick", action="store_true", help="short settings: shows that it works")
    parser.add_argument("--growth", action="store_true", help="only how costs grow with sizes, by shape and route")
    parser.add_argument("--against", nargs="?", const="", metavar="COMMIT", help="only beside the last release or figures, or a commit")
    parser.add_argument("--report", action="store_true", help="with --against: tell what costs more without failing")
    parser.add_argument("--kubeconform", action="store_true", help="only `check` beside kubeconform")
    parser.add_argument("--lines", action="store_true", help="only requests by line 1.5 beside those by line 1.2")
    parser.add_argument("--layers", action="store_true", help="only where the CPU of a request goes")
    parser.add_argument("--hostile", action="store_true", help="only what hostile clients cost others")
    parser.add_argument("--graphs", type=int, nargs="+", metavar="N", help="only how the reconciler does with so many graphs at once")
    parser.add_argument("--models", type=int, default=0, metavar="M", help="with --graphs: and with so many models")
    parser.add_argument("--minutes", type=float, default=30.0, help="with --graphs: the most that a run may take")
    given = parser.parse_args()
    table = Table()
    if given.against is not None:
        sys.exit(against(table, given) or 0)
    if given.graphs:
        graphs(table, given)
        return
    part = _part(table, given)
    with tempfile.TemporaryDirectory() as name:
        if part is None:
            measure(table, QUICK if given.quick else WHOLE, Path(name))
        else:
            part[1](Path(name))
    if given.write and part is None:
        table.write()
    elif given.write and part is not None:
        table.write_section(part[0])


if __name__ == "__main__":
    main()
