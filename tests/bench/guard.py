"""The working tree beside an earlier commit, by default the last release: what a change costs, before a release has it.

Both serve on this machine, with this interpreter and its packages, and answer the same requests in interleaved blocks.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.webhooks.routes import route_path
from tests.bench.load import Measured, apart, ours
from tests.bench.requests import conversion, graph, objects, review
from tests.bench.speed import BULK, GRAPH, Pair
from tests.bench.table import Settings, Table, microseconds

SECTION: Final = "Beside the last release"
LIMIT: Final = 1.05
_WHERE: Final = "import dynamo_webhooks.conversion as room; print(room.__path__[0])"
EXAMPLES: Final = "policies/examples/base.yaml"  # whose facts a commit knows
_ROOT: Final = Path(__file__).resolve().parents[2]


def compare(table: Table, settings: Settings, folder: Path, given: tuple[Path, Path], commit: str) -> str:
    """Measures beside a commit, by default the last; returns what must not be, empty if all is well. `given`: certificates and facts."""
    commit = commit or last()
    over = guard(table, settings, folder, given, commit)
    return f"{', '.join(over)}: must cost at most {LIMIT:g} times what {commit} takes; see the rows above" if over else ""


def last() -> str:
    """The newest tag before this commit, or without one the commit that wrote the figures of docs/bench.md."""
    return _git("describe", "--tags", "--abbrev=0", check=False) or _git("log", "-1", "--format=%h", "--", "docs/bench.md")


def guard(table: Table, settings: Settings, folder: Path, given: tuple[Path, Path], commit: str) -> list[str]:
    """Measures, and returns the rows above the limit. What seems to be above it is measured a second time, and the lower ratio counts."""
    (certificates, facts), over = given, []
    authority = certificates / "ca.crt"
    with _checkout(commit, folder / "earlier") as earlier:
        keep_known(facts, earlier)
        command = ours(certificates, facts)
        with Measured(command, authority) as now, Measured(["env", "-C", str(earlier), *command], authority) as before:
            pair = Pair(now, before)
            with apart(now, before):
                for what, path, body, count in requests():
                    times = max(2, settings.block // count)
                    found = pair.costs(path, body, times, settings.rounds)
                    if found[2] > LIMIT:
                        found = min(found, pair.costs(path, body, times, settings.rounds), key=lambda costs: costs[2])
                    mine, theirs, ratio = found
                    if ratio > LIMIT:
                        over.append(what)
                    table.row(
                        SECTION, f"{what}; beside it before", microseconds(mine / count), microseconds(theirs / count), ratio, limit=LIMIT
                    )
    return over


def keep_known(facts: Path, earlier: Path) -> None:
    """Takes from a file of facts those that came later: the earlier server would not start with them."""
    known = yaml.safe_load((earlier / EXAMPLES).read_text())["facts"]
    facts.write_text(yaml.safe_dump({name: value for name, value in yaml.safe_load(facts.read_text()).items() if name in known}))


def requests() -> Iterator[tuple[str, str, bytes, int]]:
    """What is measured: its name, path, body, and the number of objects in it."""
    known = objects()
    for version, desired in (("v1alpha1", "v1beta1"), ("v1beta1", "v1alpha1")):
        yield f"validate {version}", route_path(GRAPH, version, Purpose.VALIDATE), review(known[GRAPH, version]), 1
        new = graph(defaulted=False)
        made = new if version == "v1alpha1" else convert(KINDS[GRAPH], new, version).object
        yield f"mutate {version}", route_path(GRAPH, version, Purpose.MUTATE), review(made), 1
        for count in (1, BULK):
            name = f"convert {version}" if count == 1 else f"convert {version}, one of {count}"
            yield name, "/convert", conversion(count, known[GRAPH, version], desired), count


@contextmanager
def _checkout(commit: str, folder: Path) -> Iterator[Path]:
    """The files of a commit in a folder, for a while. Raises: RuntimeError when a server started there would run other code."""
    _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    try:
        if not (folder / "dynamo_webhooks").exists():  # commits whose package was only a mapping in pyproject.toml
            (folder / "dynamo_webhooks").mkdir()
            (folder / "dynamo_webhooks" / "__init__.py").touch()
            for room in {file.parent for file in folder.glob("*/*.py")} - {folder / "dynamo_webhooks"}:
                (folder / "dynamo_webhooks" / room.name).symlink_to(room)
        found = subprocess.run([sys.executable, "-c", _WHERE], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
        if not Path(found).is_relative_to(folder.resolve()):
            raise RuntimeError(f"the code of {commit} would not run from its own files, but from {found}")
        yield folder
    finally:
        _git("worktree", "remove", "--force", str(folder))


def _git(*words: str, check: bool = True) -> str:
    return subprocess.run(["git", *words], cwd=_ROOT, check=check, capture_output=True, text=True).stdout.strip()
