"""The picture of a run: ratios by route, cost by size, answer times by percentile, memory over requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.table import Table

MEMORY_GOAL: Final = 80.0  # MB


def draw(table: Table, file: Path) -> None:
    """Draws four panels into a PNG; without a display."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(13, 10), layout="constrained")
    _ratios(panels[0][0], table)
    _lines(panels[0][1], table, "cost", "how many objects in a review, or services in a graph", "CPU for each, us")
    panels[0][1].set(xscale="log", yscale="log", title="Growth: a flat line is linear")
    _lines(panels[1][0], table, "times", "share of the requests, %", "answered within, ms")
    panels[1][0].set(yscale="log", title="Waiting: 16 connections, 300 requests a second")
    _lines(panels[1][1], table, "memory", "requests, thousands", "resident, MB")
    panels[1][1].axhline(MEMORY_GOAL, color="black", linestyle="--")
    panels[1][1].set(ylim=(0, MEMORY_GOAL * 1.25), title="Memory of a worker, and its goal")
    figure.savefig(file, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def _ratios(panel: Any, table: Table) -> None:
    """A bar for each route, and a mark at its goal."""
    rows = [row for row in table.rows if row.ratio and row.section.startswith(("Single", "Bulk"))][::-1]
    names = [row.what.partition(" (")[0] for row in rows]
    panel.barh(
        names, [row.ratio for row in rows], color=["tab:blue" if not row.limit or row.ratio <= row.limit else "tab:red" for row in rows]
    )
    goals = [(row.limit, index) for index, row in enumerate(rows) if row.limit]
    panel.scatter([limit for limit, _ in goals], [index for _, index in goals], marker="|", s=90, color="black", label="goal", zorder=3)
    panel.set_xlabel("CPU per request (or object) as a ratio to the bare answer")
    panel.set_title("Speed: red is beyond its goal")
    panel.tick_params(axis="y", labelsize=6)
    panel.legend()


def _lines(panel: Any, table: Table, name: str, across: str, up: str) -> None:
    for line, points in table.series.get(name, {}).items():
        panel.plot(*zip(*points, strict=True), marker="o", markersize=3, label=line)
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.grid(visible=True, alpha=0.3)
    panel.legend(fontsize=8)
