"""CPU of the server process for each request, beside that of another server: a bare one, or the one of an earlier commit."""

import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.requests import Request, requests
from tests.bench.server import Server, apart
from tests.bench.table import Table
from tests.webhooks.processes import ROOT

MAX_RATIO: Final = 1.05  # of what a request costs to what it cost


class Pair(NamedTuple):
    """Two servers, measured in interleaved blocks, so that both see the same neighbours; `quick` ones, whose figures mean little."""

    ours: Server
    other: Server
    quick: bool

    def costs(self, request: Request, *, alone: bool) -> tuple[float, float, float]:
        """The median ratio of both, and the median microseconds of CPU for an object, ours and theirs.

        `alone`: the other server is asked about a single object, where ours is asked about a list.
        """
        rounds, block = (3, 60) if self.quick else (7, 1_000)
        ours = (self.ours, request.body, max(2, block // request.objects), request.objects)
        sides = (ours, (self.other, request.alone, block, 1) if alone else (self.other, *ours[1:]))
        for server, body, times, _ in sides:
            server.post(request.path, body, max(2, times // 4))
        costs = [[server.cost(request.path, body, times) / count * 1e6 for server, body, times, count in sides] for _ in range(rounds)]
        mine, theirs = zip(*costs, strict=True)
        return statistics.median(our / their for our, their in costs), statistics.median(mine), statistics.median(theirs)


def compare(table: Table, pair: Pair, *, bare: bool = False) -> list[str]:
    """Adds a row for each request, and returns those that cost too much twice: the lower ratio of two counts."""
    over = []
    with apart(pair.ours, pair.other):
        for request in requests():
            goal = request.goal if bare else MAX_RATIO
            costs = pair.costs(request, alone=bare)
            if costs[0] > goal:
                costs = min(costs, pair.costs(request, alone=bare))
            ratio, mine, theirs = costs
            if ratio > goal:
                over.append(request.what)
            what = f"{request.what} ({len(request.body):,} bytes)"
            table.row(what, f"{mine:.0f} us", f"{theirs:.0f} us", ratio, f"{goal:g}")
    return over


def against(commit: str, *, quick: bool) -> str:
    """Measures beside a commit, by default the last release; returns what costs too much, empty if nothing does."""
    commit = commit or find_last()
    table = Table(f"Beside {commit}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        earlier = unpack(commit, folder / "earlier")
        with Server(folder) as ours, Server(folder, earlier) as other:
            over = compare(table, Pair(ours, other, quick))
    return f"{', '.join(over)}: must cost at most {MAX_RATIO:g} times what {commit} takes; see the rows above" if over else ""


def find_last() -> str:
    """The newest tag before this commit, or without one the commit that last wrote figures of requests, not words, into docs/bench.md."""
    request = next(requests())
    row = rf"^\| {request.what} .*\| {request.goal:g} \|$"
    return _git("describe", "--tags", "--abbrev=0", check=False) or _git("log", "-1", "--format=%h", f"-G{row}", "--", "docs/bench.md")


def unpack(commit: str, folder: Path) -> Path:
    """Writes the files of a commit into a folder, and returns it."""
    folder.mkdir()
    _git("archive", f"--output={folder}.tar", commit)
    subprocess.run(["tar", "-xf", f"{folder}.tar", "-C", folder], check=True)
    if not (folder / "dynamo_webhooks").is_dir():  # a server that is started there would run the code of this checkout
        raise RuntimeError(f"{commit} must have a folder dynamo_webhooks; name a later commit")
    return folder


def _git(*words: str, check: bool = True) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=check, capture_output=True, text=True).stdout.strip()
