"""The phases of a checkpoint: what its status says next, from what was observed. Whoever acts on that is elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.kube.times import parsed, seconds
from dynamo_webhooks.reconciler.checkpoint.identity import hash_of, job_name, version_of
from dynamo_webhooks.reconciler.checkpoint.shared_gpus import SWITCHED_OFF
from dynamo_webhooks.reconciler.loop.image_pulls import FAILED as FAILED_PULL
from dynamo_webhooks.reconciler.loop.image_pulls import PULLED, said_of
from dynamo_webhooks.reconciler.loop.marks import RETRY
from dynamo_webhooks.reconciler.loop.status import Condition, Say, conditions, found, with_condition
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION, CHECKPOINT_STATUS

if TYPE_CHECKING:
    from datetime import datetime

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.checkpoint.storage import Storage

PENDING, CREATING, READY, FAILED = "Pending", "Creating", "Ready", "Failed"
ENDED: Final = frozenset({READY, FAILED})
SOON: Final = 2.0  # seconds until the next look at what is about to change
JOB_CREATED: Final = "JobCreated"
JOB_COMPLETED: Final = "JobCompleted"
RETRIED: Final = "Retried"  # its message is the last value of the annotation that asks for another try
TEMPLATE_CHANGED: Final = "TemplateChanged"
DUPLICATE: Final = "Duplicate"
IMAGE: Final = "webhooks.nvidia.com/checkpoint-image"  # annotation: the image of the container whose snapshot was taken
_OWNED: Final = "checkpoint identity hash "  # how the message of a duplicate begins, the Go operator's too
_LONGEST: Final = 200  # characters of an annotation that are kept in a message


class Step(NamedTuple):
    """What a checkpoint's status becomes, and what is said of it."""

    status: Node
    events: tuple[Say, ...] = ()
    again: bool = False  # whether the Job that ended must go, because another try is asked for
    until: float = 0.0  # seconds after which to look again although nothing changed


def opened(checkpoint: Node, twin: str, *, gate: bool, moment: datetime) -> Step:
    """The status at the beginning of a pass; `twin` is the name of an older checkpoint of the same identity."""
    before: Node = checkpoint.get("status") or {}
    status = {**before, "identityHash": hash_of(checkpoint)}
    if twin:
        return _duplicate(checkpoint, status, twin, moment)
    phase = before.get("phase")
    if phase not in (PENDING, CREATING, READY, FAILED):
        return Step({**status, "phase": PENDING})
    if phase != CREATING and before.get("jobName") not in (None, "", job_name(checkpoint)):
        return Step(_begun(status))
    if phase == FAILED and _may_try_again(checkpoint, before, gate=gate):
        value = _asked(checkpoint)
        told = [Condition(RETRIED, "True", "Asked", value, _generation(checkpoint))] if value else []
        return Step(_with(_begun(status), told, moment), again=True)
    if phase == CREATING and not before.get("jobName"):
        return Step({**_begun(status), "message": "checkpoint job is missing from status"}, until=SOON)
    return Step(status)


def not_made(checkpoint: Node, status: Node, reason: str, message: str, moment: datetime, *, final: bool = False) -> Step:
    """The status where no Job could be made; a final reason ends the phase."""
    kept = {name: value for name, value in status.items() if name not in ("jobName", "createdAt")} if final else status
    now = {**kept, "phase": FAILED if final else PENDING, "message": message}
    told = Condition(JOB_CREATED, "False", reason, message, _generation(checkpoint))
    news = Say("Warning", "CheckpointFailed" if final else reason, message)
    return Step(_with(now, [told], moment), _if_new(checkpoint, told, news))


def made(checkpoint: Node, status: Node, generation: int, moment: datetime) -> Step:
    """The status once the Job is there, which was made of that generation of the checkpoint."""
    name = job_name(checkpoint)
    now = {**{key: value for key, value in status.items() if key != "message"}, "phase": CREATING, "jobName": name}
    now["conditions"] = [one for one in status.get("conditions") or () if one.get("type") not in (JOB_COMPLETED, TEMPLATE_CHANGED)]
    told = Condition(JOB_CREATED, "True", "JobCreated", f"Checkpoint job {name} created", generation)
    return Step(_with(now, [told], moment), _if_new(checkpoint, told, Say("Normal", "CreateJob", f"Created Job {name}")))


def lost(checkpoint: Node, status: Node, moment: datetime) -> Step:
    """The status when the Job was deleted before its end had been noted."""
    told = Condition(JOB_CREATED, "False", "JobDeleted", "Checkpoint job was deleted", _generation(checkpoint))
    now = {**status, "phase": FAILED, "message": "checkpoint job was deleted"}
    return Step(_with(now, [told], moment), (Say("Warning", "CheckpointFailed", "checkpoint job was deleted"),))


def asks_for_lease(job: Node) -> bool:
    """Whether the agent's Lease decides what the Job says."""
    mark, complete = _mark(job), _is(job, "Complete")
    return mark != "failed" and complete != (mark == "completed")


def progressed(checkpoint: Node, status: Node, job: Node, lease: Node | None, kept: Storage | None, moment: datetime) -> Step:
    """The status after a look at the Job, and at the agent's Lease where that decides."""
    mark, complete, left = _mark(job), _is(job, "Complete"), in_force(lease, moment)
    if mark == "failed":
        if complete:
            text = "Checkpoint job completed but snapshot-agent reported checkpoint failure"
            return _failed(checkpoint, status, "CheckpointVerificationFailed", text, moment)
        return _failed(checkpoint, status, "JobFailed", "Checkpoint job failed", moment)
    if asks_for_lease(job) and left > 0:
        return Step(status, until=max(1.0, min(left, 60.0)))
    if mark == "completed":
        return _ready(checkpoint, status, job, kept, moment)
    if complete:
        text = "Checkpoint job completed without snapshot-agent completion confirmation"
        return _failed(checkpoint, status, "CheckpointVerificationFailed", text, moment)
    if _is(job, "Failed"):
        return _failed(checkpoint, status, "JobFailed", "Checkpoint job failed", moment)
    return Step(status)


def pulled(checkpoint: Node, step: Step, failures: list[str], moment: datetime) -> Step:
    """A step with what the pod of the Job can't pull, or with the end of that."""
    said = said_of(step.status, failures)
    told = Condition(PULLED, "False", FAILED_PULL, said.text, _generation(checkpoint)) if said.text else None
    return step._replace(status=with_condition(step.status, PULLED, told, moment), events=(*step.events, *said.events))


def compared(checkpoint: Node, status: Node, moment: datetime) -> Step:
    """The status with a word about a template that has changed since its Job was made: Jobs can't be changed."""
    since = found(status, JOB_CREATED).get("observedGeneration")
    changed = isinstance(since, int) and since < (_generation(checkpoint) or 0)
    if not changed:
        return Step(with_condition(status, TEMPLATE_CHANGED, None, moment))
    text = f"spec changed after Job {status.get('jobName')} was made; set annotation {ARTIFACT_VERSION} to another version to take it anew"
    told = Condition(TEMPLATE_CHANGED, "True", "NewVersionNeeded", text, _generation(checkpoint))
    return Step(_with(status, [told], moment), _if_new(checkpoint, told, Say("Warning", TEMPLATE_CHANGED, text)))


def in_force(lease: Node | None, moment: datetime) -> float:
    """Seconds for which a Lease is still in force; 0 when it isn't."""
    spec: Node = (lease or {}).get("spec") or {}
    duration, since = spec.get("leaseDurationSeconds"), parsed(spec.get("renewTime") or spec.get("acquireTime"))
    if not isinstance(duration, int) or since is None:
        return 0.0
    return max(0.0, (since - moment).total_seconds() + duration)


def _duplicate(checkpoint: Node, status: Node, twin: str, moment: datetime) -> Step:
    text = f"{_OWNED}{status['identityHash']} is already owned by {twin}"
    now = {name: value for name, value in status.items() if name not in ("jobName", "createdAt", "location", "storageType")}
    told = Condition(JOB_CREATED, "False", DUPLICATE, text, _generation(checkpoint))
    now = _with({**now, "phase": FAILED, "message": text}, [told], moment)
    return Step(now, _if_new(checkpoint, told, Say("Warning", "CheckpointFailed", text)))


def _may_try_again(checkpoint: Node, before: Node, *, gate: bool) -> bool:
    """Whether something has changed since a checkpoint failed: its spec, the gate, its twin, or a person's mind."""
    created = found(before, JOB_CREATED)
    if created.get("reason") == DUPLICATE or str(before.get("message") or "").startswith(_OWNED):
        return True
    if created.get("reason") == SWITCHED_OFF and gate:
        return True
    asked = _asked(checkpoint)
    if asked and asked != found(before, RETRIED).get("message"):
        return True
    seen = [found(before, kind).get("observedGeneration") for kind in (JOB_CREATED, JOB_COMPLETED)]
    known = [one for one in seen if isinstance(one, int)]
    return bool(known) and max(known) < (_generation(checkpoint) or 0)


def _asked(checkpoint: Node) -> str:
    return texts(checkpoint["metadata"].get("annotations")).get(RETRY, "")[:_LONGEST]


def _begun(status: Node) -> Node:
    gone = ("jobName", "createdAt", "message", "location", "storageType")
    return {**{name: value for name, value in status.items() if name not in gone}, "phase": PENDING}


def _ready(checkpoint: Node, status: Node, job: Node, kept: Storage | None, moment: datetime) -> Step:
    text = "Checkpoint job completed successfully"
    now = {**{name: value for name, value in status.items() if name != "message"}, "phase": READY, "createdAt": _ended(job, moment)}
    if kept is not None:
        at = f"{kept.path.rstrip('/')}/{status['identityHash']}/versions/{version_of(checkpoint)}"
        now |= {"location": at, "storageType": "pvc"}
    told = Condition(JOB_COMPLETED, "True", "JobSucceeded", text, _generation(checkpoint))
    return Step(_with(now, [told], moment), (Say("Normal", "CheckpointReady", text),))


def _failed(checkpoint: Node, status: Node, reason: str, text: str, moment: datetime) -> Step:
    told = Condition(JOB_COMPLETED, "False", reason, text, _generation(checkpoint))
    now = _with({**status, "phase": FAILED, "message": text}, [told], moment)
    return Step(now, (Say("Warning", "CheckpointFailed", text),))


def _with(status: Node, told: list[Condition], moment: datetime) -> Node:
    return {**status, "conditions": conditions(status.get("conditions") or (), told, moment)} if told else status


def _if_new(checkpoint: Node, told: Condition, news: Say) -> tuple[Say, ...]:
    """The Event, unless the stored condition says the same already."""
    was = found(checkpoint.get("status") or {}, told.type)
    return () if (was.get("status"), was.get("reason"), was.get("message")) == (told.status, told.reason, told.message) else (news,)


def _generation(checkpoint: Node) -> int | None:
    generation = checkpoint["metadata"].get("generation")
    return generation if isinstance(generation, int) else None


def _mark(job: Node) -> str:
    return texts(job["metadata"].get("annotations")).get(CHECKPOINT_STATUS, "")


def _is(job: Node, kind: str) -> bool:
    return found(job.get("status") or {}, kind).get("status") == "True"


def _ended(job: Node, moment: datetime) -> str:
    """When a Job ended: not when that was noticed."""
    status: Any = job.get("status") or {}
    return str(status.get("completionTime") or found(status, "Failed").get("lastTransitionTime") or seconds(moment))
