"""Decides what a pass over a DynamoCheckpoint writes. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...conversion.lens.protocol import Fields
from ..common.applied_diff import digest
from ..common.keys import controller_reference, is_controlled, key_of
from ..common.problems import SOON_RETRY_SECONDS, UNLISTED_RETRY_SECONDS, Problem, Refusal, join_messages
from ..common.resources import APPLIED_HASH, RECONCILED
from ..render.checkpoint.identity import read_identity_hash
from ..render.checkpoint.job import image_of
from ..render.checkpoint.storage import Storage
from ..render.merge import string_map
from ..render.names import CHECKPOINT_ID
from . import phases
from .phases import CREATING, ENDED, IMAGE, PENDING, READY, CheckpointStep

_REASONS: Final = {"forbidden": "Forbidden", "already_exists": "TakenName", "validation": "InvalidTemplate"}


class CheckpointState(NamedTuple):
    """The state that a pass depends on. Only what the phase needs is read."""

    checkpoint: Fields
    moment: datetime
    start: CheckpointStep
    cut: bool = False  # whether the spec was nested too deeply
    refusal: Refusal | None = None  # why no Job can be made
    children: Sequence[Fields] = ()  # rendered claims, then the Job
    job: Fields | None = None
    orphan: bool = False  # whether the checkpoint that controls the Job is gone
    lease: Fields | None = None  # the agent's
    storage: Storage | None = None
    pull_failures: Sequence[str] | None = ()  # failed image pulls of the Job's pod; None if not read
    requeue_after: float = 0.0  # seconds until pods may be read again
    listed: bool = True  # whether all Jobs are known


class CheckpointPlan(NamedTuple):
    """Writes of a pass, in this order."""

    step: CheckpointStep  # the status and Events, if no write is refused
    metadata: Fields | None = None  # to merge into the checkpoint's
    drop: Fields | None = None  # a Job to delete
    adopt: Fields | None = None  # a Job to own and watch
    children: Sequence[Fields] = ()  # to apply
    problems: Sequence[Problem] = ()
    expire: Fields | None = None  # an ended Job to give a lifetime, after the status is written
    requeue_after: float = 0.0  # seconds until the next pass


def decide(state: CheckpointState) -> CheckpointPlan:
    """Plan the writes of one pass."""
    if state.start.requeue_after:
        return _finish(state, CheckpointPlan(state.start._replace(events=())))
    phase = state.start.status.get("phase")
    if state.refusal is not None:
        plan = _refuse(state, state.refusal)
    elif phase == PENDING:
        plan = _on_pending(state)
    elif phase == CREATING:
        plan = _on_creating(state)
    else:
        plan = CheckpointPlan(phases.on_template_change(state.checkpoint, state.start.status, state.moment))
    return _finish(state, plan)


def refuse_writes(state: CheckpointState, problems: list[Problem]) -> CheckpointStep:
    """The status and Events if the claim or the Job could not be applied."""
    reason = next((_REASONS.get(problem.category, "InvalidTemplate") for problem in problems), "InvalidTemplate")
    return phases.on_job_refused(state.checkpoint, state.start.status, reason, join_messages(problems), state.moment)


def _on_pending(state: CheckpointState) -> CheckpointPlan:
    """Make the Job, or adopt the one that an earlier pass made."""
    obj, job, status = state.checkpoint, state.job, state.start.status
    generation = obj["metadata"].get("generation") or 0
    made = CheckpointPlan(phases.on_job_created(obj, status, generation, state.moment), children=state.children)
    if job is None:
        return made
    if state.start.retry and is_controlled(job, obj):
        return CheckpointPlan(CheckpointStep(status), drop=job, requeue_after=SOON_RETRY_SECONDS)  # the name is free once it is gone
    if job["metadata"].get("deletionTimestamp") or state.orphan:
        return CheckpointPlan(CheckpointStep(status), requeue_after=SOON_RETRY_SECONDS)
    if not is_controlled(job, obj):
        return made
    *claims, wanted = state.children
    if _differs(job, wanted):
        if not _has_begun(job):
            return CheckpointPlan(CheckpointStep(status), drop=job, requeue_after=SOON_RETRY_SECONDS)
        made = CheckpointPlan(phases.on_job_created(obj, status, generation - 1, state.moment))  # of an earlier generation
    return made._replace(children=claims, adopt=_adoptable(obj, job))


def _on_creating(state: CheckpointState) -> CheckpointPlan:
    """Follow the Job to its end."""
    obj, job, status, moment = state.checkpoint, state.job, state.start.status, state.moment
    if job is None:
        return CheckpointPlan(phases.on_pull_failure(obj, phases.on_job_lost(obj, status, moment), [], moment))
    if text := _explain_foreign(obj, job):
        return CheckpointPlan(phases.on_job_refused(obj, status, "TakenName", text, moment, final=True))
    step = phases.on_progress(obj, status, job, state.lease, state.storage, moment)
    if step.status["phase"] == CREATING:
        step = phases.on_template_change(obj, step.status, moment)._replace(requeue_after=step.requeue_after)
    if state.pull_failures is not None:
        step = phases.on_pull_failure(obj, step, state.pull_failures, moment)
    image = image_of(job)
    noted = step.status["phase"] != READY or image == string_map(obj["metadata"].get("annotations")).get(IMAGE)
    metadata = None if noted else {"annotations": {IMAGE: image}}
    return CheckpointPlan(step, metadata, adopt=_adoptable(obj, job), requeue_after=step.requeue_after or state.requeue_after)


def _refuse(state: CheckpointState, refusal: Refusal) -> CheckpointPlan:
    """Report that no Job is made. A refusal that nothing but the spec can end is final."""
    final = not refusal.requeue_after
    step = phases.on_job_refused(state.checkpoint, state.start.status, refusal.reason, refusal.message, state.moment, final=final)
    drop = state.job if state.start.retry and state.job is not None and is_controlled(state.job, state.checkpoint) else None
    return CheckpointPlan(
        step, drop=drop, problems=() if final else [Problem(refusal.message, "validation")], requeue_after=refusal.requeue_after
    )


def _finish(state: CheckpointState, plan: CheckpointPlan) -> CheckpointPlan:
    """Add what all phases share: the Events of the start, the label, and the lifetime of an ended Job."""
    obj, job, status = state.checkpoint, state.job, plan.step.status
    plan = plan._replace(step=plan.step._replace(events=(*state.start.events, *plan.step.events)))
    if not state.cut and string_map(obj["metadata"].get("labels")).get(CHECKPOINT_ID) != read_identity_hash(obj):
        plan = plan._replace(metadata={**(plan.metadata or {}), "labels": {CHECKPOINT_ID: read_identity_hash(obj)}})
    if status["phase"] not in ENDED:
        return plan._replace(requeue_after=plan.requeue_after or plan.step.requeue_after)
    ours = job is not None and job["metadata"]["name"] == status.get("jobName") and (plan.adopt is not None or is_controlled(job, obj))
    expires = ours and job is not None and (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None
    return plan._replace(expire=job if expires else None, requeue_after=0.0 if expires or state.listed else UNLISTED_RETRY_SECONDS)


def _adoptable(obj: Fields, job: Fields) -> Fields | None:
    """The Job, unless it is owned and watched: Jobs of the Go operator and restored ones are not."""
    watched = string_map(job["metadata"].get("labels")).get(RECONCILED) == "true"
    return None if watched and is_controlled(job, obj) else job


def _explain_foreign(obj: Fields, job: Fields) -> str:
    """Explain why a Job is left alone; empty if it is the checkpoint's, or has its label and no owner."""
    owner, label = controller_reference(job), string_map(job["metadata"].get("labels")).get(CHECKPOINT_ID)
    if is_controlled(job, obj) or (owner is None and label == read_identity_hash(obj)):
        return ""
    whose = f"belongs to {owner['kind']} {owner['name']}" if owner else "was created by another client"
    return f"Job {key_of(job).name} {whose}, and is left alone; rename or remove it"


def _differs(job: Fields, wanted: Fields) -> bool:
    """Whether a Job was made of another template; False if that isn't known."""
    mark = string_map(job["metadata"].get("annotations")).get(APPLIED_HASH)
    return mark is not None and mark != digest(wanted)


def _has_begun(job: Fields) -> bool:
    status = job.get("status") or {}
    return any(status.get(name) for name in ("active", "ready", "succeeded", "failed", "conditions"))
