"""How a reconciler does with many graphs that come at once: speed, calls, a user's edit meanwhile, memory and writes at rest, a restart.

Deployments become ready at once, so that only the reconciler and the API server work. Both share the machine with the measurement, so
their CPU seconds say more than the time on the clock. A run that is stopped, or has too little time, tells what it has measured.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dynamo_webhooks.kube.client import connect
from tests.bench.crowd import Cost, Crowd, held
from tests.bench.figures import Figures, told
from tests.bench.footprint import spent
from tests.bench.models import DEFINITION, Fleet, objects_for
from tests.bench.table import Table
from tests.cluster.assets.build import build
from tests.cluster.reconciling import Reconciled, installed

FIRST: Final = 10  # graphs that are ready before the others come; users edit these
# Addresses for all Services, given as API servers did it until 1.32. Those from 1.33 on count all addresses there are with each that they
# give: at 16,000 Services that is 63 % of what an API server 1.34 does (CPU profile), and grows by the square.
ADDRESSES: Final = ("--service-cluster-ip-range=10.0.0.0/16", "--emulated-version=1.32")
QUOTA: Final = {"ETCD_QUOTA_BACKEND_BYTES": str(8 * 2**30)}  # ten thousand graphs with their history are near etcd's usual 2 GiB
PAUSE: Final = 2.0  # seconds between two edits
AFTERWARDS: Final = 300.0  # seconds that are kept for what is measured when all are ready
DIFFERENT: Final = 50  # replicas that users ask for, one after the other


@dataclass
class Plan:
    """What is measured, and until when on the monotonic clock."""

    graphs: int
    models: int = 0
    minutes: float = 30.0
    end: float = field(init=False)

    def __post_init__(self) -> None:
        """The time begins."""
        self.end = time.monotonic() + 60 * self.minutes


def crowded(table: Table, folder: Path, plan: Plan) -> Figures:
    """Measures and adds the rows, of as much as there was time for."""
    found = Figures(plan.graphs, plan.models)
    os.environ.update(QUOTA)
    objects, definitions = (objects_for(folder), (DEFINITION,)) if plan.models else (None, ())
    try:
        with (
            contextlib.suppress(asyncio.CancelledError, TimeoutError),
            installed(build(), folder / "crowd", objects=objects, definitions=definitions, flags=ADDRESSES) as site,
        ):
            asyncio.run(_run(site, plan, found))
            found.whole = found.reached == plan.graphs
    finally:
        told(table, found)
    return found


async def _run(site: Reconciled, plan: Plan, found: Figures) -> None:
    """Measures until it is done or is told to stop."""
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    assert me is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, me.cancel)
    async with contextlib.AsyncExitStack() as stack:
        client = await connect("crowd", str(site.plane.kubeconfig))
        stack.push_async_callback(client.close)
        crowd = Crowd(site, client)
        stack.push_async_callback(crowd.close)
        async with asyncio.timeout_at(loop.time() + plan.end - time.monotonic()):
            await _measure(crowd, plan, found)


async def _measure(crowd: Crowd, plan: Plan, found: Figures) -> None:
    process = await crowd.start()
    before = await crowd.calls()
    await crowd.make(0, FIRST)
    await crowd.until(FIRST)
    await crowd.rest(2.0)
    found.alone = (await crowd.calls() - before) / FIRST
    size, before, served = held(process), await crowd.calls(), await crowd.served()
    await _rush(crowd, plan, found, Cost(process, crowd.site.plane.server))
    if found.reached < plan.graphs:
        print(f"  (no time is left: {found.reached} of {plan.graphs} are ready)", flush=True)
        found.restart, found.restart_cpu = await _restart(crowd)
        return
    await crowd.rest()
    calls = await crowd.calls() - before
    for what, number in sorted((await crowd.served() - served).items(), key=lambda one: -one[1])[:24]:
        print(f"  {number / plan.graphs:6.2f} a graph: {' '.join(what)}", flush=True)
    found.size = (held(process) - size) / plan.graphs
    if plan.models:
        async with Fleet() as fleet:
            await fleet.measure(crowd, process, found)
            await _at_rest(crowd, plan, found)
    else:
        await _at_rest(crowd, plan, found)
    found.edit = await _cost_of_edit(crowd)
    found.calls = (calls - len(found.edits) * found.edit) / plan.graphs
    found.rolled = await crowd.roll()
    await crowd.rest()
    found.restart, found.restart_cpu = await _restart(crowd)


async def _rush(crowd: Crowd, plan: Plan, found: Figures, cost: Cost) -> None:
    """Makes all graphs at once and waits for them as long as there is time, with users who edit others meanwhile."""
    began, own, over = time.monotonic(), time.process_time(), asyncio.Event()

    editing = asyncio.ensure_future(_edit(crowd, found.edits, over))
    left = plan.end - AFTERWARDS - time.monotonic()
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(crowd.make(FIRST, plan.graphs), crowd.until(FIRST + plan.graphs)), left)
    finally:
        found.reached = max(0, len(crowd.ready) - FIRST)
        found.ready, found.cpu = time.monotonic() - began, [*cost.seconds(), time.process_time() - own]
    over.set()
    await editing


async def _at_rest(crowd: Crowd, plan: Plan, found: Figures) -> None:
    written, before, found.rest = await crowd.writes(), await crowd.calls(), min(60.0, max(5.0, plan.graphs / 10))
    await asyncio.sleep(found.rest)
    found.writes, found.calls_at_rest = await crowd.writes() - written, max(0, await crowd.calls() - before)  # but for a Lease's renewal


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
                group.create_task(once(turn % FIRST, 2 + turn // FIRST % DIFFERENT))


async def _cost_of_edit(crowd: Crowd) -> float:
    """Calls for an edit until all is at rest again."""
    before = await crowd.calls()
    edits: list[Awaitable[float]] = [crowd.edit(number, 90) for number in range(FIRST)]
    await asyncio.gather(*edits)
    await crowd.rest(3.0)
    return (await crowd.calls() - before) / FIRST


async def _restart(crowd: Crowd) -> tuple[float, float]:
    """The only reconciler ends; the next one meets an edit."""
    await asyncio.to_thread(crowd.site.processes.pop().stop)
    began = time.monotonic()
    process, _ = await asyncio.gather(crowd.start(), crowd.edit(0, 99))
    return time.monotonic() - began, spent(process.pid)
