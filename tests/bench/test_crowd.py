"""What a run with many graphs tells when it could not end, and how costs are compared."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.bench import table as tables
from tests.bench.crowd import Crowd
from tests.bench.figures import Figures, figures_of, grown, section_of, summary, told
from tests.bench.graphs import FIRST, Plan, _rush
from tests.bench.table import Table


class Slow:
    """A crowd of which so many graphs are ready, and no more ever will be."""

    def __init__(self, ready: int) -> None:
        self.ready = {("crowd-0", f"g{number}") for number in range(FIRST + ready)}
        self.made = 0

    async def make(self, _first: int, count: int) -> None:
        """Makes all at once."""
        self.made = count

    async def until(self, count: int) -> None:
        """Never comes back but when all are ready."""
        while len(self.ready) < count:  # noqa: ASYNC110 - nothing ever changes
            await asyncio.sleep(0.01)

    async def edit(self, _number: int, _replicas: int) -> float:
        """A user who is served at once."""
        return 0.01


class Free:
    """Processes that use no CPU."""

    def seconds(self) -> list[float]:
        """Of two processes."""
        return [1.0, 2.0]


def _run(ready: int, graphs: int, minutes: float) -> Figures:
    plan, found = Plan(graphs, minutes=minutes), Figures(graphs)
    asyncio.run(_rush(cast("Crowd", Slow(ready)), plan, found, cast("Any", Free())))
    return found


def test_a_run_without_time_tells_how_far_it_came() -> None:
    found = _run(3, 20, 0.0)
    figures = {one.key: one for one in figures_of(found)}
    assert (found.reached, figures["ready_seconds"].met) == (3, False)
    assert figures["ready_seconds"].what == "until 3 were ready, when the run ended"
    assert {"calls_a_graph", "writes_at_rest", "restart_seconds"}.isdisjoint(figures)
    assert summary(found, [*figures.values()])["whole"] is False


def test_a_run_that_ends_has_its_goal() -> None:
    found = _run(20, 20, 30.0)
    [ready, ours, server, _] = figures_of(found)
    assert (found.reached, ready.met, ready.goal) == (20, True, 2.4)
    assert (ours.told, server.told) == ("50 ms", "100 ms")


def test_rows_are_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = Figures(1000, models=200, reached=1000, whole=True, ready=100.0, cpu=[1.0, 2.0, 0.5], calls=25.0, alone=20.0, writes=0)
    table = Table()
    told(table, found)
    assert {row.section for row in table.rows} == {section_of(found)}
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["graphs"], last["models"], last["reached"], last["whole"]) == (1000, 200, 1000, True)
    assert last["figures"]["calls_a_graph"] == {"value": 25.0, "goal": 24, "met": False}
    assert last["figures"]["writes_at_rest"] == {"value": 0, "goal": 0, "met": True}


def test_costs_are_compared_with_the_smallest_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "PAGE", tmp_path / "bench.md")
    runs = [Figures(number, reached=number, ready=1.0, cpu=[number * cost, 1.0, 0.5]) for number, cost in ((100, 0.05), (300, 0.06))]
    table = Table()
    assert grown(table, runs).startswith(tables.APART)
    ratios = {row.what: round(row.ratio, 2) for row in table.rows if "reconciler" in row.what}
    assert ratios == {
        "100 graphs: CPU a graph meanwhile: reconciler": 1.0,
        "300 graphs: CPU a graph meanwhile: reconciler": 1.2,
    }
