"""Passes over a DynamoGraphDeploymentRequest: from hardware to a profiling Job, from its result to a graph, and how that stands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import ForbiddenError, InvalidError
from dynamo_webhooks.kube.resources import CLAIMS, JOBS
from dynamo_webhooks.kube.times import parsed
from dynamo_webhooks.reconciler.loop.depth import refusal_of
from dynamo_webhooks.reconciler.loop.keys import Key, key_of
from dynamo_webhooks.reconciler.loop.problems import TakenError
from dynamo_webhooks.reconciler.loop.request_graph import applies, deploying, refused
from dynamo_webhooks.reconciler.loop.request_writes import (
    begin,
    drop_job,
    found_hardware,
    is_refusal,
    live_job,
    make_config_maps,
    note,
    output_data,
    write_hardware,
)
from dynamo_webhooks.reconciler.loop.requests import SOON, Turn, ending_of
from dynamo_webhooks.reconciler.loop.status import Say, found
from dynamo_webhooks.reconciler.loop.surroundings import facts_of
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult
from dynamo_webhooks.reconciler.render.yaml_text import yaml_text
from dynamo_webhooks.reconciler.request import phases
from dynamo_webhooks.reconciler.request.hardware import KINDS, Cluster, filled
from dynamo_webhooks.reconciler.request.legacy import hardware_asked
from dynamo_webhooks.reconciler.request.names import EXTRA, HARDWARE, SPEC, job_of
from dynamo_webhooks.reconciler.request.phases import Step
from dynamo_webhooks.reconciler.request.progress import digest_of, progress_of, retry_of
from dynamo_webhooks.reconciler.request.result import Result, ResultError, bare, failure_of, is_there, result_of, shown, stored
from dynamo_webhooks.reconciler.request.validation import Around, claim_of, hindrance, invalid

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.requests import Requests
    from dynamo_webhooks.reconciler.loop.work import Work

POLL: Final = 10.0  # seconds between two looks at what a profiler says of itself
LATE: Final = 60.0  # seconds after the end of a Job within which its result may still be written
LOOKING: Final = 15.0  # seconds after which GPUs are asked for again, if nobody told
STEPS: Final = 4  # phases that one pass goes through at most
JOBS_MADE: Final = 2  # of one spec: one, and another if somebody deletes it
ANNOTATED: Final = 100 * 1024  # bytes of a graph that are kept in an annotation, too


async def reconcile_request(work: Work, obj: Node) -> PassResult:
    """Brings a request as far as it can go now. Costs two readings of a result at most, each in a thread of its own.

    Raises: ApiError, StandDownError.
    """
    requests = work.requests
    if requests is None:
        return PassResult()
    if obj["metadata"].get("deletionTimestamp"):
        await work.let_go(obj)  # all that must go with it belongs to it
        return PassResult()
    turn = Turn()
    for _ in range(STEPS):
        before = str((obj.get("status") or {}).get("phase") or "")
        turn = await _turn(work, requests, obj)
        obj = work.cache.get(key_of(obj)) or obj
        if turn.step is None or not await _told(work, obj, turn.step) or turn.step.phase == before:
            break
        obj = work.cache.get(key_of(obj)) or obj
    return PassResult(turn.problems, turn.after)


async def _told(work: Work, obj: Node, step: Step) -> bool:
    wrote = await work.patch_status(obj, phases.status_after(obj, step, work.now()))
    for each in step.events if wrote else ():
        await work.say(obj, each.level, each.reason, each.message)
    return wrote


async def _turn(work: Work, requests: Requests, obj: Node) -> Turn:
    """One look. What an API server refuses for good ends a request, a missing permission and what passes do not."""
    phase = str((obj.get("status") or {}).get("phase") or "")
    waits = phase in ("", phases.PENDING)
    if refusal := refusal_of(obj) or (work.judge.refusal(obj, facts_of(work.settings, work.known())) if waits else ""):
        return Turn(phases.invalid(refusal))
    try:
        if waits:
            return await _pending(work, requests, obj)
        if phase in phases.FROZEN:
            return await _with_changes(work, obj, await _frozen(work, requests, obj, phase))
        return await _failed(work, obj)
    except TakenError as error:
        return Turn(_refused(phase, "NameTaken", str(error)))
    except (ForbiddenError, InvalidError) as error:
        if not is_refusal(error):
            raise
        return Turn(_refused(phase, "DeploymentRejected", error.message))


def _refused(phase: str, reason: str, text: str) -> Step:
    return phases.not_deployed(reason, text) if phase in (phases.DEPLOYING, phases.DEPLOYED) else phases.not_started(text)


async def _frozen(work: Work, requests: Requests, obj: Node, phase: str) -> Turn:
    if phase == phases.PROFILING:
        return await _profiling(work, requests, obj)
    if phase == phases.READY:
        if not applies(obj) or stored(obj, await output_data(work, obj)) is None:
            return Turn()
        return Turn(Step(phases.DEPLOYING))
    return await deploying(work, requests, obj)


async def _pending(work: Work, requests: Requests, obj: Node) -> Turn:
    status, asked = obj.get("status") or {}, hardware_asked(obj)
    gpus = requests.gpus.known(key_of(obj)) if any(asked.get(name) is None for name in KINDS) else Cluster()
    if gpus is None:
        return Turn(None, LOOKING)
    claim = claim_of(obj)
    there = not claim or await work.cluster.get(CLAIMS, claim, key_of(obj).namespace) is not None
    if wrong := invalid(obj, Around(gpus, claim=there)):
        await note(work, obj, {}, spec=digest_of(obj.get("spec")), retry=retry_of(obj))
        return Turn(phases.invalid(wrong))
    if not status.get("observedGeneration") or found(status, phases.RUN).get("reason") == phases.AGAIN:
        return Turn(phases.begun(), SOON)
    return await _profile(work, requests, obj, filled(asked, gpus))


async def _profile(work: Work, requests: Requests, obj: Node, hardware: Node) -> Turn:
    spec, name = obj.get("spec") or {}, str(obj["metadata"]["name"])
    settings = await requests.job_settings()
    wrong = hindrance(obj, hardware)
    if requests.settings.requests.write_hardware and not wrong:
        obj = await write_hardware(work, obj, hardware)
        spec = obj["spec"]
    notes = {"spec": digest_of(spec), "retry": retry_of(obj), "graph": "", "jobs": 1}
    found_there = found_hardware(hardware, hardware_asked(obj))
    obj = await note(work, obj, {HARDWARE: found_there}, **notes)
    if wrong:
        return Turn(phases.not_started(wrong))
    if not settings.copier_image:
        text = "requests.copierImage: must be given in the operator's configuration, since the image of this process is not known"
        return Turn(phases.hindered(phases.PENDING, phases.RUN, "CopierImageUnknown", text), SLOWLY)
    await begin(work, obj, settings)
    return Turn(phases.started(job_of(name)), SOON)


async def _profiling(work: Work, requests: Requests, obj: Node) -> Turn:
    status, key = obj["status"], key_of(obj)
    job = work.cache.get(Key(JOBS.kind, key.namespace, job_of(key.name))) or await live_job(work, obj)
    data = await output_data(work, obj)
    if job is None:
        return await _without_job(work, requests, obj, data)
    end = found(job.get("status") or {}, "Failed")
    if end.get("status") == "True":
        text = failure_of(data or {}) or await ending_of(work.cluster, job, str(end.get("message") or ""))
        return Turn(phases.profiling_failed(status, data, text))
    done = found(job.get("status") or {}, "Complete")
    if done.get("status") != "True":
        waits, pulls = await requests.waits(job, work.now().timestamp())
        return Turn(phases.with_pulls(phases.progressed(status, data or {}, waits), status, pulls), POLL)
    ended = parsed((job.get("status") or {}).get("completionTime"))
    if not is_there(data) and ended is not None and (work.now() - ended).total_seconds() < LATE:
        return Turn(None, SOON)
    return await _finish(work, obj, data)


async def _without_job(work: Work, requests: Requests, obj: Node, data: Node | None) -> Turn:
    """The Job is gone, which was asked of the API server itself: its result counts, or another one is made, once."""
    if is_there(data):
        return await _finish(work, obj, data)
    made = progress_of(obj).jobs or 1
    if made >= JOBS_MADE:
        text = f'jobs.batch "{job_of(str(obj["metadata"]["name"]))}" not found, and it has been made {made} times'
        return Turn(phases.profiling_failed(obj["status"], data, text))
    obj = await note(work, obj, {}, jobs=made + 1)
    await begin(work, obj, await requests.job_settings())
    return Turn(None, SOON)


async def _finish(work: Work, obj: Node, data: Node | None) -> Turn:
    """The profiler has ended well: its result is read in a thread, since it may take a second."""
    if failure := failure_of(data or {}):
        return Turn(phases.profiling_failed(obj["status"], data, failure))
    try:
        result, results = await asyncio.to_thread(_read, obj, data)
    except ResultError as error:
        return Turn(phases.unusable(str(error)))
    if refusal := refused(work, obj, result):
        return Turn(phases.unusable(refusal))
    await note(work, obj, _annotations(result))
    if applies(obj):
        await make_config_maps(work, obj, result)
    step = phases.generated(str(result.graph["metadata"]["name"]), results, apply=applies(obj))
    told = [Say("Warning", "ResourceIgnored", f"{each} of the result is not applied: it is no ConfigMap") for each in result.ignored]
    return Turn(step._replace(events=(*step.events, *told)), SOON)


def _read(obj: Node, data: Node | None) -> tuple[Result, Node]:
    result = result_of(obj, data)
    return result, shown(result, data or {})


def _annotations(result: Result) -> dict[str, str | None]:
    """The result as the Go operator keeps it, for its readers, while it is small; ours stays in its ConfigMap."""
    extra = "---\n".join(yaml_text(one) for one in result.beside)
    texts = {SPEC: yaml_text(bare(result.graph)), EXTRA: extra or None}
    return {name: text for name, text in texts.items() if text is None or len(text.encode()) <= ANNOTATED}


async def _failed(work: Work, obj: Node) -> Turn:
    """A failed request begins again when its spec has changed, or somebody asks for it; a good result is not thrown away."""
    status, progress, digest, retry = obj.get("status") or {}, progress_of(obj), digest_of(obj.get("spec")), retry_of(obj)
    # a default that a newer definition adds changes a digest, but no generation
    edited = progress.spec != digest and status.get("observedGeneration") != obj["metadata"].get("generation")
    if status.get("phase") != phases.FAILED or not (edited or (retry and retry != progress.retry)):
        return Turn(Step(phases.FAILED))
    await note(work, obj, {}, retry=retry, graph="", jobs=0)
    if not edited and found(status, phases.SPEC).get("status") == "True" and stored(obj, await output_data(work, obj)) is not None:
        return Turn(Step(phases.DEPLOYING, gone=(phases.DEPLOYMENT,)))
    await drop_job(work, obj)
    return Turn(phases.again(), SOON)


async def _with_changes(work: Work, obj: Node, turn: Turn) -> Turn:
    """Says that a spec was changed after profiling began, once for each change, and takes it back when the change is taken back."""
    obj = work.cache.get(key_of(obj)) or obj
    status, progress, digest = obj["status"], progress_of(obj), digest_of(obj.get("spec"))
    if not progress.spec:  # begun by the Go operator, which notes only a generation
        same = status.get("observedGeneration") in (None, obj["metadata"].get("generation"))
        obj = await note(work, obj, {}, spec=digest if same else "unknown")
        progress = progress_of(obj)
    written = bool(found(status, phases.CHANGED)) or status.get("observedGeneration") != obj["metadata"].get("generation")
    differs = written and progress.spec != digest  # not by a default that a newer definition adds
    if not differs and not found(status, phases.CHANGED):
        return turn
    unheard = differs and progress.warned != digest
    if unheard:
        await note(work, obj, {}, warned=digest)
    more = phases.changed(obj, differs=differs, unheard=unheard)
    step = turn.step or Step(more.phase)
    return turn._replace(step=step._replace(told=step.told + more.told, events=step.events + more.events, gone=step.gone + more.gone))
