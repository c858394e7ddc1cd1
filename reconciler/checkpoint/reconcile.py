"""Reconciles DynamoCheckpoints: each gets one Job, which takes the snapshot and is deleted after its end was noted."""

from contextlib import suppress

from ...kube.errors import ConflictError
from ...kube.protocol import Node
from ..common.keys import is_controlled, key_of, uid_of
from ..common.problems import RETRY_SLOW, RETRY_SOON, PassResult, Problem
from ..common.resources import JOBS, RECONCILED
from ..engine.work import Work
from ..render.checkpoint.job import KEPT_FOR
from ..render.objects import reference
from .decide import Plan, Seen, decide, refuse_writes
from .observe import observe
from .phases import Step


async def reconcile_checkpoint(work: Work, obj: Node) -> PassResult:
    """Bring a checkpoint one step further. Raises: ApiError, StandDownError."""
    if await work.let_go_deleted(obj):
        return PassResult()
    seen = await observe(work, obj)
    return await _act(work, seen, decide(seen))


async def _act(work: Work, seen: Seen, plan: Plan) -> PassResult:
    """Carry out a plan. A problem that a retry may end is not written to the status. Raises: ApiError, StandDownError."""
    obj = await work.patch_metadata(seen.checkpoint, plan.metadata) if plan.metadata else seen.checkpoint
    step, problems, after = plan.step, [*plan.problems], plan.after
    if plan.drop is not None:
        await work.writer.drop(plan.drop)
    if plan.adopt is not None:
        await _adopt(work, obj, plan.adopt)
    refused: list[Problem] = []
    for child in plan.children:
        live = await work.put(child, obj if child["kind"] == JOBS.kind else None, refused)
        if refused or live is None:
            step, problems, after = refuse_writes(seen, refused), refused, RETRY_SLOW
            break
        if child["kind"] == JOBS.kind and live["metadata"].get("deletionTimestamp"):
            step, after = Step(seen.start.status, seen.start.events), RETRY_SOON
    if any(problem.passing for problem in problems):
        return PassResult(tuple(problems))
    if await work.patch_status(obj, step.status):
        for event in step.events:
            await work.say(obj, *event)
    elif step.status["phase"] != (obj.get("status") or {}).get("phase"):
        return PassResult()  # the rate limit delayed the status
    if plan.expire is not None:
        patch = {"metadata": {"uid": uid_of(plan.expire)}, "spec": {"ttlSecondsAfterFinished": KEPT_FOR}}
        with suppress(ConflictError):  # another Job has the name now
            await work.merge(obj, JOBS, key_of(plan.expire).name, patch)
    return PassResult(tuple(problems), after)


async def _adopt(work: Work, obj: Node, job: Node) -> None:
    """Make a Job belong to the checkpoint and be watched. Raises: ApiError, StandDownError."""
    owners = job["metadata"].get("ownerReferences") or []
    if not is_controlled(job, obj):
        owners = [*(owner for owner in owners if owner.get("uid") != uid_of(obj)), reference(obj)]
    change = {"uid": uid_of(job), "ownerReferences": owners, "labels": {RECONCILED: "true"}}
    await work.merge(obj, JOBS, key_of(job).name, {"metadata": change})
