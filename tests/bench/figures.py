"""The figures of a run with many graphs, with their goals: as rows of the page, and as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.bench.crowd import COMPONENTS
from tests.bench.table import APART, Table
from tests.bench.waiting import at

GROWTH: Final = 1.3  # by which what a graph costs may grow with their number


@dataclass
class Figures:
    """What one run measured; None is what it didn't. Times are seconds, sizes bytes."""

    graphs: int
    models: int = 0
    reached: int = 0  # graphs that were ready when all were, or there was no more time
    whole: bool = False
    ready: float = 0.0
    cpu: list[float] = field(default_factory=list)  # of the reconciler, the API server and the measurement meanwhile
    calls: float | None = None  # a graph, without those of edits
    alone: float | None = None  # calls a graph without others
    edits: list[float] = field(default_factory=list)
    edit: float | None = None  # calls of one
    size: float | None = None  # a graph at rest
    writes: int | None = None
    calls_at_rest: int | None = None
    rest: float = 0.0  # seconds for which those were counted
    rolled: float | None = None  # from the end of the old process until the one that stood by has acted on an edit
    restart: float | None = None  # from the start of the process until an edit has been acted on
    restart_cpu: float = 0.0
    fleet: list[Figure] = field(default_factory=list)  # of models


@dataclass(frozen=True)
class Figure:
    """One row. A goal is the most that the value may be."""

    key: str
    what: str
    told: str
    value: float
    goal: float | None = None
    aim: str = ""  # the goal as the page says it
    early: bool = False  # measured before its end

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        return None if self.goal is None else self.value <= self.goal and not self.early


def told(table: Table, found: Figures) -> None:
    """Adds the rows, and prints all as one line of JSON."""
    section = section_of(found)
    figures = [*figures_of(found)]
    for one in figures:
        table.row(section, one.what, one.told, goal=one.aim)
    print(json.dumps(summary(found, figures)), flush=True)


def section_of(found: Figures) -> str:
    """The heading of a run."""
    models = f", beside {found.models:,} models" if found.models else ""
    return f"{APART}: {found.graphs:,} graphs of {COMPONENTS} components that come at once{models}"


def summary(found: Figures, figures: Sequence[Figure]) -> dict[str, Any]:
    """Everything in one object."""
    values = {one.key: {"value": round(one.value, 4), "goal": one.goal, "met": one.met} for one in figures}
    return {"graphs": found.graphs, "models": found.models, "reached": found.reached, "whole": found.whole, "figures": values}


def figures_of(found: Figures) -> Iterator[Figure]:
    """What was measured, in the order of the page."""
    yield from _rush(found)
    if found.size is not None:
        size = found.size / 1000
        yield Figure("kilobytes_a_graph", "memory a graph at rest", f"{size:.0f} kB", size, 90, "90 kB")
    yield from found.fleet
    if found.writes is not None:
        yield Figure("writes_at_rest", f"writes at rest in {found.rest:.0f} s", str(found.writes), found.writes, 0, "0")
    if found.calls_at_rest is not None:
        what = f"calls at rest in {found.rest:.0f} s, watches that begin anew among them"
        yield Figure("calls_at_rest", what, str(found.calls_at_rest), found.calls_at_rest)
    if found.rolled is not None:
        what = "a roll-out: from the old one's end until the new one, which stood by, has acted on an edit"
        yield Figure("roll_seconds", what, f"{found.rolled:.1f} s", found.rolled, 15, "15 s")
    if found.restart is not None:
        text, what = f"{found.restart:.1f} s, of CPU {found.restart_cpu:.1f} s", "a start with nobody standing by until an edit is acted on"
        yield Figure("restart_seconds", what, text, found.restart, 15, "15 s")


def _rush(found: Figures) -> Iterator[Figure]:
    if found.reached:
        goal = 120 * found.graphs / 1000
        text = f"{found.ready:.0f} s, {found.reached / found.ready:.1f} a second"
        late = found.reached < found.graphs
        what = f"until {found.reached:,} were ready, when the run ended" if late else "until all are ready"
        yield Figure("ready_seconds", what, text, found.ready, goal, f"{goal:.0f} s", late)
        ours, server, measurement = (each / found.reached * 1e3 for each in found.cpu)
        yield Figure("reconciler_cpu_ms", "CPU a graph meanwhile: reconciler", f"{ours:.0f} ms", ours)
        yield Figure("api_server_cpu_ms", "the same: API server", f"{server:.0f} ms", server)
        yield Figure("measurement_cpu_ms", "the same: users, and who makes Deployments ready", f"{measurement:.0f} ms", measurement)
    if found.calls is not None:
        text = f"{found.calls:.1f}; without others {found.alone:.1f}"
        yield Figure("calls_a_graph", "calls a graph from its creation until it is ready", text, found.calls, 24, "24")
    if found.edits:
        half, most = (at(sorted(found.edits), share) for share in (50, 99))
        calls = f" of {found.edit:.1f} calls" if found.edit is not None else ""
        what = f"an edit meanwhile until it is acted on ({len(found.edits)} edits{calls})"
        yield Figure("edit_p50_seconds", what, f"p50 {half:.2f} s", half, 2, "p50 2 s")
        yield Figure("edit_p99_seconds", "the same, the slowest of a hundred", f"p99 {most:.2f} s", most, 5, "p99 5 s")


def grown(table: Table, runs: Sequence[Figures]) -> str:
    """Adds a row for each run and what a graph costs in it, with the ratio to the first; gives their section."""
    section, first = f"{APART}: what a graph costs as there are more", runs[0]
    keys = ("reconciler_cpu_ms", "api_server_cpu_ms", "calls_a_graph")
    before = {one.key: one for one in figures_of(first)}
    for found in runs:
        for one in figures_of(found):
            if one.key in keys and one.key in before:
                ratio = one.value / before[one.key].value
                goal = f"{GROWTH:g}" if found is not first else ""
                table.row(section, f"{found.graphs:,} graphs: {one.what}", one.told, ratio=ratio, goal=goal)
    return section
