"""The status of a request: its phase, its conditions, and their summary. Pure; reconcile.py acts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...kube.protocol import Node
from ..common.conditions import Condition, NewEvent, condition_of, merge_conditions
from ..common.problems import MAX_MESSAGE_CHARACTERS
from ..workload.pod_states import PULL_FAILED, PULLED, report_pull_failures
from .annotations import digest

PENDING: Final = "Pending"
PROFILING: Final = "Profiling"
READY: Final = "Ready"
DEPLOYING: Final = "Deploying"
DEPLOYED: Final = "Deployed"
FAILED: Final = "Failed"
FROZEN: Final = (PROFILING, READY, DEPLOYING, DEPLOYED)  # in which another spec has no effect
STEPS: Final = ("Initializing", "SweepingPrefill", "SweepingDecode", "SelectingConfig", "BuildingCurves", "GeneratingDGD", "Done")
# conditions
VALIDATION: Final = "Validation"
RUN: Final = "Profiling"
SPEC: Final = "SpecGenerated"
DEPLOYMENT: Final = "DeploymentReady"
SUCCEEDED: Final = "Succeeded"
CHANGED: Final = "SpecChanged"
AGAIN: Final = "StartingAgain"  # reason of the condition Profiling
_FAILURE: Final = {  # in the order of the stages
    VALIDATION: "Validation failed: ",
    RUN: "Profiling failed: ",
    SPEC: "Spec generation failed: ",
    DEPLOYMENT: "Deployment failed: ",
}
_FRESH: Final = dict.fromkeys(("profilingPhase", "profilingJobName", "profilingResults", "dgdName", "deploymentInfo"))
_SUMMARY: Final = {
    PENDING: ("False", PENDING, "DGDR is pending"),
    PROFILING: ("False", PROFILING, "Profiling is in progress"),
    READY: ("True", "SpecGenerated", "Profiling complete, spec available"),
    DEPLOYING: ("False", DEPLOYING, "Deployment is in progress"),
    DEPLOYED: ("True", DEPLOYED, "Deployment is healthy"),
}
_COMPLETED: Final = (RUN, "True", "ProfilingCompleted", "Profiling job completed successfully")


class RequestStep(NamedTuple):
    """The next status of a request, and its Events. A field that is None is removed, one that isn't named stays."""

    phase: str
    conditions: tuple[tuple[str, str, str, str], ...] = ()  # conditions: type, status, reason, message
    fields: Mapping[str, Any] = {}
    events: tuple[NewEvent, ...] = ()
    removed_conditions: tuple[str, ...] = ()  # conditions that mean nothing any more


def make_status(request: Node, step: RequestStep, moment: datetime) -> Node:
    """The whole status after a step."""
    before, generation = request.get("status") or {}, request["metadata"].get("generation")
    gone = step.removed_conditions if step.phase in (PROFILING, DEPLOYING) else (*step.removed_conditions, PULLED)
    kept = [condition for condition in before.get("conditions") or () if condition.get("type") not in gone]
    conditions = [
        Condition(kind, word, reason, message[:MAX_MESSAGE_CHARACTERS], generation) for kind, word, reason, message in step.conditions
    ]
    status: dict[str, Any] = {**before, **step.fields, "phase": step.phase, "observedGeneration": generation}
    status["conditions"] = merge_conditions(kept, conditions, moment)
    summary = Condition(SUCCEEDED, *_summarize(step.phase, status), generation)
    status["conditions"] = merge_conditions(status["conditions"], [summary], moment)
    return {name: value for name, value in status.items() if value is not None}


def trim_request(request: Node) -> None:
    """Replaces the result in a stored request by its digest, in place: no code here reads it there, and it may be large."""
    status = request.get("status") or {}
    if isinstance(status.get("profilingResults"), dict):
        status["profilingResults"] = digest(status["profilingResults"])


def _summarize(phase: str, status: Node) -> tuple[str, str, str]:
    """Status, reason and message of what all conditions add up to; of several failures the latest counts."""
    if phase in _SUMMARY:
        return _SUMMARY[phase]
    for kind, prefix in reversed(_FAILURE.items()):
        condition = condition_of(status, kind)
        message = str(condition.get("message") or "")
        if condition.get("status") == "False" and message:
            plain = message.lower().startswith(prefix.lower())
            return "False", str(condition.get("reason")), (message if plain else prefix + message)[:MAX_MESSAGE_CHARACTERS]
    return "False", FAILED, "DGDR has failed"


def begin() -> RequestStep:
    """A valid request begins, or begins again."""
    conditions = (
        (VALIDATION, "True", "ValidationPassed", ""),
        (RUN, "False", "DiscoveringHardware", "Discovering GPU hardware and preparing profiling job"),
    )
    return RequestStep(
        PENDING, conditions, _FRESH, (NewEvent("Normal", "Initialized", "DGDR initialized successfully"),), (SPEC, DEPLOYMENT, CHANGED)
    )


def begin_again() -> RequestStep:
    """A failed request begins anew."""
    return RequestStep(
        PENDING, ((RUN, "False", AGAIN, "Starting again"),), _FRESH, removed_conditions=(VALIDATION, SPEC, DEPLOYMENT, CHANGED)
    )


def fail(kind: str, reason: str, text: str, event: str = "") -> RequestStep:
    """A request that ends at one of its conditions; `event` is the Event's reason, if it is another than the condition's."""
    return RequestStep(FAILED, ((kind, "False", reason, text),), {}, (NewEvent("Warning", event or reason, text),))


def refuse_deployment(reason: str, text: str) -> RequestStep:
    """Fails a request whose graph can't be made: it would be refused, or another owner has its name."""
    return fail(DEPLOYMENT, reason, text, "DeploymentCreationFailed")


def refuse_job(text: str) -> RequestStep:
    """Fails a request whose Job can't be made by any attempt."""
    return fail(RUN, "JobCreationFailed", text, "ProfilingJobFailed")


def start(job: str) -> RequestStep:
    """The profiling Job has been made."""
    conditions = ((RUN, "False", "Initializing", "Discovering GPU hardware and preparing profiling job"),)
    fields = {"profilingPhase": STEPS[0], "profilingJobName": job}
    return RequestStep(PROFILING, conditions, fields, (NewEvent("Normal", "ProfilingJobCreated", "Profiling job created"),))


def follow(status: Node, data: Node, waiting_reason: str) -> RequestStep:
    """Next status from the profiler's reported stage, or `waiting_reason` of its pod. An unknown stage changes only the message."""
    word, message = str(data.get("phase") or ""), str(data.get("message") or "")[:1000]
    before, was = str(status.get("profilingPhase") or ""), condition_of(status, RUN)
    reason, text, fields = "ProfilingRunning", "Profiling is in progress", dict[str, Any]()
    if waiting_reason:
        text = f"{text}. Pods wait: {waiting_reason}"
    elif word in STEPS and word != before:
        reason, text, fields = "Completed" if word == STEPS[-1] else word, message, {"profilingPhase": word}
    elif word and word not in STEPS:
        reason = str(was.get("reason") or reason)
        text = f"the profiler says {word[:60]!r}, which is no known phase{': ' * bool(message)}{message}"
    elif was.get("reason") not in (None, "Initializing") and not str(was.get("message")).startswith(f"{text}. Pods wait"):
        return RequestStep(PROFILING)
    return RequestStep(PROFILING, ((RUN, "False", reason, text),), fields)


def await_result() -> RequestStep:
    """The Job has ended, but nothing that it wrote is to be seen."""
    return RequestStep(PROFILING, ((RUN, "False", "AwaitingResult", "The profiling Job has ended, its result is awaited"),))


def add_pulls(step: RequestStep, status: Node, failures: Sequence[str]) -> RequestStep:
    """A step with what pods can't pull, or with the end of that."""
    text, events = report_pull_failures(status, failures)
    if not text:
        return step._replace(removed_conditions=(*step.removed_conditions, PULLED)) if condition_of(status, PULLED) else step
    return step._replace(conditions=(*step.conditions, (PULLED, "False", PULL_FAILED, text)), events=step.events + events)


def fail_profiling(status: Node, data: Node | None, text: str) -> RequestStep:
    """The profiler gave up, or its Job did."""
    word = str((data or {}).get("phase") or "")
    step = word if word in STEPS else str(status.get("profilingPhase") or "")
    failed = fail(RUN, f"{step or 'Profiling'}Failed", text, "ProfilingCheckFailed")
    return failed._replace(fields={"profilingPhase": step} if step else {})


def refuse_result(text: str) -> RequestStep:
    """Fails a request whose profiler has finished with an unusable result."""
    failed = fail(SPEC, "GenerationFailed", text)
    return failed._replace(conditions=(_COMPLETED, *failed.conditions))


def take_result(graph: str, results: Node, *, apply: bool) -> RequestStep:
    """The graph is known; it is created, or left to a person."""
    text = "DynamoGraphDeployment spec generated successfully"
    where = text if apply else "Generated spec is available in annotation nvidia.com/generated-dgd-spec"
    fields = {"dgdName": graph, "profilingResults": results, "profilingPhase": None}
    conditions = (_COMPLETED, (SPEC, "True", "SpecGenerated", where))
    return RequestStep(DEPLOYING if apply else READY, conditions, fields, (NewEvent("Normal", "SpecGenerated", text),))


def deploy(graph: str) -> RequestStep:
    """The graph has been made."""
    conditions = ((DEPLOYMENT, "False", "DeploymentCreated", f"DGD {graph} created, waiting for Ready"),)
    event = NewEvent("Normal", "DeploymentCreated", f"DynamoGraphDeployment {graph} created successfully")
    return RequestStep(DEPLOYING, conditions, {"dgdName": graph}, (event,))


def fail_deleted(graph: str) -> RequestStep:
    """Fails a request whose graph was deleted."""
    text = "Deployment was deleted by user. Create a new DGDR to redeploy."
    message = f"DGD {graph} was deleted. DGDR will not recreate it. Delete this DGDR and create a new one to redeploy."
    fields = {"dgdName": None, "deploymentInfo": None}
    return fail(DEPLOYMENT, "DeploymentDeleted", text)._replace(fields=fields, events=(NewEvent("Warning", "DeploymentDeleted", message),))


def report_graph(request: Node, graph: Node) -> RequestStep:
    """Reports the state of the graph."""
    name, before = str(graph["metadata"]["name"]), (request.get("status") or {}).get("phase")
    state = str((graph.get("status") or {}).get("state") or "")
    fields: dict[str, Any] = {"dgdName": name, "deploymentInfo": _count_replicas(graph)}
    if state == "successful":
        text = f"DynamoGraphDeployment {name} is ready"
        news = RequestStep(
            DEPLOYED, ((DEPLOYMENT, "True", "DeploymentReady", text),), fields, (NewEvent("Normal", "DeploymentReady", text),)
        )
        return RequestStep(DEPLOYED, fields=fields) if before == DEPLOYED else news
    if before == DEPLOYED:
        return fail(DEPLOYMENT, "DeploymentDegraded", f"Deployment degraded to {state}")._replace(phase=DEPLOYING, fields=fields)
    why = str(condition_of(graph.get("status") or {}, "Ready").get("message") or "")
    text = f"DGD {name} is in {state} state{': ' * bool(why)}{why}"
    return RequestStep(DEPLOYING, ((DEPLOYMENT, "False", "DeploymentInProgress", text),), fields)


def _count_replicas(graph: Node) -> Node | None:
    """Counts the replicas of a graph in all, and the available ones; None if its status has no components."""
    parts = (graph.get("status") or {}).get("components") or {}
    components = [component for component in parts.values() if isinstance(component, dict)]
    if not components:
        return None
    ready = [
        component["availableReplicas"] if "availableReplicas" in component else component.get("readyReplicas") for component in components
    ]
    return {
        "replicas": sum(component.get("replicas") or 0 for component in components),
        "availableReplicas": sum(count or 0 for count in ready),
    }


def report_change(phase: str, *, differs: bool, unheard: bool) -> RequestStep:
    """Reports whether a spec differs from the one that profiling began with; `unheard` if no Event has warned of it yet."""
    if not differs:
        return RequestStep(phase, removed_conditions=(CHANGED,))
    text = (
        f"Cannot modify spec in phase '{phase}'. DynamoGraphDeploymentRequest is immutable once profiling starts. "
        "Create a new resource with a different name instead."
    )
    news = (NewEvent("Warning", "SpecChangeRejected", text),) if unheard else ()
    return RequestStep(phase, ((CHANGED, "True", "SpecChangeRejected", text),), {}, news)
