"""Chooses what a pass over a DynamoGraphDeploymentRequest does, by its phase."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from ...api.operator.configuration import OperatorConfiguration
from ...kube.protocol import Node
from ...kube.times import parse_time
from ..common.conditions import NewEvent, condition_of
from ..common.keys import key_of, uid_of
from ..common.problems import SLOW_RETRY_SECONDS, SOON_RETRY_SECONDS, Problem
from ..common.resources import REQUEST_NAME
from ..render.yaml_text import format_yaml
from . import phases
from .annotations import digest_spec, graph_name, read_progress, read_requested_hardware, read_retry
from .hardware import GpuInventory, fill_hardware
from .names import EXTRA, HARDWARE, NAMESPACE, REQUEST_UID, SPEC, job_of
from .phases import RequestStep
from .result import ProfilingResult, is_there, read_failure, strip_graph
from .validation import explain_invalid, explain_obstacle

POLL_SECONDS: Final = 10.0  # seconds between two looks at the progress of a profiler
POD_START_SECONDS: Final = 60.0  # that a pod may take, and between two looks at one that doesn't start
GPU_POLL_SECONDS: Final = 15.0  # seconds until the next look at GPUs that are being discovered
RESULT_TIMEOUT_SECONDS: Final = 60.0  # after the end of a Job, within which its result may still be written
MAX_JOBS: Final = 2  # of one spec: one, and another if a user deletes it
MAX_ANNOTATION_BYTES: Final = 100 * 1024  # bytes of a graph that are also kept in an annotation
Action = Literal["", "begin", "drop job", "make config maps", "drop config maps", "adopt graph", "make graph"]


class RequestState(NamedTuple):
    """The state at the start of a pass; each phase reads its part."""

    request: Node
    moment: datetime
    refusal: str = ""  # why admission refuses the request
    gpus: GpuInventory | None = GpuInventory()  # None while they are being discovered
    claim: bool = True  # whether the claim of the model cache exists
    settings: OperatorConfiguration = OperatorConfiguration()
    job: Node | None = None
    ending: str = ""  # how the Job failed
    data: Node | None = None  # of the profiler's ConfigMap
    waiting_reason: str = ""  # why the Job's pod doesn't run
    pull_failures: tuple[str, ...] = ()  # images that pods can't pull
    graph: Node | None = None
    result: ProfilingResult | None = None
    results: Node | None = None  # the summary of the result
    unusable: str = ""  # why the result can't be read
    result_refusal: str = ""  # why admission refuses the graph of the result

    @property
    def config_maps(self) -> Sequence[Node]:
        """The ConfigMaps that are made beside the graph."""
        return self.result.config_maps if self.result is not None else ()


class RequestPlan(NamedTuple):
    """The plan of a pass: the notes are written first, then the action is carried out, then the status is written."""

    step: RequestStep | None = None  # None: the status stays
    requeue_after: float = 0.0
    problems: tuple[Problem, ...] = ()
    notes: Mapping[str, Any] = {}
    annotations: Mapping[str, str | None] = {}
    hardware: Node | None = None  # written into the spec
    action: Action = ""


def phase_of(request: Node) -> str:
    """The phase of a request; a new one is pending."""
    return str((request.get("status") or {}).get("phase") or phases.PENDING)


def applies(request: Node) -> bool:
    """Whether the graph is created without an approval."""
    return (request.get("spec") or {}).get("autoApply") is not False


def is_mine(request: Node, graph: Node) -> bool:
    """Whether a graph was made for this request: by its labels, and by uids as far as they were noted."""
    metadata, key = graph["metadata"], key_of(request)
    labels, noted = metadata.get("labels") or {}, (metadata.get("annotations") or {}).get(REQUEST_UID)
    named = labels.get(REQUEST_NAME) == key.name and labels.get(NAMESPACE) == key.namespace
    return named and noted in (None, uid_of(request)) and read_progress(request).graph in ("", uid_of(graph))


def decide(state: RequestState) -> RequestPlan:
    """The plan of a pass."""
    if state.refusal:
        return RequestPlan(phases.fail(phases.VALIDATION, "ValidationFailed", state.refusal))
    phase = phase_of(state.request)
    plan = _BY_PHASE.get(phase, _failed)(state)
    return _report_change(state.request, plan) if phase in phases.FROZEN else plan


def _pending(state: RequestState) -> RequestPlan:
    request, status = state.request, state.request.get("status") or {}
    if state.gpus is None:
        return RequestPlan(None, GPU_POLL_SECONDS)
    if wrong := explain_invalid(request, state.gpus, claim=state.claim):
        step = phases.fail(phases.VALIDATION, "ValidationFailed", wrong)
        return RequestPlan(step, notes={"spec": digest_spec(request.get("spec")), "retry": read_retry(request)})
    if not status.get("observedGeneration") or condition_of(status, phases.RUN).get("reason") == phases.AGAIN:
        return RequestPlan(phases.begin(), SOON_RETRY_SECONDS)
    hardware = fill_hardware(read_requested_hardware(request), state.gpus)
    wrong = explain_obstacle(request, hardware)
    writes = state.settings.requests.write_hardware and not wrong
    if writes:
        request = {**request, "spec": {**request["spec"], "hardware": hardware}}
    requested = read_requested_hardware(request)
    discovered = {name: value for name, value in hardware.items() if requested.get(name) != value}
    text = json.dumps(discovered, separators=(",", ":"), sort_keys=True) if discovered else None
    notes = {"spec": digest_spec(request.get("spec")), "retry": read_retry(request), "graph": "", "jobs": 1}
    plan = RequestPlan(None, notes=notes, annotations={HARDWARE: text}, hardware=hardware if writes else None)
    if wrong:
        return plan._replace(step=phases.refuse_job(wrong))
    if not state.settings.requests.copier_image:
        text = "requests.copierImage: must be given in the operator's configuration, since the image of this process is not known"
        return plan._replace(
            step=phases.fail(phases.RUN, "CopierImageUnknown", text)._replace(phase=phases.PENDING), requeue_after=SLOW_RETRY_SECONDS
        )
    return plan._replace(step=phases.start(job_of(request)), requeue_after=SOON_RETRY_SECONDS, action="begin")


def _profiling(state: RequestState) -> RequestPlan:
    status, data = state.request["status"], state.data
    if state.job is None:
        return _finish(state) if is_there(data) else _begin_again(state)
    job = state.job.get("status") or {}
    if condition_of(job, "Failed").get("status") == "True":
        return RequestPlan(phases.fail_profiling(status, data, state.ending))
    if condition_of(job, "Complete").get("status") != "True":
        step = phases.follow(status, data or {}, state.waiting_reason)
        return RequestPlan(phases.add_pulls(step, status, state.pull_failures), POLL_SECONDS)
    ended = parse_time(job.get("completionTime"))
    if not is_there(data) and ended is not None and (state.moment - ended).total_seconds() < RESULT_TIMEOUT_SECONDS:
        return RequestPlan(phases.await_result(), SOON_RETRY_SECONDS)
    return _finish(state)


def _begin_again(state: RequestState) -> RequestPlan:
    """Makes a deleted Job once more."""
    jobs = read_progress(state.request).jobs or 1
    if jobs >= MAX_JOBS:
        text = f'jobs.batch "{job_of(state.request)}" not found, and it has been made {jobs} times'
        return RequestPlan(phases.fail_profiling(state.request["status"], state.data, text))
    return RequestPlan(None, SOON_RETRY_SECONDS, notes={"jobs": jobs + 1}, action="begin")


def _finish(state: RequestState) -> RequestPlan:
    """Takes the result of a profiler that has ended."""
    if failure := read_failure(state.data or {}):
        return RequestPlan(phases.fail_profiling(state.request["status"], state.data, failure))
    result = state.result
    if result is None or state.result_refusal:
        return RequestPlan(phases.refuse_result(state.unusable or state.result_refusal))
    apply = applies(state.request)
    step = phases.take_result(str(result.graph["metadata"]["name"]), state.results or {}, apply=apply)
    ignored = [
        NewEvent("Warning", "ResourceIgnored", f"{name} of the result is not applied: it is not a ConfigMap") for name in result.ignored
    ]
    ignored += [NewEvent("Warning", "OverrideIgnored", note) for note in result.notes]
    step = step._replace(events=(*step.events, *ignored))
    return RequestPlan(step, SOON_RETRY_SECONDS, annotations=_annotations(result), action="make config maps" if apply else "")


def _annotations(result: ProfilingResult) -> dict[str, str | None]:
    """A small result as the Go operator keeps it, for its readers."""
    extra = "---\n".join(format_yaml(obj) for obj in result.other_objects)
    texts = {SPEC: format_yaml(strip_graph(result.graph)), EXTRA: extra or None}
    return {name: text for name, text in texts.items() if text is None or len(text.encode()) <= MAX_ANNOTATION_BYTES}


def _ready(state: RequestState) -> RequestPlan:
    return RequestPlan(RequestStep(phases.DEPLOYING)) if applies(state.request) and state.data is not None else RequestPlan()


def _deploying(state: RequestState) -> RequestPlan:
    request, status, progress, graph = state.request, state.request["status"], read_progress(state.request), state.graph
    name = str(status.get("dgdName") or graph_name(request))
    if graph is not None and is_mine(request, graph):
        step = phases.report_graph(request, graph)
        action: Action = "" if progress.graph else "adopt graph"
        if step.phase != phases.DEPLOYED:
            return RequestPlan(phases.add_pulls(step, status, state.pull_failures), POD_START_SECONDS, action=action)
        return RequestPlan(step, action=action)
    if progress.graph or (graph is None and status.get("phase") == phases.DEPLOYED):
        return RequestPlan(phases.fail_deleted(name))
    if graph is not None:
        text = f"DynamoGraphDeployment {name} was not made for this request, and is left alone; rename or remove it"
        return RequestPlan(phases.refuse_deployment("NameTaken", text), action="drop config maps")
    if not applies(request):
        return RequestPlan(RequestStep(phases.READY))
    if state.unusable:
        return RequestPlan(phases.refuse_result(state.unusable))
    if state.result is None:
        if status.get("dgdName"):
            return RequestPlan(phases.fail_deleted(name))
        text = f"generated DGD spec not found in annotation {SPEC} and in the output ConfigMap"
        return RequestPlan(None, SLOW_RETRY_SECONDS, (Problem(text, "not_found"),))
    if state.result_refusal:
        return RequestPlan(phases.refuse_result(state.result_refusal), action="drop config maps")
    return RequestPlan(phases.deploy(str(state.result.graph["metadata"]["name"])), action="make graph")


def may_begin_again(request: Node) -> tuple[bool, bool]:
    """Whether a failed request begins again, and whether its spec was edited."""
    status, progress, retry = request.get("status") or {}, read_progress(request), read_retry(request)
    # a default that a newer definition adds changes a digest, but no generation
    edited = progress.spec != digest_spec(request.get("spec")) and status.get("observedGeneration") != request["metadata"].get("generation")
    return status.get("phase") == phases.FAILED and (edited or bool(retry and retry != progress.retry)), edited


def _failed(state: RequestState) -> RequestPlan:
    """Begins again if the spec has changed or a user requests it; a usable result is kept."""
    again, edited = may_begin_again(state.request)
    if not again:
        return RequestPlan(RequestStep(phases.FAILED))
    notes = {"retry": read_retry(state.request), "graph": "", "jobs": 0}
    generated = condition_of(state.request["status"], phases.SPEC).get("status") == "True"
    if not edited and generated and state.data is not None:
        return RequestPlan(RequestStep(phases.DEPLOYING, removed_conditions=(phases.DEPLOYMENT,)), notes=notes)
    return RequestPlan(phases.begin_again(), SOON_RETRY_SECONDS, notes=notes, action="drop job")


_BY_PHASE: Final[dict[str, Callable[[RequestState], RequestPlan]]] = {
    phases.PENDING: _pending,
    phases.PROFILING: _profiling,
    phases.READY: _ready,
    phases.DEPLOYING: _deploying,
    phases.DEPLOYED: _deploying,
    phases.FAILED: _failed,
}


def _report_change(request: Node, plan: RequestPlan) -> RequestPlan:
    """Reports a spec that was changed after profiling began, once for each change, until the change is reverted."""
    status, progress, digest = request["status"], read_progress(request), digest_spec(request.get("spec"))
    spec, generation = progress.spec, request["metadata"].get("generation")
    if not spec:  # begun by the Go operator, which notes only a generation
        spec = digest if status.get("observedGeneration") in (None, generation) else "unknown"
        plan = plan._replace(notes={**plan.notes, "spec": spec})
    reported = bool(condition_of(status, phases.CHANGED))
    # a default that a newer definition adds is no change
    differs = spec != digest and (reported or status.get("observedGeneration") != generation)
    if not differs and not reported:
        return plan
    unheard = differs and progress.warned != digest
    if unheard:
        plan = plan._replace(notes={**plan.notes, "warned": digest})
    more = phases.report_change(str(status.get("phase")), differs=differs, unheard=unheard)
    step = plan.step or RequestStep(more.phase)
    return plan._replace(
        step=step._replace(
            conditions=step.conditions + more.conditions,
            events=step.events + more.events,
            removed_conditions=step.removed_conditions + more.removed_conditions,
        )
    )
