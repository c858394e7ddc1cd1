"""A reconciler with many models of many pods: what it holds when all have their adapters, and what a pass over one costs then."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Final

from dynamo_webhooks.kube.client import connect
from tests.bench.crowd import Crowd
from tests.bench.footprint import footprint, spent
from tests.bench.models import DEFINITION, MODELS, WHERE, Fleet, objects_for
from tests.bench.table import APART, Table
from tests.cluster.assets.build import build
from tests.cluster.reconciling import Reconciled, installed

PODS: Final = 1000  # of each model, at addresses that answer at once


def section_of(models: int) -> str:
    """The heading of a run."""
    return f"{APART}: {models:,} models of {PODS:,} pods each"


def fleets(table: Table, folder: Path, models: int, minutes: float) -> None:
    """Measures and adds the rows."""
    with installed(build(), folder / "fleets", objects=objects_for(folder), definitions=(DEFINITION,)) as site:
        asyncio.run(_run(table, site, models, 60 * minutes))


async def _run(table: Table, site: Reconciled, models: int, patience: float) -> None:
    section, names = section_of(models), [f"m{number}" for number in range(models)]
    async with contextlib.AsyncExitStack() as stack:
        client = await connect("crowd", str(site.plane.kubeconfig))
        stack.push_async_callback(client.close)
        crowd = Crowd(site, client)
        stack.push_async_callback(crowd.close)
        process = await crowd.start()
        fleet = await stack.enter_async_context(Fleet(load=0.0))
        await stack.enter_async_context(fleet.watching(crowd))
        await crowd.rest(2.0)
        await fleet.place(crowd, names, PODS)
        size, cpu, began = footprint(process.pid), spent(process.pid), time.monotonic()
        await fleet.begin(crowd, names, PODS, patience)
        text = f"{time.monotonic() - began:.0f} s, of CPU {spent(process.pid) - cpu:.0f} s"
        table.row(section, "until all adapters are loaded, which takes a pod no time", text)
        await crowd.rest()
        table.row(section, "calls of a pod that load its adapter", f"{fleet.loads.total() / models / PODS:.2f}", goal="1")
        table.row(section, "memory over that without models", f"{(footprint(process.pid) - size) / 1e6:.0f} MB", goal="60 MB")
        used = spent(process.pid)
        for name in names:
            await client.merge_patch(MODELS, name, {"metadata": {"annotations": {"note": "1"}}}, WHERE)
        await crowd.rest()
        table.row(
            section, "CPU of a pass over a model that is at rest", f"{(spent(process.pid) - used) / models * 1e3:.1f} ms", goal="20 ms"
        )
