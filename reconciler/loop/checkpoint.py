"""One pass over a DynamoCheckpoint: the Job that takes the snapshot is made once, looked at, and let go when its end has been noted."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.kube.errors import ConflictError, ForbiddenError
from dynamo_webhooks.kube.resources import LEASES
from dynamo_webhooks.reconciler.checkpoint import phases, shared_gpus, storage
from dynamo_webhooks.reconciler.checkpoint.identity import hash_of, job_name
from dynamo_webhooks.reconciler.checkpoint.job import KEPT_FOR, image_of, jobs
from dynamo_webhooks.reconciler.checkpoint.phases import CREATING, IMAGE, PENDING, READY, SOON, Step
from dynamo_webhooks.reconciler.loop.depth import refusal_of
from dynamo_webhooks.reconciler.loop.image_pulls import pull_failures
from dynamo_webhooks.reconciler.loop.keys import Key, controller, is_controlled, key_of, uid_of
from dynamo_webhooks.reconciler.loop.kinds import CHECKPOINTS, JOBS
from dynamo_webhooks.reconciler.loop.likeness import digest
from dynamo_webhooks.reconciler.loop.marks import APPLIED_HASH, RECONCILED
from dynamo_webhooks.reconciler.loop.prerequisites import lacking_storage
from dynamo_webhooks.reconciler.loop.problems import Problem, joined
from dynamo_webhooks.reconciler.loop.requests import pods_of_job
from dynamo_webhooks.reconciler.loop.surroundings import render_settings
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import CHECKPOINT_ID
from dynamo_webhooks.reconciler.render.objects import reference

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work

UNLISTED: Final = 5.0  # seconds until it is asked again whether Jobs have been listed
_REASONS: Final = {"forbidden": "Forbidden", "already_exists": "TakenName", "validation": "InvalidTemplate"}


class _Outcome(NamedTuple):
    """How far a pass came."""

    step: Step
    problems: tuple[Problem, ...] = ()
    after: float = 0.0


async def reconcile_checkpoint(work: Work, obj: Node) -> PassResult:
    """Brings a checkpoint one step further. At rest it reads and writes nothing. Raises: ApiError, StandDownError."""
    if obj["metadata"].get("deletionTimestamp"):
        await work.let_go(obj)
        return PassResult()
    if deep := refusal_of(obj):
        status = obj.get("status") or {}
        step, outcome = Step(status), _hindered(work, obj, status, "InvalidTemplate", deep)
    else:
        obj = await _labelled(work, obj)
        step, outcome = await _advance(work, obj)
    if any(problem.passing for problem in outcome.problems):
        return PassResult(outcome.problems)  # tried again at once: not worth a word in the status
    now = outcome.step.status
    if await work.patch_status(obj, now):
        for event in (*step.events, *outcome.step.events):
            await work.say(obj, *event)
    elif now["phase"] != (obj.get("status") or {}).get("phase"):
        return PassResult()  # it is written in a moment
    after = await _let_expire(work, obj, str(now.get("jobName") or "")) if now["phase"] in phases.ENDED else 0.0
    return PassResult(outcome.problems, outcome.after or outcome.step.until or after)


async def _advance(work: Work, obj: Node) -> tuple[Step, _Outcome]:
    """How a pass begins, and how far it comes."""
    gate = work.settings.features.gms_snapshot
    step = phases.opened(obj, work.checkpoints.older(work.cache, obj), gate=gate, moment=work.now())
    if step.again:
        await _discard(work, obj)
    if step.until:
        return step, _Outcome(step._replace(events=()))
    if step.status["phase"] == PENDING:
        return step, await _make(work, obj, step.status)
    if step.status["phase"] == CREATING:
        return step, await _look(work, obj, step.status)
    return step, _Outcome(phases.compared(obj, step.status, work.now()))


async def _make(work: Work, obj: Node, status: Node) -> _Outcome:
    """Makes the Job, or finds the one that an earlier pass made."""
    settings = render_settings(work.settings, work.known(), work.cache, key_of(obj).namespace).checkpoints
    if (refusal := shared_gpus.refusal_of(obj, gate=settings.gate)) is not None:
        return _Outcome(phases.not_made(obj, status, *refusal, work.now(), final=True))
    try:
        children = jobs(obj, settings)
    except RenderError as error:
        return _hindered(work, obj, status, "InvalidTemplate" if error.path else "StorageNotReady", str(error))
    if lacking := await lacking_storage(work, settings, key_of(obj).namespace):
        return _hindered(work, obj, status, "StorageNotReady", lacking)
    *claims, wanted = children
    problems: list[Problem] = []
    for claim in claims:
        await work.put(claim, None, problems)
    job = await work.cluster.get(JOBS, wanted["metadata"]["name"], key_of(obj).namespace)  # one that was just deleted is still known
    if job is not None and (job["metadata"].get("deletionTimestamp") or _is_orphan(work, job)):
        return _Outcome(Step(status), after=SOON)
    generation = obj["metadata"].get("generation") or 0
    if job is not None and is_controlled(job, obj):
        if _differs(job, wanted):
            if not _has_begun(job):
                await work.writer.drop(job)
                return _Outcome(Step(status), after=SOON)
            generation -= 1  # it was made of an earlier one
        await _adopt(work, obj, job)
    elif not problems:
        job = await work.put(wanted, obj, problems)
    if problems or job is None:
        reason = next((_REASONS.get(one.category, "InvalidTemplate") for one in problems), "InvalidTemplate")
        return _hindered(work, obj, status, reason, joined(problems), problems)
    return _Outcome(phases.made(obj, status, generation, work.now()))


async def _look(work: Work, obj: Node, status: Node) -> _Outcome:
    """Looks how far the Job is."""
    key = Key(JOBS.kind, key_of(obj).namespace, str(status["jobName"]))
    job = await _found(work, key)
    if job is not None and not is_controlled(job, obj):
        found = controller(job)
        if found is not None or texts(job["metadata"].get("labels")).get(CHECKPOINT_ID) != hash_of(obj):
            whose = f"belongs to {found['kind']} {found['name']}" if found else "was made by somebody else"
            text = f"Job {key.name} {whose}, and is left alone; rename or remove it"
            return _Outcome(phases.not_made(obj, status, "TakenName", text, work.now(), final=True))
        job = await _adopt(work, obj, job)  # the status and a label name it, and nobody owns it
    if job is None:
        return _Outcome(phases.pulled(obj, phases.lost(obj, status, work.now()), [], work.now()))
    job = await _adopt(work, obj, job)
    lease: Node | None = None
    if phases.asks_for_lease(job):
        lease = await work.cluster.get(LEASES, key.name, key.namespace)
    step = phases.progressed(obj, status, job, lease, _storage(work, key.namespace), work.now())
    if step.status["phase"] == READY and (image := image_of(job)) != texts(obj["metadata"].get("annotations")).get(IMAGE):
        await _patch_metadata(work, obj, {"annotations": {IMAGE: image}})
    if step.status["phase"] == CREATING:
        compared = phases.compared(obj, step.status, work.now())
        step = step._replace(status=compared.status, events=(*step.events, *compared.events))
        return await _looked_for_pulls(work, obj, job, step)
    return _Outcome(phases.pulled(obj, step, [], work.now()))


async def _looked_for_pulls(work: Work, obj: Node, job: Node, step: Step) -> _Outcome:
    """Looks once a minute whether the Job's pod can pull its images, until it runs. Costs a list of that pod."""
    if (job.get("status") or {}).get("ready"):
        return _Outcome(phases.pulled(obj, step, [], work.now()))
    if not work.reads.may(f"{uid_of(job)}/pulls", key_of(obj).namespace):
        return _Outcome(step, after=step.until or SLOWLY)
    try:
        pods = await pods_of_job(work.cluster, job)
    except ForbiddenError:
        return _Outcome(step)  # Jobs go on without a word about their pods
    return _Outcome(phases.pulled(obj, step, pull_failures(pods), work.now()), after=step.until or SLOWLY)


def _hindered(work: Work, obj: Node, status: Node, reason: str, text: str, problems: list[Problem] | None = None) -> _Outcome:
    """What only a person can mend: it is told, and looked at again once a minute."""
    told = tuple(problems or (Problem(text, "validation"),))
    return _Outcome(phases.not_made(obj, status, reason, text, work.now()), told, SLOWLY)


def _storage(work: Work, namespace: str) -> storage.Storage | None:
    """Where the artifact lies, as far as the configuration says that."""
    try:
        return storage.configured(render_settings(work.settings, work.known(), work.cache, namespace).checkpoints)
    except RenderError:
        return None


async def _found(work: Work, key: Key) -> Node | None:
    """The Job; where it isn't known it is asked for, since only ours are watched. Raises: ApiError."""
    return work.cache.get(key) or await work.cluster.get(JOBS, key.name, key.namespace)


async def _adopt(work: Work, obj: Node, job: Node) -> Node:
    """Has a Job belong to the checkpoint and be watched, which Jobs of the Go operator and restored ones are not. Raises: ApiError."""
    metadata = job["metadata"]
    if is_controlled(job, obj) and texts(metadata.get("labels")).get(RECONCILED) == "true":
        return job
    others = [one for one in metadata.get("ownerReferences") or () if one.get("uid") != uid_of(obj)]
    owners = metadata["ownerReferences"] if is_controlled(job, obj) else [*others, reference(obj)]
    change = {"uid": uid_of(job), "ownerReferences": owners, "labels": {RECONCILED: "true"}}
    return await work.merge(obj, JOBS, metadata["name"], {"metadata": change})


async def _discard(work: Work, obj: Node) -> None:
    """Deletes the Job that ended, so that another one of its name can be made. Raises: ApiError."""
    job = await _found(work, Key(JOBS.kind, key_of(obj).namespace, job_name(obj)))
    if job is not None and is_controlled(job, obj):
        await work.writer.drop(job)


def _is_orphan(work: Work, job: Node) -> bool:
    """Whether a Job is of a checkpoint that is gone, so that it is about to be collected."""
    owner = controller(job)
    if owner is None or owner.get("kind") != CHECKPOINTS.kind:
        return False
    found = work.cache.get(Key(CHECKPOINTS.kind, key_of(job).namespace, str(owner.get("name"))))
    return found is None or uid_of(found) != owner.get("uid")


async def _let_expire(work: Work, obj: Node, name: str) -> float:
    """Lets the Job go some time after its end has been noted: until then it must stay.

    Gives the seconds until it is worth another look, while Jobs have not been listed. Raises: ApiError.
    """
    job = work.cache.get(Key(JOBS.kind, key_of(obj).namespace, name)) if name else None
    if job is None or not is_controlled(job, obj) or (job.get("spec") or {}).get("ttlSecondsAfterFinished") is not None:
        return 0.0 if work.cache.knows(JOBS.kind) else UNLISTED
    patch = {"metadata": {"uid": uid_of(job)}, "spec": {"ttlSecondsAfterFinished": KEPT_FOR}}
    with suppress(ConflictError):  # another Job has the name now
        await work.merge(obj, JOBS, name, patch)
    return 0.0


async def _labelled(work: Work, obj: Node) -> Node:
    """The checkpoint with the label by which agents and the Go operator know it."""
    if texts(obj["metadata"].get("labels")).get(CHECKPOINT_ID) == hash_of(obj):
        return obj
    return await _patch_metadata(work, obj, {"labels": {CHECKPOINT_ID: hash_of(obj)}})


async def _patch_metadata(work: Work, obj: Node, metadata: Node) -> Node:
    return await work.merge(obj, CHECKPOINTS, key_of(obj).name, {"metadata": metadata})


def _differs(job: Node, wanted: Node) -> bool:
    """Whether a Job was made of another template; of one that others made that isn't known."""
    mark = texts(job["metadata"].get("annotations")).get(APPLIED_HASH)
    return mark is not None and mark != digest(wanted)


def _has_begun(job: Node) -> bool:
    status = job.get("status") or {}
    return any(status.get(name) for name in ("active", "ready", "succeeded", "failed", "conditions"))
