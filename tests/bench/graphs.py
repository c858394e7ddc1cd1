"""How a reconciler does with many graphs that come at once: speed, calls, a user's edit meanwhile, memory and writes at rest, a restart.

Deployments become ready at once, so that only the reconciler and the API server work. Both share the machine with the measurement, so
their CPU seconds say more than the time on the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.kube.client import connect
from tests.bench.crowd import COMPONENTS, Cost, Crowd, held
from tests.bench.footprint import spent
from tests.bench.table import APART
from tests.bench.waiting import at
from tests.cluster.assets.build import build
from tests.cluster.reconciling import installed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.table import Table

FIRST: Final = 10  # graphs that are ready before the others come; users edit these
ADDRESSES: Final = "--service-cluster-ip-range=10.0.0.0/12"  # of Services, as many as an API server can give
PAUSE: Final = 2.0  # seconds between two edits


class Figures(NamedTuple):
    """What one run measured; times are seconds, sizes bytes."""

    graphs: int
    ready: float
    cpu: list[float]  # of the reconciler and of the API server until all were ready
    calls: float  # a graph, without those of edits
    alone: float  # calls a graph without others
    edits: list[float]
    edit: float  # calls of one
    size: float  # a graph at rest
    writes: int
    rest: float  # seconds for which writes were counted
    restart: float  # from the start of the process until an edit has been acted on
    restart_cpu: float


def crowded(table: Table, folder: Path, graphs: int) -> str:
    """Measures with so many graphs and adds the rows; gives their section."""
    with installed(build(), folder / "crowd", flags=(ADDRESSES,)) as site:

        async def measured() -> Figures:
            async with contextlib.AsyncExitStack() as stack:
                client = await connect("crowd", str(site.plane.kubeconfig))
                stack.push_async_callback(client.close)
                crowd = Crowd(site, client)
                stack.push_async_callback(crowd.close)
                return await _measure(crowd, graphs)

        return _rows(table, asyncio.run(measured()))


async def _measure(crowd: Crowd, graphs: int) -> Figures:
    process = await crowd.start()
    before = await crowd.calls()
    await crowd.make(0, FIRST)
    await crowd.until(FIRST)
    await crowd.rest(2.0)
    alone = (await crowd.calls() - before) / FIRST
    size, before, cost, served = held(process), await crowd.calls(), Cost(process, crowd.site.plane.server), await crowd.served()
    began, edits = time.monotonic(), list[float]()
    over = asyncio.Event()
    editing = asyncio.ensure_future(_edit(crowd, edits, over))
    await crowd.make(FIRST, graphs)
    await crowd.until(FIRST + graphs)
    ready, cpu = time.monotonic() - began, cost.seconds()
    over.set()
    await editing
    await crowd.rest()
    calls = await crowd.calls() - before
    for what, number in sorted((await crowd.served() - served).items(), key=lambda one: -one[1])[:24]:
        print(f"  {number / graphs:6.2f} a graph: {' '.join(what)}", flush=True)
    grown, written, rest = held(process) - size, await crowd.writes(), min(60.0, graphs / 10)
    await asyncio.sleep(rest)
    writes = await crowd.writes() - written
    edit = await _cost_of_edit(crowd)
    restart, restart_cpu = await _restart(crowd)
    calls_a_graph = (calls - len(edits) * edit) / graphs
    return Figures(graphs, ready, cpu, calls_a_graph, alone, edits, edit, grown / graphs, writes, rest, restart, restart_cpu)


async def _edit(crowd: Crowd, edits: list[float], over: asyncio.Event) -> None:
    """Edits one graph after the other until it is over, none twice at a time."""
    busy: set[int] = set()

    async def once(number: int, replicas: int) -> None:
        busy.add(number)
        edits.append(await crowd.edit(number, replicas))
        busy.discard(number)

    async with asyncio.TaskGroup() as group:
        for turn in itertools.count():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), PAUSE)
                return
            if turn % FIRST not in busy:
                group.create_task(once(turn % FIRST, 2 + turn // FIRST))


async def _cost_of_edit(crowd: Crowd) -> float:
    """Calls for an edit until all is at rest again."""
    before = await crowd.calls()
    await asyncio.gather(*(crowd.edit(number, 90) for number in range(FIRST)))
    await crowd.rest(3.0)
    return (await crowd.calls() - before) / FIRST


async def _restart(crowd: Crowd) -> tuple[float, float]:
    """A roll-out of the reconciler: the old one ends, the new one meets an edit."""
    await asyncio.to_thread(crowd.site.processes.pop().stop)
    began = time.monotonic()
    process, _ = await asyncio.gather(crowd.start(), crowd.edit(0, 99))
    return time.monotonic() - began, spent(process.pid)


def _rows(table: Table, found: Figures) -> str:
    section = f"{APART}: {found.graphs:,} graphs of {COMPONENTS} components that come at once"
    ours, server = found.cpu
    goal = 120 * found.graphs / 1000
    table.row(section, "until all are ready", f"{found.ready:.0f} s, {found.graphs / found.ready:.1f} a second", goal=f"{goal:.0f} s")
    table.row(
        section,
        "CPU a graph meanwhile: reconciler, API server",
        f"{ours / found.graphs * 1e3:.0f} ms, {server / found.graphs * 1e3:.0f} ms",
    )
    table.row(
        section, "calls a graph from its creation until it is ready", f"{found.calls:.1f}; without others {found.alone:.1f}", goal="24"
    )
    told = ", ".join(f"p{share} {at(sorted(found.edits), share):.2f} s" for share in (50, 99))
    what = f"an edit meanwhile until it is acted on ({len(found.edits)} edits of {found.edit:.1f} calls)"
    table.row(section, what, told, goal="p50 2 s, p99 5 s")
    table.row(section, "memory a graph at rest", f"{found.size / 1000:.0f} kB", goal="90 kB")
    table.row(section, f"writes at rest in {found.rest:.0f} s", str(found.writes), goal="0")
    told = f"{found.restart:.1f} s, of CPU {found.restart_cpu:.1f} s"
    table.row(section, "a restarted reconciler until it has acted on an edit", told, goal="15 s")
    return section
