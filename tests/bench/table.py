"""Measurements as rows of tables, printed at once, and written to docs/bench.md at the end; and how long a run measures."""

import os
import platform
from pathlib import Path
from typing import Final, NamedTuple

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "bench.md"
HEAD: Final = """<!-- written by `make bench` (tests/bench) -->

# Measurements

This page compares the CPU time of the server process per request, over one TLS keep-alive connection, with that of a bare aiohttp server,
which decodes the body with orjson and answers a fixed review. Both run in interleaved blocks, with the client on its own CPU: ratios are
comparable between machines, microseconds aren't. Goals apply to the ratio where one is given, otherwise to the absolute value.
"""

APART: Final = "Reconciler"  # how sections begin that no whole run measures
ALONE: Final = (APART, "Migration", "Beside the last release")  # and all such


class Row(NamedTuple):
    """One line: what was measured, ours and the bare server's as text, their ratio (0: there is none), what it should be."""

    section: str
    what: str
    ours: str
    bare: str = ""
    ratio: float = 0.0
    goal: str = ""
    limit: float = 0.0  # the goal as a bound of the ratio; 0: there is none


class Table:
    """All rows of one run."""

    def __init__(self) -> None:
        """Nothing is measured yet."""
        self.rows: list[Row] = []

    def row(self, section: str, what: str, ours: str, bare: str = "", ratio: float = 0.0, goal: str = "", limit: float = 0.0) -> None:
        """Adds and prints a row; a limit is its goal where nothing else is said."""
        row = Row(section, what, ours, bare, ratio, goal or (f"{limit:g}" if limit else ""), limit)
        if not self.rows or self.rows[-1].section != section:
            print(f"\n{section}", flush=True)
        self.rows.append(row)
        print(_line(row), flush=True)

    def write(self) -> None:
        """Writes the page."""
        form = "compiled, as in the image" if os.environ.get("BENCH_TREE") else "interpreted"
        machine = f"Measured on {os.cpu_count()} CPUs with Python {platform.python_version()}, ours {form}."
        parts = [HEAD, machine, *(self._part(section) for section in dict.fromkeys(row.section for row in self.rows)), *_apart()]
        PAGE.write_text("\n".join(parts) + "\n")

    def write_section(self, section: str) -> None:
        """Writes one section anew, at the end of the page where it isn't there yet."""
        before, found, rest = PAGE.read_text().partition(f"\n## {section}\n")
        _, after, others = rest.partition("\n## ") if found else ("", "", "")
        PAGE.write_text(f"{before}{self._part(section)}\n{after}{others}")

    def _part(self, section: str) -> str:
        lines = [_line(row) for row in self.rows if row.section == section]
        return f"\n## {section}\n\n| what | ours | bare | ratio | goal |\n| --- | --- | --- | --- | --- |\n" + "\n".join(lines)


def _apart() -> list[str]:
    """The sections of the page that runs of their own have written."""
    if not PAGE.exists():
        return []
    parts = PAGE.read_text().split("\n## ")[1:]
    return [f"\n## {part.strip()}" for part in parts if part.startswith(ALONE)]


def _line(row: Row) -> str:
    ratio = f"{row.ratio:.2f}" if row.ratio else ""
    return f"| {row.what} | {row.ours} | {row.bare} | {ratio} | {row.goal} |"


def microseconds(seconds: float) -> str:
    """A time as people read it."""
    return f"{seconds * 1e6:.0f} us" if seconds < 0.01 else f"{seconds * 1e3:.0f} ms"


class Settings(NamedTuple):
    """Counts of requests and seconds."""

    rounds: int  # interleaved blocks, so that both servers see the same neighbours
    block: int  # requests in a block of a route that has a goal
    small_block: int  # requests in a block of any other route
    sizes: tuple[int, ...]  # objects in a review, services in a graph
    seconds: float  # of each measurement of waiting times
    long: int  # requests between the first look at the memory and the last
    starts: int
    growth_seconds: float  # of CPU that the costliest route of a shape takes at least at its smallest size


WHOLE: Final = Settings(
    rounds=7,
    block=1_000,
    small_block=150,
    sizes=(10, 100, 1_000, 10_000),
    seconds=12.0,
    long=int(os.environ.get("BENCH_LONG") or 100_000),
    starts=7,
    growth_seconds=0.001,
)
QUICK: Final = Settings(
    rounds=3,
    block=60,
    small_block=20,
    sizes=(10, 100, 1_000),
    seconds=2.0,
    long=2_000,
    starts=2,
    growth_seconds=0.0005,
)
