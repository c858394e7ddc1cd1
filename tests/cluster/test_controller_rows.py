"""What checkpoints and requests become on a real API server, row by row: Jobs, Leases, edits, deletions, and deaths of the process."""

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.kube.resources import Resource
from tests.cluster.harness import ControlPlane
from tests.cluster.processes import PATIENCE
from tests.cluster.reconciling import GRAPHS
from tests.cluster.scene import CHECKPOINTS, JOBS, REQUESTS, Fleet, Scene, granted, graph_found
from tests.golden.test_checkpoints import RECORDED_JOBS, made_of
from tests.golden.test_requests import CASES, PROFILED, rendered_of

WRITES: Final = frozenset({"create", "replace", "json_patch", "merge_patch", "apply", "delete"})
SPARED: Final = frozenset({"leases", "events"})


class Dying:
    """Lets one write through, of whose success the reconciler never hears; nor can it write anything else."""

    def __init__(self) -> None:
        self.dead = asyncio.Event()
        self._cluster: Cluster | None = None
        self._writes = 0

    def around(self, cluster: Cluster) -> Cluster:
        """What the reconciler calls."""
        self._cluster = cluster
        return cast("Cluster", self)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._cluster, name)

        async def write(resource: Resource, *arguments: Any, **more: Any) -> Any:
            if resource.plural in SPARED:
                return await call(resource, *arguments, **more)
            self._writes += 1
            if self._writes == 1:
                await call(resource, *arguments, **more)
                self.dead.set()
            return await asyncio.Event().wait()

        return write if name in WRITES else call


LIVES: Final = 60  # of a process until everything has been done, of which each writes once


@pytest.fixture(scope="module")
def planned(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Path]]:
    home = tmp_path_factory.mktemp("rows")
    with granted(assets, home, "models", "requests", "checkpoints") as plane:
        yield plane, home


@pytest.fixture
async def rows(planned: tuple[ControlPlane, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    async with Fleet(tmp_path_factory.mktemp("s") / "s") as fleet:
        yield Scene(*planned, fleet)


async def test_every_job_that_is_made_of_the_record_is_accepted(rows: Scene) -> None:
    made = [one for case in RECORDED_JOBS.values() for one in made_of(case)[0]]
    made += [one for name in PROFILED for one in rendered_of(CASES[name]).children]
    jobs = [copy.deepcopy(one) for one in made if one["kind"] == "Job"]
    assert len(jobs) > 90
    refused = []
    for job in jobs:
        job["metadata"] |= {"namespace": rows.namespace, "ownerReferences": []}
        reply = await asyncio.to_thread(rows.plane.request, "POST", f"{JOBS.format(rows.namespace)}?dryRun=All", job)
        if reply.status != 201:
            refused.append((job["metadata"]["name"], reply.body["message"][:300]))
    [(name, why)] = refused
    assert (name, "extra" in why) == ("profile-req", True), "the author of one request mounts a volume that is not there"


async def _lives(rows: Scene, is_done: Callable[[], Awaitable[bool]]) -> int:
    """How many processes it takes until something is done, of which each is killed at its first write."""
    for number in range(LIVES):
        dying = Dying()
        async with rows.reconciling(through=dying.around), asyncio.timeout(PATIENCE):
            while not dying.dead.is_set() and not await is_done():  # noqa: ASYNC110 - two things are waited for
                await asyncio.sleep(0.05)
        if await is_done():
            return number
    raise AssertionError(LIVES)


async def test_killed_after_every_write_there_is_one_job_and_one_graph(rows: Scene) -> None:
    async def is_in(path: str, name: str, phase: str) -> bool:
        return str((await rows.ask("GET", f"{path}/{name}")).get("status", {}).get("phase")) == phase

    job = await rows.checkpoint("ck")
    await rows.request("chat", autoApply=True)
    lives = await _lives(rows, lambda: is_in(CHECKPOINTS, "ck", "Creating"))
    lives += await _lives(rows, lambda: is_in(REQUESTS, "chat", "Profiling"))
    jobs = {one["metadata"]["name"]: one["metadata"]["uid"] for one in await rows.all(JOBS)}
    assert {*jobs} == {job, "profile-chat"}
    await rows.end("chat", profiler_status="success", final_config__yaml=yaml.safe_dump(graph_found()))

    async def is_deployed() -> bool:
        told = (await rows.ask("GET", f"{REQUESTS}/chat"))["status"].get("conditions", ())
        return "DeploymentInProgress" in [one["reason"] for one in told]

    lives += await _lives(rows, is_deployed)
    assert lives >= 10
    assert {one["metadata"]["name"]: one["metadata"]["uid"] for one in await rows.all(JOBS)} == jobs
    assert [one["metadata"]["name"] for one in await rows.all(GRAPHS)] == ["chat-dgd"]
