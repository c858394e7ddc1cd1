"""Passes over DynamoCheckpoints: the Job that is made, and what is written and said of it."""

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CLAIMS, LEASES
from dynamo_webhooks.kube.times import format_micro_time
from dynamo_webhooks.reconciler.checkpoint.phases import IMAGE
from dynamo_webhooks.reconciler.common.problems import SLOW_RETRY_SECONDS
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, FINALIZER, JOBS, MANAGER, RETRY
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION, CHECKPOINT_ID
from tests.reconciler.checkpoint.objects import HASH, JOB, STATUS, checkpoint, ended, lease
from tests.reconciler.site import NAMESPACE, Site, settings
from tests.rows import run_each

CLAIM: Final = "checkpoint: {storage: {type: pvc, pvc: {pvcName: snaps, basePath: /c}}}\n"


class Scene(Site):
    """A site with checkpoints, and what agents and the Job controller do."""

    async def put(self, *objects: Node) -> None:
        """Creates checkpoints, claims, Jobs or Leases."""
        for obj in objects:
            resource = {each.kind: each for each in (CHECKPOINTS, CLAIMS, JOBS, LEASES)}[obj["kind"]]
            await self.user.create(resource, obj, NAMESPACE)
            if status := obj.get("status"):
                await self.kubelet.merge_patch(resource, obj["metadata"]["name"], {"status": status}, NAMESPACE, subresource="status")

    async def checkpoint(self, name: str = "ck") -> Node:
        """A checkpoint as it is stored."""
        return await self.get(CHECKPOINTS, name)

    async def phase(self, name: str = "ck") -> str:
        """The phase of a checkpoint."""
        return str((await self.checkpoint(name)).get("status", {}).get("phase"))

    async def told(self, kind: str, name: str = "ck") -> tuple[str, str, str]:
        """Status, reason and message of a condition of a checkpoint."""
        [condition] = [condition for condition in (await self.checkpoint(name))["status"]["conditions"] if condition["type"] == kind]
        return condition["status"], condition["reason"], condition["message"]

    async def mark(self, value: str, name: str = JOB) -> None:
        """What an agent writes on a Job."""
        await self.patch(JOBS, name, {"metadata": {"annotations": {STATUS: value}}}, 2)

    async def end(self, how: str, name: str = JOB) -> None:
        """What the Job controller writes when a Job has ended."""
        await self.report(JOBS, name, ended(how), 2)

    async def annotate(self, name: str, value: str) -> None:
        """Changes an annotation of the checkpoint as a user does."""
        await self.patch(CHECKPOINTS, "ck", {"metadata": {"annotations": {name: value}}}, 3)


@contextlib.asynccontextmanager
async def scene(*objects: Node, more: str = "") -> AsyncIterator[Scene]:
    """A cluster with these objects, at rest."""
    made = Scene(settings(more))
    await made.put(*objects)
    async with made.running(seconds=3):
        yield made


def claim(name: str = "snaps") -> Node:
    """A claim for snapshots."""
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {}}


async def test_a_checkpoint_from_its_job_to_its_end() -> None:
    async with scene(checkpoint()) as site:
        obj = await site.checkpoint()
        assert obj["metadata"]["labels"] == {"nvidia.com/snapshot-checkpoint-id": HASH}
        assert {key: obj["status"][key] for key in ("phase", "jobName", "identityHash")} == {
            "phase": "Creating",
            "jobName": JOB,
            "identityHash": HASH,
        }
        assert await site.told("JobCreated") == ("True", "JobCreated", f"Checkpoint job {JOB} created")
        job = (await site.all(JOBS))[JOB]
        assert job["metadata"]["ownerReferences"][0]["uid"] == obj["metadata"]["uid"]
        assert {entry["manager"] for entry in job["metadata"]["managedFields"]} == {MANAGER}
        assert "ttlSecondsAfterFinished" not in job["spec"]
        await site.user.merge_patch(JOBS, JOB, {"metadata": {"annotations": {STATUS: "completed"}}}, NAMESPACE)
        await site.end("Complete")
        obj = await site.checkpoint()
        assert (obj["status"]["phase"], obj["status"]["createdAt"]) == ("Ready", "2030-01-01T00:00:00Z")
        assert await site.told("JobCompleted") == ("True", "JobSucceeded", "Checkpoint job completed successfully")
        assert obj["metadata"]["annotations"][IMAGE] == "img:1"
        assert (await site.all(JOBS))[JOB]["spec"]["ttlSecondsAfterFinished"] == 300
        assert await site.reasons() == ["CreateJob", "CheckpointReady"]


async def test_nothing_is_read_or_written_at_rest() -> None:
    several = [{**checkpoint(f"ck{number}")} for number in range(3)]
    for number, obj in enumerate(several):
        obj["spec"]["identity"] = {**obj["spec"]["identity"], "model": f"m{number}"}
    async with scene(*several) as site:
        for name in [*(await site.all(JOBS))]:
            await site.mark("completed", name)
            await site.end("Complete", name)
        await site.later(3)
        assert [await site.phase(f"ck{number}") for number in range(3)] == ["Ready"] * 3
        reads: list[str] = []
        site.cluster.fail(lambda verb, resource, *_: reads.append(f"{verb} {resource and resource.plural}"))
        assert await site.writes_within(300) == []
        assert not {"get jobs", "get dynamocheckpoints", "get persistentvolumeclaims"} & {*reads}


async def test_a_lease_in_force_is_waited_for_by_the_next_process_too() -> None:
    async with scene(checkpoint()) as site:
        await site.put(lease(format_micro_time(site.timing.now()), 40))
        await site.end("Complete")
        await site.later(10)
        assert await site.phase() == "Creating"
        await site.stop()
        await site.user.delete(LEASES, site.settings.leader_election.lease, site.settings.leader_namespace)
        site.start()
        await site.later(10)
        assert await site.phase() == "Creating"
        await site.later(30)
        assert await site.told("JobCompleted") == (
            "False",
            "CheckpointVerificationFailed",
            "Checkpoint job completed without snapshot-agent completion confirmation",
        )


async def test_a_job_that_was_deleted_fails_until_another_try_is_asked_for() -> None:
    async with scene(checkpoint()) as site:
        await site.delete(JOBS, JOB, 2)
        assert await site.phase() == "Failed"
        assert await site.told("JobCreated") == ("False", "JobDeleted", "Checkpoint job was deleted")
        await site.annotate(RETRY, "1")
        assert (await site.phase(), [*await site.all(JOBS)]) == ("Creating", [JOB])
        await site.mark("failed")
        assert await site.phase() == "Failed"
        first = (await site.all(JOBS))[JOB]["metadata"]["uid"]
        await site.annotate(RETRY, "2")
        assert await site.phase() == "Creating"
        assert (await site.all(JOBS))[JOB]["metadata"]["uid"] != first


async def test_of_two_of_one_identity_the_older_counts_and_the_younger_follows_it() -> None:
    async with scene(checkpoint("b")) as site:
        site.storage.now += timedelta(seconds=2)
        await site.put(checkpoint("a"))
        await site.later(2)
        assert (await site.phase("b"), await site.phase("a")) == ("Creating", "Failed")
        text = f"checkpoint identity hash {HASH} is already owned by b"
        assert await site.told("JobCreated", "a") == ("False", "Duplicate", text)
        assert [*await site.all(JOBS)] == [JOB]
        await site.delete(CHECKPOINTS, "b", 5)
        assert await site.phase("a") == "Creating"
        assert (await site.all(JOBS))[JOB]["metadata"]["ownerReferences"][0]["name"] == "a"


async def test_a_missing_claim_is_told_and_looked_for_again() -> None:
    async with scene(checkpoint(), more=CLAIM) as site:
        text = f"checkpoint storage PVC {NAMESPACE}/snaps does not exist and checkpoint.storage.pvc.create is false"
        assert await site.told("JobCreated") == ("False", "StorageNotReady", text)
        assert (await site.phase(), (await site.checkpoint())["status"]["message"]) == ("Pending", text)
        assert await site.writes_within(2 * SLOW_RETRY_SECONDS) == []
        await site.put(claim())
        await site.later(SLOW_RETRY_SECONDS + 1)
        assert await site.phase() == "Creating"
        await site.mark("completed")
        assert (await site.checkpoint())["status"]["location"] == f"/c/{HASH}/versions/1"


async def test_a_missing_permission_is_told() -> None:
    async with scene(more="controllers: {checkpoints: on}\n") as site:
        site.cluster.denied |= {("patch", "jobs"), ("create", "jobs")}
        await site.put(checkpoint())
        await site.later(2)
        assert (await site.told("JobCreated"))[1] == "Forbidden"
        site.cluster.denied.clear()
        await site.later(SLOW_RETRY_SECONDS + 1)
        assert await site.phase() == "Creating"


async def test_a_job_of_somebody_else_is_left_alone() -> None:
    stranger = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": JOB, "namespace": NAMESPACE}, "spec": {}}
    async with scene(stranger, checkpoint()) as site:
        assert (await site.told("JobCreated"))[1] == "TakenName"
        assert "ownerReferences" not in (await site.all(JOBS))[JOB]["metadata"]


async def test_a_job_that_the_status_names_is_adopted() -> None:
    """As after a restore from a backup, which gives all objects new uids."""
    metadata = {"name": JOB, "namespace": NAMESPACE, "labels": {CHECKPOINT_ID: HASH}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}}
    async with scene(job, {**checkpoint(), "status": {"phase": "Creating", "jobName": JOB}}) as site:
        assert (await site.all(JOBS))[JOB]["metadata"]["ownerReferences"][0]["name"] == "ck"
        await site.mark("completed")
        assert await site.phase() == "Ready"


async def test_a_changed_template_asks_for_a_new_version_which_makes_a_second_job_and_leaves_the_first_alone() -> None:
    async with scene(checkpoint()) as site:
        await site.patch(CHECKPOINTS, "ck", {"spec": {"job": {"activeDeadlineSeconds": 60}}}, 2)
        assert (await site.told("TemplateChanged"))[:2] == ("True", "NewVersionNeeded")
        assert (await site.all(JOBS))[JOB]["spec"]["activeDeadlineSeconds"] == 3600
        await site.mark("completed")
        assert await site.phase() == "Ready"
        await site.annotate(ARTIFACT_VERSION, "2")
        second, status = f"checkpoint-job-{HASH}-2", (await site.checkpoint())["status"]
        assert (status["jobName"], "createdAt" in status) == (second, False)
        assert [*await site.all(JOBS)] == [JOB, second]
        assert (await site.all(JOBS))[second]["spec"]["activeDeadlineSeconds"] == 60
        assert [condition["type"] for condition in status["conditions"]] == ["JobCreated"]


@run_each("number", range(1, 12))
async def test_wherever_the_process_is_killed_there_is_one_job(number: int) -> None:
    site = Scene()
    site.kill_at(number)
    await site.put(checkpoint())
    async with site.running(seconds=10):
        assert [*await site.all(JOBS)] == [JOB]
        uid = (await site.all(JOBS))[JOB]["metadata"]["uid"]
        await site.mark("completed")
        await site.later(10)
        assert await site.phase() == "Ready"
        assert (await site.all(JOBS))[JOB]["metadata"]["uid"] == uid
        assert (await site.all(JOBS))[JOB]["spec"]["ttlSecondsAfterFinished"] == 300


async def test_an_unavailable_server_never_ends_a_checkpoint() -> None:
    async with scene() as site:
        away = site.cluster.fail(
            lambda verb, resource, *_: UnavailableError(503, "", "away") if resource == JOBS and verb in ("apply", "get") else None
        )
        await site.put(checkpoint())
        await site.later(20)
        assert await site.phase() in ("None", "Pending")
        away()
        await site.later(20)
        assert await site.phase() == "Creating"


async def test_a_deleted_checkpoint_loses_the_finalizer_of_the_go_operator_and_its_job() -> None:
    async with scene({**checkpoint(), "metadata": {**checkpoint()["metadata"], "finalizers": [FINALIZER]}}) as site:
        assert [*await site.all(JOBS)] == [JOB]
        await site.delete(CHECKPOINTS, "ck", 2)
        assert await site.user.get(CHECKPOINTS, "ck", NAMESPACE) is None
        assert await site.all(JOBS) == {}


async def test_a_checkpoint_that_is_nested_too_deeply_is_told_and_keeps_its_label() -> None:
    deep: Node = {}
    for _ in range(250):
        deep = {"a": deep}
    async with scene(checkpoint(podTemplateSpec=deep), checkpoint("other", podTemplateSpec=deep)) as site:
        for name in ("ck", "other"):
            assert (await site.told("JobCreated", name))[1] == "InvalidTemplate"
            assert "must be nested at most 200 levels deep" in (await site.told("JobCreated", name))[2]
            assert "labels" not in (await site.checkpoint(name))["metadata"]
        assert await site.all(JOBS) == {}
