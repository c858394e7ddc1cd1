"""Reads what a pass over a DynamoCheckpoint depends on. At rest it calls no API."""

from contextlib import suppress
from typing import Any

from ...kube.errors import ForbiddenError
from ...kube.protocol import Node
from ...kube.resources import LEASES
from ..common.keys import Key, controller_reference, key_of, uid_of
from ..common.problems import RETRY_SLOW, Refusal, explain_cut
from ..common.resources import CHECKPOINTS, JOBS
from ..engine.cluster_settings import render_settings
from ..engine.work import Work
from ..render.checkpoint import storage
from ..render.checkpoint.identity import job_name
from ..render.checkpoint.job import jobs
from ..render.errors import RenderError
from ..render.gms import refusal_of
from ..render.settings import Checkpoints
from ..workload.pods import find_pull_failures, pods_of_job
from ..workload.prerequisites import check_storage
from . import phases
from .decide import Seen


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
