"""Reconciles DynamoCheckpoints: each gets one Job, which takes the snapshot and is deleted after its end was noted."""

from contextlib import suppress
from typing import Any

from ...kube.errors import ConflictError, ForbiddenError
from ...kube.protocol import Node
from ...kube.resources import LEASES
from ..common.keys import Key, controller_reference, is_controlled, key_of, uid_of
from ..common.problems import RETRY_SLOW, RETRY_SOON, PassResult, Problem, Refusal, explain_cut
from ..common.resources import CHECKPOINTS, JOBS, RECONCILED
from ..engine.cluster_settings import render_settings
from ..engine.work import Work
from ..render.checkpoint import storage
from ..render.checkpoint.identity import job_name
from ..render.checkpoint.job import KEPT_FOR, jobs
from ..render.errors import RenderError
from ..render.gms import refusal_of
from ..render.objects import reference
from ..render.settings import Checkpoints
from ..workload.pods import find_pull_failures, pods_of_job
from ..workload.prerequisites import check_storage
from . import phases
from .decide import Plan, Seen, decide, refuse_writes
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


async def observe(work: Work, obj: Node) -> Seen:
    """Read the state of a checkpoint. Raises: ApiError."""
    moment, namespace = work.now(), key_of(obj).namespace
    if deep := explain_cut(obj):
        refusal = Refusal("InvalidTemplate", deep, RETRY_SLOW)
        return Seen(obj, moment, phases.Step(obj.get("status") or {}), cut=True, refusal=refusal)
    gate = work.settings.gms_snapshot
    start = phases.on_open(obj, work.checkpoints.older(work.cache, obj), gate=gate, moment=moment)
    seen = Seen(obj, moment, start)
    if start.until:
        return seen
    name = str(start.status.get("jobName") or "")
    if start.status["phase"] in phases.ENDED:
        job = work.cache.get(Key(JOBS.kind, namespace, name)) if name else None
        return seen._replace(job=job, listed=work.cache.knows(JOBS.kind))
    settings = render_settings(work, namespace).checkpoints
    if start.status["phase"] == phases.CREATING:
        seen = seen._replace(listed=work.cache.knows(JOBS.kind))
        with suppress(RenderError):
            seen = seen._replace(storage=storage.find_configured_storage(settings))
        job = work.cache.get(Key(JOBS.kind, namespace, name)) or await work.cluster.get(JOBS, name, namespace)
        return seen if job is None else await _observe_job(work, seen._replace(job=job))
    children = await _render(work, obj, settings)
    if isinstance(children, Refusal):
        seen = seen._replace(refusal=children)
        if not start.again:
            return seen
    else:
        seen = seen._replace(children=children)
    job = await work.cluster.get(JOBS, job_name(obj), namespace)  # the cache has forgotten one that is being deleted
    return seen._replace(job=job, orphan=job is not None and _is_orphan(work, job))


async def _render(work: Work, obj: Node, settings: Checkpoints) -> list[Node] | Refusal:
    """The claims and the Job to make, or why none can be made."""
    if (refusal := refusal_of(obj, gate=settings.gate)) is not None:
        return Refusal(*refusal)
    try:
        children = jobs(obj, settings)
    except RenderError as error:
        return Refusal("InvalidTemplate" if error.path else "StorageNotReady", str(error), RETRY_SLOW)
    lacking = await check_storage(work, settings, key_of(obj).namespace)
    return Refusal("StorageNotReady", lacking, RETRY_SLOW) if lacking else children


async def _observe_job(work: Work, seen: Seen) -> Seen:
    """Read the agent's Lease where it decides, and once a minute the pulls of a pod that doesn't run yet."""
    job: Any = seen.job
    key = key_of(job)
    if phases.asks_for_lease(job):
        seen = seen._replace(lease=await work.cluster.get(LEASES, key.name, key.namespace))
    if (job.get("status") or {}).get("ready") or phases.is_decided(job):
        return seen
    seen = seen._replace(pulls=None, after=RETRY_SLOW)
    if not work.reads.may(f"{uid_of(job)}/pulls", key.namespace):
        return seen
    try:
        return seen._replace(pulls=find_pull_failures(await pods_of_job(work.cluster, job)))
    except ForbiddenError:
        return seen._replace(after=0.0)


def _is_orphan(work: Work, job: Node) -> bool:
    """Whether a Job's checkpoint is gone, so that the Job is about to be deleted."""
    owner = controller_reference(job)
    if owner is None or owner.get("kind") != CHECKPOINTS.kind:
        return False
    checkpoint = work.cache.get(Key(CHECKPOINTS.kind, key_of(job).namespace, str(owner.get("name"))))
    return checkpoint is None or uid_of(checkpoint) != owner.get("uid")
