"""Writes that a pass over a checkpoint plans, by values."""

from datetime import UTC, datetime
from typing import Any, Final

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.checkpoint import phases
from dynamo_webhooks.reconciler.checkpoint.decide import CheckpointPlan, CheckpointState, decide
from dynamo_webhooks.reconciler.checkpoint.phases import IMAGE
from dynamo_webhooks.reconciler.common.conditions import condition_of
from dynamo_webhooks.reconciler.common.problems import SLOW_RETRY_SECONDS, SOON_RETRY_SECONDS, UNLISTED_RETRY_SECONDS, Refusal
from dynamo_webhooks.reconciler.common.resources import RECONCILED
from dynamo_webhooks.reconciler.render.names import CHECKPOINT_ID
from dynamo_webhooks.reconciler.render.objects import make_reference
from tests.reconciler.checkpoint.objects import HASH, JOB, STATUS, checkpoint, ended
from tests.rows import run_each

NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)
STRANGER: Final = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "z", "controller": True}


def _checkpoint(phase: str = "Creating", **status: Any) -> Node:
    obj = checkpoint()
    obj["metadata"] |= {"uid": "u", "generation": 2, "labels": {CHECKPOINT_ID: HASH}}
    return {**obj, "status": {"phase": phase, "jobName": JOB, **status}}


def _job(mark: str = "", how: str = "", **metadata: Any) -> Node:
    defaults = {
        "name": JOB,
        "namespace": "demo",
        "uid": "j",
        "ownerReferences": [make_reference(_checkpoint())],
        "labels": {RECONCILED: "true"},
    }
    defaults |= {"annotations": {STATUS: mark}} if mark else {}
    template = {"spec": {"containers": [{"name": "main", "image": "img:1"}]}}
    return {"kind": "Job", "metadata": defaults | metadata, "spec": {"template": template}, "status": ended(how) if how else {}}


def _decided(obj: Node, job: Node | None = None, **seen: Any) -> CheckpointPlan:
    return decide(CheckpointState(obj, NOW, phases.on_open(obj, "", gate=False, moment=NOW), job=job, **seen))


def _told(plan: CheckpointPlan, kind: str) -> tuple[str, str]:
    condition = condition_of(plan.step.status, kind)
    return condition["status"], condition["reason"]


@run_each(
    ("metadata", "left"),
    [
        ({}, ""),
        ({"labels": {CHECKPOINT_ID: HASH}, "ownerReferences": []}, ""),
        ({"labels": {}, "ownerReferences": []}, "was created by another client"),
        ({"labels": {CHECKPOINT_ID: HASH}, "ownerReferences": [STRANGER]}, "belongs to CronJob c"),
    ],
)
def test_a_job_of_another_owner_is_left_alone_and_a_restored_one_is_adopted(metadata: Node, left: str) -> None:
    plan = _decided(_checkpoint(), job := _job(**metadata))
    if left:
        assert _told(plan, "JobCreated") == ("False", "TakenName")
        assert plan.step.status["message"] == f"Job {JOB} {left}, and is left alone; rename or remove it"
    assert (plan.adopt, plan.drop, plan.expire) == (job if metadata and not left else None, None, None)


@run_each(("after", "phase"), [(SLOW_RETRY_SECONDS, "Pending"), (0.0, "Failed")])
def test_a_refusal_that_only_the_spec_can_end_is_final(after: float, phase: str) -> None:
    plan = _decided(_checkpoint("Pending"), refusal=Refusal("StorageNotReady", "there is no claim", after))
    assert (plan.step.status["phase"], _told(plan, "JobCreated"), plan.requeue_after) == (phase, ("False", "StorageNotReady"), after)
    assert [problem.text for problem in plan.problems] == (["there is no claim"] if after else [])


@run_each(("job", "drops"), [(_job(), True), (_job(ownerReferences=[]), False), (_job(deletionTimestamp="2030-01-01T00:00:00Z"), True)])
def test_another_try_begins_with_the_end_of_the_failed_job(job: Node, *, drops: bool) -> None:
    obj = _checkpoint("Failed", conditions=[{"type": "JobCreated", "status": "True", "reason": "JobCreated", "observedGeneration": 1}])
    children = [{"kind": "Job", "metadata": {"name": JOB}}]
    plan = _decided(obj, job, children=children)
    assert (plan.drop, plan.requeue_after) == ((job, SOON_RETRY_SECONDS) if drops else (None, 0.0))
    assert [*plan.children] == ([] if drops else children)


@run_each(("how", "noted", "written"), [("", "", ""), ("Failed", "", ""), ("Complete", "", "img:1"), ("Complete", "img:1", "")])
def test_the_image_is_noted_once_the_snapshot_is_there(how: str, noted: str, written: str) -> None:
    obj = _checkpoint()
    obj["metadata"]["annotations"] = {IMAGE: noted} if noted else {}
    plan = _decided(obj, _job("completed" if how == "Complete" else "", how))
    assert (plan.step.status["phase"] == "Ready") == (how == "Complete")
    assert plan.metadata == ({"annotations": {IMAGE: written}} if written else None)


def test_a_checkpoint_without_a_generation_says_so_of_its_job() -> None:
    """None has been seen, which is no number of one."""
    obj = _checkpoint("Pending")
    del obj["metadata"]["generation"]
    plan = _decided(obj)
    assert condition_of(plan.step.status, "JobCreated")["observedGeneration"] == 0


def test_at_its_end_a_checkpoint_waits_only_for_jobs_that_are_not_listed() -> None:
    obj = _checkpoint("Ready")
    assert [_decided(obj, listed=listed).requeue_after for listed in (True, False)] == [0.0, UNLISTED_RETRY_SECONDS]
