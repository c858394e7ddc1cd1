"""What checkpoints and requests become on a real API server, row by row: Jobs, Leases, edits, deletions, and deaths of the process."""

from __future__ import annotations

import asyncio
import copy
import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
import yaml

from dynamo_webhooks.api.operator.settings import CheckpointSettings, RequestSettings
from dynamo_webhooks.reconciler.loop import checkpoint as checkpoint_pass
from dynamo_webhooks.reconciler.loop import queue
from dynamo_webhooks.reconciler.loop import request as request_pass
from dynamo_webhooks.reconciler.loop import requests as request_pods
from dynamo_webhooks.reconciler.loop.marks import RETRY
from dynamo_webhooks.reconciler.request.copier import copy as copy_result
from tests.cluster.dying import Dying, Failing
from tests.cluster.playing import MERGE
from tests.cluster.processes import PATIENCE
from tests.cluster.reconciling import DEPLOYMENTS, GRAPHS, PODS
from tests.cluster.rows import Rows, granted
from tests.cluster.test_checkpoints import CHECKPOINTS, STATUS, TARGET
from tests.cluster.test_models import BASE, Fleet
from tests.cluster.test_requests import JOBS, MAPS, REQUESTS, Kubelet, graph_found
from tests.golden.test_checkpoints import RECORDED_JOBS, made_of
from tests.golden.test_requests import CASES, PROFILED, rendered_of
from tests.reconciler.rendering import graph, vllm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from dynamo_webhooks.kube.protocol import Cluster
    from tests.cluster.harness import ControlPlane

Node = dict[str, Any]
OVERRIDES: Final = "nvidia.com/dgdr-deployment-overrides"  # annotation in which conversion keeps what v1beta1 has no field for
LIVES: Final = 60  # of a process until everything has been done, of which each writes once
STORED: Final = CheckpointSettings(True, "", "pvc", "snaps", "/c", False, "", "", "", roll=False, fallback=False)


@pytest.fixture(scope="module")
def planned(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Path]]:
    home = tmp_path_factory.mktemp("rows")
    with granted(assets, home) as plane:
        yield plane, home


@pytest.fixture
async def rows(planned: tuple[ControlPlane, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rows]:
    fleet = Fleet(tmp_path_factory.mktemp("s") / "s")
    await fleet.start()
    found = Rows(*planned, fleet)
    yield found
    for path in (REQUESTS, CHECKPOINTS, GRAPHS):  # later tests have other reconcilers, which see all namespaces
        await found.ask("DELETE", f"{path}?propagationPolicy=Background")
    await fleet.stop()


async def test_every_job_that_is_made_of_the_record_is_accepted(rows: Rows) -> None:
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


async def test_a_lease_in_force_is_waited_for_by_the_next_process_and_a_lost_job_is_told(rows: Rows) -> None:
    names = ("working", "denied", "late", "gone", "running", "nameless")
    async with rows.reconciling():
        jobs = {name: await rows.checkpoint(name) for name in names}
        for name in names:
            await rows.step("Creating", name)
        for name, seconds in (("working", 3600), ("denied", 3600), ("late", 1)):
            await rows.leased(jobs[name], seconds)
            await rows.ended(jobs[name])
        await rows.step("Failed", "late", "CheckpointVerificationFailed")
        await rows.ask("DELETE", f"{JOBS}/{jobs['gone']}?propagationPolicy=Background")
        await rows.step("Failed", "gone", "JobDeleted")
    await rows.ask("PATCH", f"{CHECKPOINTS}/nameless/status", {"status": {"jobName": None}}, MERGE)
    async with rows.reconciling():
        await rows.until(CHECKPOINTS, "nameless", lambda one: one["status"].get("jobName") == jobs["nameless"])
        await rows.mark(JOBS, jobs["denied"], {STATUS: "failed"})
        await rows.step("Failed", "denied", "CheckpointVerificationFailed")
        for name in ("working", "running"):
            assert (await rows.ask("GET", f"{CHECKPOINTS}/{name}"))["status"]["phase"] == "Creating"
        await rows.mark(JOBS, jobs["working"], {STATUS: "completed"})
        await rows.step("Ready", "working", "JobSucceeded")


async def test_a_claim_that_is_made_afterwards_is_found(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_pass, "SLOWLY", 1.0)
    async with rows.reconciling(checkpoint=STORED):
        await rows.checkpoint("ck")
        await rows.step("Pending", "ck", "StorageNotReady")
        await rows.claim()
        await rows.step("Creating", "ck", "JobCreated")


async def test_running_workers_wait_for_their_next_change_and_start_cold_without_the_checkpoint(rows: Rows) -> None:
    worker = vllm("worker", replicas=1, experimental={"checkpoint": {"checkpointRef": "warm"}})

    async def restores(reason: str) -> Node:
        def is_so(one: Node) -> bool:
            return reason in [each["reason"] for each in one.get("status", {}).get("conditions", ()) if each["type"] == "Restore"]

        await rows.until(GRAPHS, "g", is_so)
        await rows.until(GRAPHS, "g", lambda one: one["status"].get("state") == "successful")
        [found] = await rows.all(DEPLOYMENTS)
        return found

    with Kubelet(rows.plane, rows.namespace):
        async with rows.reconciling(checkpoint=STORED):
            await rows.claim()
            job = await rows.checkpoint("warm")
            await rows.ask("POST", GRAPHS, {**graph(worker), "metadata": {"name": "g"}})
            before = await restores("CheckpointNotReady")
            await rows.mark(JOBS, job, {STATUS: "completed"})
            after = await restores("RestoreAvailable")
            assert after["spec"] == before["spec"]
            assert (await rows.ask("GET", f"{GRAPHS}/g"))["status"]["checkpoints"]["worker"]["ready"] is True
            worker["podTemplate"]["metadata"] = {"annotations": {"note": "1"}}
            await rows.ask("PATCH", f"{GRAPHS}/g", {"spec": {"components": [worker]}}, MERGE)
            after = await restores("Restored")
            assert after["spec"]["template"]["metadata"]["labels"][TARGET] == "true"
            await rows.ask("DELETE", f"{CHECKPOINTS}/warm")
            after = await restores("CheckpointMissing")
            assert TARGET not in after["spec"]["template"]["metadata"]["labels"]
            await rows.ask("DELETE", f"{GRAPHS}/g?propagationPolicy=Background")


async def _lives(rows: Rows, is_done: Callable[[], Awaitable[bool]]) -> int:
    """How many processes it takes until something is done, of which each is killed at its first write."""
    for number in range(LIVES):
        dying = Dying()
        async with rows.reconciling(through=dying.around), asyncio.timeout(PATIENCE):
            while not dying.dead.is_set() and not await is_done():  # noqa: ASYNC110 - two things are waited for
                await asyncio.sleep(0.05)
        if await is_done():
            return number
    raise AssertionError(LIVES)


async def test_killed_after_every_write_there_is_one_job_and_one_graph(rows: Rows) -> None:
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


async def test_writes_that_fail_once_each_end_nothing(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MOST", 0.5)  # a dozen failures in a row
    with Kubelet(rows.plane, rows.namespace):
        async with rows.reconciling(through=lambda cluster: cast("Cluster", Failing(cluster))):
            job = await rows.checkpoint("ck")
            await rows.request("chat", autoApply=True)
            await rows.step("Creating", "ck")
            await rows.mark(JOBS, job, {STATUS: "completed"})
            await rows.phase("Profiling", "chat")
            await rows.end("chat", profiler_status="success", final_config__yaml=yaml.safe_dump(graph_found()))
            await rows.step("Ready", "ck")
            await rows.phase("Deployed", "chat")


def _is_another(before: Node, one: Node) -> bool:
    return not one or one["metadata"]["uid"] != before["metadata"]["uid"]


async def test_how_profiling_fails_is_told_and_a_deleted_job_is_made_once_more(rows: Rows) -> None:
    async with rows.reconciling():
        await rows.request("claimless", modelCache={"pvcName": "none"})
        for name in ("broken", "gave-up", "lost"):
            await rows.request(name)
            await rows.phase("Profiling", name)
        await rows.ended("profile-broken", "Failed")
        await rows.end("gave-up", profiler_status="failed", profiler_error="no GPU fits")
        for _ in range(2):
            before = await rows.until(JOBS, "profile-lost", bool)
            await rows.ask("DELETE", f"{JOBS}/profile-lost?propagationPolicy=Background")
            await rows.until(JOBS, "profile-lost", partial(_is_another, before))
        for name in ("claimless", "broken", "gave-up", "lost"):
            await rows.phase("Failed", name)
        assert (await rows.told("claimless", "Validation"))[0] == "ValidationFailed"
        assert (await rows.told("broken", "Profiling"))[0] == "InitializingFailed"
        assert (await rows.told("gave-up", "Profiling")) == ("InitializingFailed", "profiling failed: no GPU fits")
        assert "made 2 times" in (await rows.told("lost", "Profiling"))[1]


async def test_a_graph_that_degrades_comes_back_and_one_that_is_deleted_does_not(rows: Rows) -> None:
    with Kubelet(rows.plane, rows.namespace) as kubelet:
        async with rows.reconciling():
            await rows.request("chat", autoApply=True)
            await rows.phase("Profiling", "chat")
            await rows.end("chat", profiler_status="success", final_config__yaml=yaml.safe_dump(graph_found()))
            await rows.phase("Deployed", "chat")
            kubelet.held = True
            for one in await rows.all(PODS):
                if "job-name" not in one["metadata"]["labels"]:
                    await rows.ask("DELETE", f"{PODS}/{one['metadata']['name']}?gracePeriodSeconds=0")
            await rows.phase("Deploying", "chat")
            assert (await rows.told("chat", "DeploymentReady"))[0] in ("DeploymentDegraded", "DeploymentInProgress")
            kubelet.held = False
            await rows.phase("Deployed", "chat")
            await rows.ask("DELETE", f"{GRAPHS}/chat-dgd?propagationPolicy=Background")
            await rows.phase("Failed", "chat")
            assert (await rows.told("chat", "DeploymentReady"))[0] == "DeploymentDeleted"
            await rows.mark(REQUESTS, "chat", {RETRY: "1"})
            await rows.until(GRAPHS, "chat-dgd", bool)
            await rows.ask("DELETE", f"{REQUESTS}/chat")
            await rows.until(JOBS, "profile-chat", lambda one: not one)
            await rows.ask("DELETE", f"{GRAPHS}/chat-dgd?propagationPolicy=Background")


async def test_an_edit_that_is_taken_back_and_what_v1alpha1_asked_of_the_graph(rows: Rows) -> None:
    overrides = {"name": "named", "labels": {"l": "v"}, "annotations": {"an": "v"}}
    async with rows.reconciling():
        await rows.request("old", {OVERRIDES: json.dumps(overrides)})
        await rows.request("astray", {OVERRIDES: json.dumps({"namespace": "other"})})
        await rows.request("edited", autoApply=False)
        for name in ("old", "edited"):
            await rows.phase("Profiling", name)
        await rows.ask("PATCH", f"{REQUESTS}/edited", {"spec": {"model": "another"}}, MERGE)
        await rows.until(REQUESTS, "edited", lambda one: "SpecChanged" in [each["type"] for each in one["status"]["conditions"]])
        await rows.ask("PATCH", f"{REQUESTS}/edited", {"spec": {"model": BASE}}, MERGE)
        await rows.until(REQUESTS, "edited", lambda one: "SpecChanged" not in [each["type"] for each in one["status"]["conditions"]])
        for name in ("edited", "old"):
            await rows.end(name, profiler_status="success", final_config__yaml=yaml.safe_dump(graph_found()))
        await rows.phase("Failed", "astray")
        assert "namespace" in (await rows.told("astray", "Validation"))[1]
        await rows.phase("Ready", "edited")
        metadata = (await rows.until(GRAPHS, "named", bool))["metadata"]
        assert (metadata["labels"]["l"], metadata["annotations"]["an"]) == ("v", "v")


async def test_a_pod_that_waits_and_a_result_that_is_too_large_are_told(
    rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_pods, "PATIENCE", 1.0)
    monkeypatch.setattr(request_pass, "POLL", 1.0)
    async with rows.reconciling():
        for name in ("waiting", "large"):
            await rows.request(name)
            await rows.phase("Profiling", name)
        lacking = {"reason": "CreateContainerConfigError", "message": 'secret "hf-token-secret" not found'}
        container = {"name": "profiler", "state": {"waiting": lacking}, "image": "i", "imageID": "", "ready": False, "restartCount": 0}
        pod = await rows.pod_of("waiting")
        await rows.ask("PATCH", f"{PODS}/{pod}/status", {"status": {"phase": "Pending", "containerStatuses": [container]}}, MERGE)
        (tmp_path / "profiler_status.yaml").write_text("status: success\n")
        (tmp_path / "final_config.yaml").write_text("x" * 2 * 1024 * 1024)
        ended = asyncio.Event()
        ended.set()
        async with rows.as_profiler("large") as cluster:
            await copy_result(cluster, rows.namespace, "dgdr-output-large", tmp_path, ended)
        await rows.ended("profile-large")
        await rows.phase("Failed", "large")
        assert "final_config.yaml must be at most" in (await rows.told("large", "Profiling"))[1]
        await rows.until(REQUESTS, "waiting", lambda one: lacking["message"] in str(one["status"]["conditions"]))


async def test_a_deleted_request_leaves_nothing_but_its_graph(rows: Rows) -> None:
    async with rows.reconciling():
        for name in ("profiling", "ready", "failed"):
            await rows.request(name, autoApply=False)
            await rows.phase("Profiling", name)
        await rows.end("ready", profiler_status="success", final_config__yaml=yaml.safe_dump(graph_found()))
        await rows.end("failed", profiler_status="success", final_config__yaml="{{{")
        await rows.phase("Ready", "ready")
        await rows.phase("Failed", "failed")
    async with rows.reconciling(requests=RequestSettings("", 3600.0, write_hardware=False)):
        await rows.request("pending")
        await rows.until(REQUESTS, "pending", lambda one: "CopierImageUnknown" in json.dumps(one.get("status", {})))
        for name in ("profiling", "ready", "failed", "pending"):
            await rows.ask("DELETE", f"{REQUESTS}/{name}")
        for name in ("profiling", "ready", "failed", "pending"):
            await rows.until(REQUESTS, name, lambda one: not one)
            await rows.until(JOBS, f"profile-{name}", lambda one: not one)
            await rows.until(MAPS, f"dgdr-output-{name}", lambda one: not one)
        assert await rows.all(GRAPHS) == []
