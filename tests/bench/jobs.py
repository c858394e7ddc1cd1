"""Many checkpoints and deployment requests on a real API server: what they cost at rest, and how soon what happens to them is acted on."""

import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from typing import Final

import yaml

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.request.phases import STEPS
from tests.bench.crowd import WRITES, Calls, served
from tests.bench.table import APART, Table
from tests.cluster.assets.build import build
from tests.cluster.harness import ControlPlane
from tests.cluster.playing import MERGE
from tests.cluster.reconciling import GRAPHS
from tests.cluster.scene import JOBS, MAPS, REQUESTS, Fleet, Scene, granted, graph_found
from tests.cluster.test_checkpoints import STATUS

CHECKPOINTS: Final = 200
WANTED: Final = 100  # requests
SAMPLES: Final = 10
REST: Final = 20.0  # seconds
BETWEEN: Final = 10.0  # seconds between two words of a profiler
SECTION: Final = f"{APART}: {CHECKPOINTS} checkpoints and {WANTED} deployment requests"
_OURS: Final = frozenset({"dynamocheckpoints", "dynamographdeploymentrequests", "jobs", "leases", "configmaps", "persistentvolumeclaims"})
_READS: Final = frozenset({"GET", "LIST"})
_RESULT: Final = {"profiler_status": "success", "final_config__yaml": yaml.safe_dump(graph_found())}


def jobs(table: Table, folder: Path) -> None:
    """Measures and adds the rows."""
    with granted(build(), folder, "models", "requests", "checkpoints") as plane:
        asyncio.run(_run(table, plane, folder))


async def _run(table: Table, plane: ControlPlane, folder: Path) -> None:
    async with Fleet(folder / "s") as fleet:
        rows = Scene(plane, folder, fleet)
        async with rows.reconciling():
            await _checkpoints(table, rows)
            await _requests(table, rows)


async def _checkpoints(table: Table, rows: Scene) -> None:
    made = {name: await rows.checkpoint(name) for name in (f"c{number}" for number in range(CHECKPOINTS))}
    for name in made:
        await rows.step("Creating", name)
    took = []
    for name, job in [*made.items()][:SAMPLES]:
        await rows.mark(JOBS, job, {STATUS: "completed"})
        took.append(await _seconds(rows.step("Ready", name)))
    _told(table, "a checkpoint from the agent's word until it is Ready", took)
    for job in [*made.values()][SAMPLES:]:
        await rows.mark(JOBS, job, {STATUS: "completed"})
    for name in made:
        await rows.step("Ready", name)
    await _rest(table, rows, f"{CHECKPOINTS} checkpoints that are Ready")


async def _requests(table: Table, rows: Scene) -> None:
    names, took = [f"r{number}" for number in range(WANTED)], []
    for name in names:
        await rows.request(name)
        took.append(await _seconds(rows.until(JOBS, f"profile-{name}", lambda one: one)))
    _told(table, "a request from its creation until its Job is there", took)
    for name in names:
        await rows.phase("Profiling", name)
    await _rest(table, rows, f"{WANTED} requests in Profiling")
    before, rounds = await _calls(rows.plane), STEPS[1:4]
    for step in rounds:
        began = time.monotonic()
        for name in names:
            await rows.ask("PATCH", f"{MAPS}/dgdr-output-{name}", {"data": {"phase": step, "message": "at work"}}, MERGE)
        await asyncio.sleep(began + BETWEEN - time.monotonic())
    for name in names:
        await rows.until(REQUESTS, name, lambda one: one["status"].get("profilingPhase") == rounds[-1])
    writes = ((await _calls(rows.plane)) - before)["PATCH", "dynamographdeploymentrequests", "status"] / len(rounds)
    table.row(SECTION, "status writes while all of them tell progress each 10 s", f"{writes:.0f} in 10 s", goal=f"{WANTED}")
    ended = []
    for name in names[:SAMPLES]:
        await rows.end(name, **_RESULT)
        await rows.until(JOBS, f"profile-{name}", _is_complete)
        ended.append(await _seconds(rows.until(GRAPHS, f"{name}-dgd", lambda one: one)))
    _told(table, "a request from its Job's completion until its graph is there", ended)
    refused = []
    for name in names[SAMPLES : 2 * SAMPLES]:
        await rows.end(name, **{**_RESULT, "final_config__yaml": "{{{"})
        await rows.until(JOBS, f"profile-{name}", _is_complete)
        refused.append(await _seconds(rows.phase("Failed", name)))
    _told(table, "a request from its Job's completion with a result that can't be read until it is Failed", refused)


def _is_complete(job: Node) -> bool:
    return "Complete" in [each["type"] for each in job["status"].get("conditions", ())]


async def _seconds(happens: Awaitable[object]) -> float:
    began = time.monotonic()
    await happens
    return time.monotonic() - began


async def _calls(plane: ControlPlane) -> Calls:
    return await asyncio.to_thread(served, plane)


async def _rest(table: Table, rows: Scene, what: str) -> None:
    """Counts the calls of anybody about these kinds, once all is done; but for the status of Jobs, which Kubernetes writes."""
    await asyncio.sleep(REST / 2)
    before = await _calls(rows.plane)
    await asyncio.sleep(REST)
    told = {key: number for key, number in (await _calls(rows.plane) - before).items() if key[1] in _OURS}
    others = ("leases", ""), ("jobs", "status")
    written = {key: number for key, number in told.items() if key[0] in WRITES and key[1:] not in others}
    for key, number in written.items():
        print(f"  {number} writes: {' '.join(key)}", flush=True)
    reads = sum(number for (verb, _, _), number in told.items() if verb in _READS)
    table.row(SECTION, f"{what}: writes at rest in {REST:g} s; reads", f"{sum(written.values())}; {reads}", goal="0")


def _told(table: Table, what: str, seconds: list[float]) -> None:
    table.row(SECTION, what, f"p50 {median(seconds):.2f} s, longest of {len(seconds)} {max(seconds):.2f} s", goal="1 s")
