"""`dynamo-webhooks check` as a process: what one file costs beyond the interpreter's own start, and how long many files take.

kubeconform, a Go program, checks many files beside it by the same schemas, which is a part of what `check` does where nothing is selected.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from tests.bench.load import program
from tests.bench.requests import graph
from tests.bench.table import Settings, Table
from tests.cluster.assets.build import KUBECONFORM, build, find

SECTION: Final = "check"
BESIDE: Final = "check beside kubeconform"
FEW: Final = 150  # manifests: a repository
MANY: Final = 1_000
MOST: Final = 3_000
# facts, so that every object is right and every rule can be asked
FACTS: Final = ("--set-fact", "grove=true")
SCHEMA_ALONE: Final = "wrong-type,unknown-field,schema-mismatch,schema-rule"  # what kubeconform finds, and rules in the schema
_BARE: Final = (sys.executable, "-c", "pass")


class Cost(NamedTuple):
    """What one process took, in seconds."""

    cpu: float
    wall: float


def manifests(folder: Path, count: int) -> Path:
    """Writes so many graphs of about 2 KB, a file each, and returns their folder."""
    folder.mkdir()
    for number in range(count):
        obj = graph()
        obj["metadata"]["name"] = f"graph-{number}"
        (folder / f"{number:04}.yaml").write_text(yaml.safe_dump(obj, sort_keys=False))
    return folder


def command(*words: str | Path) -> tuple[str, ...]:
    """The command."""
    return (*program(), "check", "-q", *FACTS, *map(str, words))


def cost(words: tuple[str, ...]) -> Cost:
    """Runs a process to its end. Raises: CalledProcessError when it fails: something else was measured then."""
    # compiled files are part of an installation, whatever this shell thinks of them
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - begin)


def checks(table: Table, settings: Settings, folder: Path) -> None:
    """One file beside the bare interpreter in turns; then many."""
    few, many = manifests(folder / "few", FEW), manifests(folder / "many", MANY)
    single = command(min(few.iterdir()))
    cost(single)  # compiles
    pairs = [(cost(single).cpu, cost(_BARE).cpu) for _ in range(3 * settings.starts)]
    extra = statistics.median(mine - bare for mine, bare in pairs)
    ours, bare = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
    what = f"one file: CPU, beyond the bare interpreter {extra * 1e3:.0f} ms"
    table.row(SECTION, what, f"{ours:.0f} ms", f"{bare:.0f} ms", ours / bare, goal="80 ms beyond")
    beside_kubeconform(table, settings, folder)
    for where, count, goal in ((few, FEW, "0.5 s"), (many, MANY, "1,000 objects a second")):
        mine = min(cost(command(where)).wall for _ in range(settings.starts))
        table.row(SECTION, f"{count:,} files, {count / mine:,.0f} objects a second", f"{mine:.2f} s", goal=goal)


def beside_kubeconform(table: Table, settings: Settings, folder: Path) -> None:
    """The most files, by both programs in turns with all CPUs, kubeconform with the schemas that the command exports."""
    if find(KUBECONFORM) is None and shutil.which("go") is None:
        print("kubeconform is not measured: there is no go to build it with", flush=True)
        return
    most, schemas = manifests(folder / "most", MOST), folder / "schemas"
    subprocess.run((*program(), "schema", "--catalogue", schemas), check=True, capture_output=True)
    location = f"{schemas}/{{{{ .Group }}}}/{{{{ .ResourceKind }}}}_{{{{ .ResourceAPIVersion }}}}.json"
    other = (str(build(KUBECONFORM) / "kubeconform"), "-strict", "-schema-location", location, str(most))
    refused = subprocess.run((*other[:-1], str(_wrong(folder / "wrong"))), check=False, capture_output=True, text=True)
    if refused.returncode != 1 or "replicas" not in refused.stdout:
        raise RuntimeError(f"kubeconform does not read the schemas: {refused.stdout}{refused.stderr}")
    ways = (
        ("by the schemas alone", command("--select", SCHEMA_ALONE, most), 1.0),
        ("here by rules and conversion, too", command(most), 0.0),
    )
    for what, words, limit in ways:
        runs = [(cost(words), cost(other)) for _ in range(settings.starts)]
        ours, theirs = (min(runs_of, key=lambda one: one.wall) for runs_of in zip(*runs, strict=True))
        shown = f"{ours.wall:.2f} s", f"{theirs.wall:.2f} s"
        table.row(BESIDE, f"{MOST:,} files, {what}", *shown, ours.wall / theirs.wall, limit=limit)
        shown = f"{ours.cpu / MOST * 1e3:.2f} ms", f"{theirs.cpu / MOST * 1e3:.2f} ms"
        table.row(BESIDE, f"the same: CPU a file, {what}", *shown, ours.cpu / theirs.cpu)


def _wrong(folder: Path) -> Path:
    """A folder with one graph that the schema refuses."""
    obj = graph()
    next(iter(obj["spec"]["services"].values()))["replicas"] = "two"
    folder.mkdir()
    (folder / "wrong.yaml").write_text(yaml.safe_dump(obj))
    return folder
