"""Prints the lines of Python of each room, now and at the last tag, beside its budget: `make size`. It reports, and refuses nothing."""

import subprocess
import sys
from collections import Counter
from typing import Final

from tools.written import ROOT

START: Final = "d587a47a"  # the commit to compare with while there is no tag
# room -> lines of Python that it should stay below; generated files are JSON, YAML and Markdown, and don't count
BUDGETS: Final = {
    "cel": 3500,
    "api": 5700,
    "policies": 9800,
    "conversion": 4950,
    "admission": 1500,
    "kube": 2200,
    "certs": 3450,
    "webhooks": 5350,
    "reconciler": 14650,
    "cli": 22250,
    "tools": 2550,
    "manifests": 160,
    "tests": 80500,
}


def report() -> str:
    """The table: room, budget, lines now, lines at the last tag and the change."""
    since = _git("describe", "--tags", "--abbrev=0").strip() or START
    now, before = lines("--untracked"), lines(since)
    for counted in (now, before):
        counted["source"] = counted.total() - counted["tests"]
    rows = [("room", "budget", "lines", since, "change")]
    for room, budget in {**BUDGETS, "source": sum(BUDGETS.values()) - BUDGETS["tests"]}.items():
        change = f"{now[room] - before[room]:+d}" if before[room] else "?"
        rows.append((room, str(budget), str(now[room]), str(before[room] or "?"), change + " over" * (now[room] > budget)))
    return "".join(f"{room:12}{budget:>8}{lines:>8}{before:>10}  {change}\n" for room, budget, lines, before, change in rows)


def lines(where: str) -> Counter[str]:
    """The lines of Python of each room at a revision or, with `--untracked`, in the working tree; none for an unknown revision."""
    found: Counter[str] = Counter()
    for line in _git("grep", "--count", "-e", "", where, "--", "*.py").splitlines():
        *_, path, count = line.split(":")
        found[path.partition("/")[0]] += int(count)
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout  # noqa: S603, S607


if __name__ == "__main__":
    sys.stdout.write(report())
