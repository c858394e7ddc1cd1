"""The phases of a checkpoint: its next status, from the observed state. Other modules act on it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...kube.protocol import Node
from ...kube.times import format_time, parse_time
from ..common.conditions import Condition, NewEvent, condition_of, is_true, set_condition
from ..common.problems import SOON_RETRY_SECONDS
from ..common.resources import RETRY
from ..render.checkpoint.identity import job_name, read_artifact_version, read_identity_hash
from ..render.checkpoint.storage import Storage
from ..render.gms import SWITCHED_OFF
from ..render.merge import string_map
from ..render.names import ARTIFACT_VERSION, CHECKPOINT_STATUS
from ..workload.pod_states import PULL_FAILED, PULLED, report_pull_failures

PENDING, CREATING, READY, FAILED = "Pending", "Creating", "Ready", "Failed"
ENDED: Final = frozenset({READY, FAILED})
JOB_CREATED: Final = "JobCreated"
JOB_COMPLETED: Final = "JobCompleted"
RETRIED: Final = "Retried"  # its message is the last value of the annotation that asks for another try
TEMPLATE_CHANGED: Final = "TemplateChanged"
DUPLICATE: Final = "Duplicate"
IMAGE: Final = "webhooks.nvidia.com/checkpoint-image"  # annotation: the image of the container whose snapshot was taken
_OWNED: Final = "checkpoint identity hash "  # how the message of a duplicate begins, the Go operator's too


class CheckpointStep(NamedTuple):
    """The next status of a checkpoint, and its Events."""

    status: Node
    events: tuple[NewEvent, ...] = ()
    retry: bool = False  # whether the Job that ended must go, because another try is asked for
    requeue_after: float = 0.0  # seconds after which to look again although nothing changed


def on_open(checkpoint: Node, twin: str, *, gate: bool, moment: datetime) -> CheckpointStep:
    """The status at the beginning of a pass; `twin` is the name of an older checkpoint of the same identity."""
    before: Node = checkpoint.get("status") or {}
    status = {**before, "identityHash": read_identity_hash(checkpoint)}
    if twin:
        return _duplicate(checkpoint, status, twin, moment)
    phase = before.get("phase")
    if phase not in (PENDING, CREATING, READY, FAILED):
        return CheckpointStep({**status, "phase": PENDING})
    if phase != CREATING and before.get("jobName") not in (None, "", job_name(checkpoint)):
        return CheckpointStep(_make_pending(status))
    if phase == FAILED and _may_try_again(checkpoint, before, gate=gate):
        anew, value = _make_pending(status), _read_retry(checkpoint)
        condition = Condition(RETRIED, "True", "Asked", value, _generation(checkpoint))
        return CheckpointStep(set_condition(anew, RETRIED, condition, moment) if value else anew, retry=True)
    if phase == CREATING and not before.get("jobName"):
        return CheckpointStep(
            {**_make_pending(status), "message": "checkpoint job is missing from status"}, requeue_after=SOON_RETRY_SECONDS
        )
    return CheckpointStep(status)


def on_job_refused(checkpoint: Node, status: Node, reason: str, message: str, moment: datetime, *, final: bool = False) -> CheckpointStep:
    """The status where no Job could be made; a final reason ends the phase."""
    kept = _without(status, "jobName", "createdAt") if final else status
    now = {**kept, "phase": FAILED if final else PENDING, "message": message}
    condition = Condition(JOB_CREATED, "False", reason, message)
    return _report(checkpoint, now, condition, moment, NewEvent("Warning", "CheckpointFailed" if final else reason, message))


def on_job_created(checkpoint: Node, status: Node, generation: int, moment: datetime) -> CheckpointStep:
    """The status once the Job is there, which was made of that generation of the checkpoint."""
    name = job_name(checkpoint)
    now = {**_without(status, "message"), "phase": CREATING, "jobName": name}
    now["conditions"] = [
        previous for previous in status.get("conditions") or () if previous.get("type") not in (JOB_COMPLETED, TEMPLATE_CHANGED)
    ]
    condition = Condition(JOB_CREATED, "True", "JobCreated", f"Checkpoint job {name} created", generation)
    return _report(checkpoint, now, condition, moment, NewEvent("Normal", "CreateJob", f"Created Job {name}"))


def on_job_lost(checkpoint: Node, status: Node, moment: datetime) -> CheckpointStep:
    """The status when the Job was deleted before its end had been noted."""
    text = "checkpoint job was deleted"
    condition = Condition(JOB_CREATED, "False", "JobDeleted", text.capitalize())
    return _report(
        checkpoint, {**status, "phase": FAILED, "message": text}, condition, moment, NewEvent("Warning", "CheckpointFailed", text)
    )


def needs_lease(job: Node) -> bool:
    """Whether the agent's Lease decides what the Job says."""
    mark, complete = _mark(job), is_true(job.get("status") or {}, "Complete")
    return mark != "failed" and complete != (mark == "completed")


def is_decided(job: Node) -> bool:
    """Whether the Job has ended, or its agent has reported a result."""
    status = job.get("status") or {}
    return _mark(job) in ("completed", "failed") or is_true(status, "Complete") or is_true(status, "Failed")


def on_progress(checkpoint: Node, status: Node, job: Node, lease: Node | None, storage: Storage | None, moment: datetime) -> CheckpointStep:
    """The status after a look at the Job, and at the agent's Lease where that decides."""
    mark, complete, left = _mark(job), is_true(job.get("status") or {}, "Complete"), count_lease_seconds(lease, moment)
    if needs_lease(job) and left > 0:
        return CheckpointStep(status, requeue_after=max(1.0, min(left, 60.0)))
    if mark == "completed":
        return _finish(checkpoint, status, job, storage, moment)
    if complete:
        why = "but snapshot-agent reported checkpoint failure" if mark == "failed" else "without snapshot-agent completion confirmation"
        return _fail(checkpoint, status, "CheckpointVerificationFailed", f"Checkpoint job completed {why}", moment)
    if mark == "failed" or is_true(job.get("status") or {}, "Failed"):
        return _fail(checkpoint, status, "JobFailed", "Checkpoint job failed", moment)
    return CheckpointStep(status)


def on_pull_failure(checkpoint: Node, step: CheckpointStep, failures: Sequence[str], moment: datetime) -> CheckpointStep:
    """A step with what the pod of the Job can't pull, or with the end of that."""
    text, events = report_pull_failures(step.status, failures)
    condition = Condition(PULLED, "False", PULL_FAILED, text, _generation(checkpoint)) if text else None
    return step._replace(status=set_condition(step.status, PULLED, condition, moment), events=(*step.events, *events))


def on_template_change(checkpoint: Node, status: Node, moment: datetime) -> CheckpointStep:
    """The status with a word about a template that has changed since its Job was made: Jobs can't be changed."""
    since = condition_of(status, JOB_CREATED).get("observedGeneration")
    if not isinstance(since, int) or since >= (_generation(checkpoint) or 0):
        return CheckpointStep(set_condition(status, TEMPLATE_CHANGED, None, moment))
    text = f"spec changed after Job {status.get('jobName')} was made; set annotation {ARTIFACT_VERSION} to another version to take it anew"
    condition = Condition(TEMPLATE_CHANGED, "True", "NewVersionNeeded", text)
    return _report(checkpoint, status, condition, moment, NewEvent("Warning", TEMPLATE_CHANGED, text))


def count_lease_seconds(lease: Node | None, moment: datetime) -> float:
    """Seconds for which a Lease is still in force; 0 when it isn't."""
    spec: Node = (lease or {}).get("spec") or {}
    duration, since = spec.get("leaseDurationSeconds"), parse_time(spec.get("renewTime") or spec.get("acquireTime"))
    if not isinstance(duration, int) or since is None:
        return 0.0
    return max(0.0, (since - moment).total_seconds() + duration)


def _duplicate(checkpoint: Node, status: Node, twin: str, moment: datetime) -> CheckpointStep:
    text = f"{_OWNED}{status['identityHash']} is already owned by {twin}"
    now = {**_without(status, "jobName", "createdAt", "location", "storageType"), "phase": FAILED, "message": text}
    return _report(checkpoint, now, Condition(JOB_CREATED, "False", DUPLICATE, text), moment, NewEvent("Warning", "CheckpointFailed", text))


def _may_try_again(checkpoint: Node, before: Node, *, gate: bool) -> bool:
    """Whether something has changed since a checkpoint failed: its spec, the gate, its twin, or a person's mind."""
    created = condition_of(before, JOB_CREATED)
    if created.get("reason") == DUPLICATE or str(before.get("message") or "").startswith(_OWNED):
        return True
    if created.get("reason") == SWITCHED_OFF and gate:
        return True
    retry = _read_retry(checkpoint)
    if retry and retry != condition_of(before, RETRIED).get("message"):
        return True
    seen = [condition_of(before, kind).get("observedGeneration") for kind in (JOB_CREATED, JOB_COMPLETED)]
    known = [generation for generation in seen if isinstance(generation, int)]
    return bool(known) and max(known) < (_generation(checkpoint) or 0)


def _read_retry(checkpoint: Node) -> str:
    return string_map(checkpoint["metadata"].get("annotations")).get(RETRY, "")[:200]


def _make_pending(status: Node) -> Node:
    return {**_without(status, "jobName", "createdAt", "message", "location", "storageType"), "phase": PENDING}


def _finish(checkpoint: Node, status: Node, job: Node, storage: Storage | None, moment: datetime) -> CheckpointStep:
    text = "Checkpoint job completed successfully"
    now = {**_without(status, "message"), "phase": READY, "createdAt": _read_end_time(job, moment)}
    if storage is not None:
        at = f"{storage.path.rstrip('/')}/{status['identityHash']}/versions/{read_artifact_version(checkpoint)}"
        now |= {"location": at, "storageType": "pvc"}
    return _report(
        checkpoint, now, Condition(JOB_COMPLETED, "True", "JobSucceeded", text), moment, NewEvent("Normal", "CheckpointReady", text)
    )


def _fail(checkpoint: Node, status: Node, reason: str, text: str, moment: datetime) -> CheckpointStep:
    condition, now = Condition(JOB_COMPLETED, "False", reason, text), {**status, "phase": FAILED, "message": text}
    return _report(checkpoint, now, condition, moment, NewEvent("Warning", "CheckpointFailed", text))


def _report(checkpoint: Node, status: Node, condition: Condition, moment: datetime, news: NewEvent) -> CheckpointStep:
    """A status with a condition, of today's generation if it names none, and the Event, unless the stored condition says the same."""
    was = condition_of(checkpoint.get("status") or {}, condition.type)
    known = (was.get("status"), was.get("reason"), was.get("message")) == (condition.status, condition.reason, condition.message)
    condition = condition if condition.generation is not None else condition._replace(generation=_generation(checkpoint))
    return CheckpointStep(set_condition(status, condition.type, condition, moment), () if known else (news,))


def _without(status: Node, *names: str) -> Node:
    return {name: value for name, value in status.items() if name not in names}


def _generation(checkpoint: Node) -> int | None:
    generation = checkpoint["metadata"].get("generation")
    return generation if isinstance(generation, int) else None


def _mark(job: Node) -> str:
    return string_map(job["metadata"].get("annotations")).get(CHECKPOINT_STATUS, "")


def _read_end_time(job: Node, moment: datetime) -> str:
    """Read the time when a Job ended, not when that was noticed."""
    status: Any = job.get("status") or {}
    return str(status.get("completionTime") or condition_of(status, "Failed").get("lastTransitionTime") or format_time(moment))
