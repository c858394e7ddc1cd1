"""The controller of DynamoCheckpoints."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ...kube.errors import ConflictError, ForbiddenError
from ...kube.protocol import Node
from ...kube.resources import LEASES
from ..common.keys import Key, controller_reference, is_controlled, key_of, uid_of
from ..common.problems import SLOW_RETRY_SECONDS, SOON_RETRY_SECONDS, PassResult, Problem, Refusal, explain_cut
from ..common.resources import CHECKPOINT, CHECKPOINTS, COMPONENT, GRAPH, JOBS, RECONCILED
from ..engine.cache import Cache
from ..engine.cluster_settings import render_settings
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.watch import GATHER_SECONDS, LABELLED, Change, Need, Watch
from ..render.checkpoint import storage
from ..render.checkpoint.identity import job_name
from ..render.checkpoint.job import FINISHED_JOB_SECONDS, make_job_objects
from ..render.errors import RenderError
from ..render.gms import find_refusal
from ..render.merge import string_map
from ..render.names import ARTIFACT_VERSION
from ..render.objects import make_reference
from ..render.settings import CheckpointSettings
from ..workload.pod_states import find_pull_failures
from ..workload.pods import list_job_pods
from ..workload.prerequisites import check_storage
from . import phases
from .decide import CheckpointPlan, CheckpointState, decide, refuse_writes
from .index import find_older, index_checkpoint, list_concerned, list_fellows
from .phases import IMAGE, CheckpointStep
from .restore_condition import ANY_IMAGE
from .restoring import SWITCH


class CheckpointController(Controller):
    """Has snapshots taken by Jobs."""

    kind = CHECKPOINT
    switch = SWITCH
    watches = (
        Watch(CHECKPOINTS, need=Need.NONE, index_values=index_checkpoint, pause=GATHER_SECONDS),
        Watch(JOBS, (LABELLED,), when=SWITCH.is_on),
    )

    def keys_of(self, change: Change, cache: Cache) -> Iterable[Key]:
        """List what a changed checkpoint concerns. If a user of one admits or refuses other images now, list its other users."""
        if change.key.kind == CHECKPOINT and change.differs(_read_shared):
            return list_concerned(cache, change.obj)
        if change.key.kind in (GRAPH, COMPONENT) and change.exists and change.differs(_any_image):
            return list_fellows(cache, change.obj)
        return ()

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Bring a checkpoint one step further. Raises: ApiError, StandDownError."""
        if await context.finalize_deleted(obj):
            return PassResult()
        state = await observe(context, obj)
        return await _act(context, state, decide(state))


def _any_image(obj: Node | None) -> str:
    return string_map((obj or {"metadata": {}})["metadata"].get("annotations")).get(ANY_IMAGE, "")


def _read_shared(checkpoint: Node | None) -> object:
    """Return the parts of a checkpoint that passes over other objects read."""
    if checkpoint is None:
        return None
    status, annotations = checkpoint.get("status") or {}, string_map(checkpoint["metadata"].get("annotations"))
    marks = annotations.get(ARTIFACT_VERSION), annotations.get(IMAGE)
    return checkpoint["metadata"].get("uid"), status.get("phase"), status.get("jobName"), status.get("message"), marks


async def _act(context: Context, state: CheckpointState, plan: CheckpointPlan) -> PassResult:
    """Carry out a plan. A problem that a retry may end is not written to the status. Raises: ApiError, StandDownError."""
    obj = await context.writer.patch_metadata(state.checkpoint, plan.metadata) if plan.metadata else state.checkpoint
    step, problems, after = plan.step, [*plan.problems], plan.requeue_after
    if plan.drop is not None:
        await context.writer.drop(plan.drop)
    if plan.adopt is not None:
        await _adopt(context, obj, plan.adopt)
    refused: list[Problem] = []
    for child in plan.children:
        live = await context.put(child, obj if child["kind"] == JOBS.kind else None, refused)
        if refused or live is None:
            step, problems, after = refuse_writes(state, refused), refused, SLOW_RETRY_SECONDS
            break
        if child["kind"] == JOBS.kind and live["metadata"].get("deletionTimestamp"):
            step, after = CheckpointStep(state.start.status, state.start.events), SOON_RETRY_SECONDS
    if any(problem.is_transient for problem in problems):
        return PassResult(tuple(problems))
    if await context.writer.patch_status(obj, step.status):
        for event in step.events:
            await context.record_event(obj, *event)
    elif step.status["phase"] != (obj.get("status") or {}).get("phase"):
        return PassResult()  # the rate limit delayed the status
    if plan.expire is not None:
        patch = {"metadata": {"uid": uid_of(plan.expire)}, "spec": {"ttlSecondsAfterFinished": FINISHED_JOB_SECONDS}}
        with suppress(ConflictError):  # another Job has the name now
            await context.writer.merge(obj, JOBS, key_of(plan.expire).name, patch)
    return PassResult(tuple(problems), after)


async def _adopt(context: Context, obj: Node, job: Node) -> None:
    """Make a Job belong to the checkpoint and be watched. Raises: ApiError, StandDownError."""
    owners = job["metadata"].get("ownerReferences") or []
    if not is_controlled(job, obj):
        owners = [*(owner for owner in owners if owner.get("uid") != uid_of(obj)), make_reference(obj)]
    change = {"uid": uid_of(job), "ownerReferences": owners, "labels": {RECONCILED: "true"}}
    await context.writer.merge(obj, JOBS, key_of(job).name, {"metadata": change})


async def observe(context: Context, obj: Node) -> CheckpointState:
    """Read the state of a checkpoint. Raises: ApiError."""
    moment, namespace = context.clocks.wall(), key_of(obj).namespace
    if deep := explain_cut(obj):
        refusal = Refusal("InvalidTemplate", deep, SLOW_RETRY_SECONDS)
        return CheckpointState(obj, moment, phases.CheckpointStep(obj.get("status") or {}), cut=True, refusal=refusal)
    gate = context.settings.gms_snapshot
    start = phases.on_open(obj, find_older(context.cache, obj), gate=gate, moment=moment)
    state = CheckpointState(obj, moment, start)
    if start.requeue_after:
        return state
    name = str(start.status.get("jobName") or "")
    if start.status["phase"] in phases.ENDED:
        job = context.cache.get(Key(JOBS.kind, namespace, name)) if name else None
        return state._replace(job=job, listed=context.cache.knows(JOBS.kind))
    settings = render_settings(context, namespace).checkpoints
    if start.status["phase"] == phases.CREATING:
        state = state._replace(listed=context.cache.knows(JOBS.kind))
        with suppress(RenderError):
            state = state._replace(storage=storage.find_configured_storage(settings))
        job = context.cache.get(Key(JOBS.kind, namespace, name)) or await context.cluster.get(JOBS, name, namespace)
        return state if job is None else await _observe_job(context, state._replace(job=job))
    children = await _render(context, obj, settings)
    if isinstance(children, Refusal):
        state = state._replace(refusal=children)
        if not start.retry:
            return state
    else:
        state = state._replace(children=children)
    job = await context.cluster.get(JOBS, job_name(obj), namespace)  # the cache has forgotten one that is being deleted
    return state._replace(job=job, orphan=job is not None and _is_orphan(context, job))


async def _render(context: Context, obj: Node, settings: CheckpointSettings) -> list[Node] | Refusal:
    """The claims and the Job to make, or why none can be made."""
    if (refusal := find_refusal(obj, gate=settings.gate)) is not None:
        return Refusal(*refusal)
    try:
        children = make_job_objects(obj, settings)
    except RenderError as error:
        return Refusal("InvalidTemplate" if error.path else "StorageNotReady", str(error), SLOW_RETRY_SECONDS)
    lacking = await check_storage(context, settings, key_of(obj).namespace)
    return Refusal("StorageNotReady", lacking, SLOW_RETRY_SECONDS) if lacking else children


async def _observe_job(context: Context, state: CheckpointState) -> CheckpointState:
    """Read the agent's Lease where it decides, and once a minute the pulls of a pod that doesn't run yet."""
    job: Any = state.job
    key = key_of(job)
    if phases.needs_lease(job):
        state = state._replace(lease=await context.cluster.get(LEASES, key.name, key.namespace))
    if (job.get("status") or {}).get("ready") or phases.is_decided(job):
        return state
    state = state._replace(pull_failures=None, requeue_after=SLOW_RETRY_SECONDS)
    if not context.reads.may(f"{uid_of(job)}/pulls", key.namespace):
        return state
    try:
        return state._replace(pull_failures=find_pull_failures(await list_job_pods(context.cluster, job)))
    except ForbiddenError:
        return state._replace(requeue_after=0.0)


def _is_orphan(context: Context, job: Node) -> bool:
    """Whether a Job's checkpoint is gone, so that the Job is about to be deleted."""
    owner = controller_reference(job)
    if owner is None or owner.get("kind") != CHECKPOINTS.kind:
        return False
    checkpoint = context.cache.get(Key(CHECKPOINTS.kind, key_of(job).namespace, str(owner.get("name"))))
    return checkpoint is None or uid_of(checkpoint) != owner.get("uid")
