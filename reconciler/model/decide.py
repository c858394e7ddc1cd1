"""Chooses what a pass over a DynamoModel does, and makes its status from the pods found and the progress of loading. Pure."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

from ...kube.protocol import Node
from ..common.applied_diff import digest
from ..common.conditions import Condition, NewEvent, condition_of, merge_conditions
from ..common.problems import MAX_MESSAGE_CHARACTERS, SLOW_RETRY_SECONDS, Refusal
from ..common.resources import FINALIZER
from .endpoints import Endpoint, ModelEndpoints
from .lora import InvalidNameError, LoadProgress, Lora, WantedAdapter, escape_name, is_lora, lora_of, read_names

SERVICES: Final = "ServicesFound"
ENDPOINTS: Final = "EndpointsReady"
READY: Final = "Ready"
NO_ENDPOINTS: Final = "NoEndpoints"
NOT_READY: Final = "NotReady"
LOADING: Final = "Loading"
MAX_ENDPOINTS: Final = 1000  # in a status
MAX_NAMED_PODS: Final = 3  # in a message


class Verdict(NamedTuple):
    """One answer about the endpoints of a model."""

    is_ready: bool
    reason: str
    message: str
    detail: tuple[str, str] | None = None  # reason and message of the condition `Ready` where they say more

    @property
    def condition_status(self) -> str:
        """The status of conditions."""
        return "True" if self.is_ready else "False"


def judge_base(total: int, ready: int) -> Verdict:
    """Judges a base model, for which nothing is loaded."""
    if ready:
        return Verdict(True, "EndpointsDiscovered", f"Found {total} endpoint(s) for base model")
    return _not_ready(total, ready)


def judge_lora(endpoints: Sequence[Endpoint], ready: Collection[str], failures: Sequence[tuple[str, str]], *, busy: bool) -> Verdict:
    """Judges a model whose adapter is loaded on each pod."""
    total, done = len(endpoints), len(ready)
    if done == total and not failures:
        return Verdict(True, "AllEndpointsReady", f"All {total} endpoint(s) are ready")
    if failures:
        named = [f"{pod}: {text}" for pod, text in failures[:MAX_NAMED_PODS]]
        more = [f"and {len(failures) - MAX_NAMED_PODS} more"] if len(failures) > MAX_NAMED_PODS else []
        return _not_ready(total, done)._replace(detail=("LoadFailed", ", ".join([*named, *more])))
    if busy:
        return Verdict(False, LOADING, f"Loading the adapter on {total - done} of {total} endpoint(s)")
    return _not_ready(total, done)


def make_status(
    model: Node, pods: ModelEndpoints, ready: Collection[str], verdict: Verdict, moment: datetime
) -> tuple[Node, list[NewEvent]]:
    """The whole status after a pass, and Events about its change; `ready` are uids. Unchanged endpoints stay the digest that they were."""
    before, base = model.get("status") or {}, str((model.get("spec") or {}).get("baseModelName") or "")
    generation = model["metadata"].get("generation")
    reason, message = verdict.detail or (verdict.reason, verdict.message)
    conditions = [
        _services(pods, base, generation),
        Condition(ENDPOINTS, verdict.condition_status, verdict.reason, verdict.message[:MAX_MESSAGE_CHARACTERS], generation),
        Condition(READY, verdict.condition_status, reason, message[:MAX_MESSAGE_CHARACTERS], generation),
    ]
    listed: list[Node] = [
        {"address": endpoint.urls[0], "podName": endpoint.pod, "ready": endpoint.uid in ready} for endpoint in pods.endpoints
    ]
    status: dict[str, Any] = {**before, "conditions": merge_conditions(before.get("conditions") or (), conditions, moment)}
    status |= {"readyEndpoints": sum(endpoint.uid in ready for endpoint in pods.endpoints), "totalEndpoints": len(listed)}
    listed = listed if len(listed) <= MAX_ENDPOINTS else sorted(listed, key=itemgetter("ready"))[:MAX_ENDPOINTS]
    if not listed:
        status.pop("endpoints", None)
    elif status.get("endpoints") != digest(listed):
        status["endpoints"] = listed
    was = condition_of(before, ENDPOINTS)
    same = (was.get("status"), was.get("reason")) == (verdict.condition_status, verdict.reason)
    return status, [] if same else _events(verdict, status, base)


def trim_model(model: Node) -> None:
    """Leaves only a digest of the endpoints in a status, in place: a cluster has a hundred thousand of them."""
    status = model.get("status") or {}
    if isinstance(status.get("endpoints"), list):
        status["endpoints"] = digest(status["endpoints"])


def _services(pods: ModelEndpoints, base: str, generation: int | None) -> Condition:
    if not pods.endpoints:
        return Condition(SERVICES, "False", "NoServicesFound", f"No endpoint slices found for base model {base}", generation)
    if not pods.services:
        return Condition(SERVICES, "False", "NoServicesFound", "No services associated with endpoint slices", generation)
    return Condition(SERVICES, "True", "ServicesFound", f"Found {len(pods.services)} service(s)", generation)


def _events(verdict: Verdict, status: Node, base: str) -> list[NewEvent]:
    ready, total = status["readyEndpoints"], status["totalEndpoints"]
    level: Literal["Normal", "Warning"] = "Normal" if verdict.is_ready else "Warning"
    if verdict.reason == LOADING:
        return []
    if verdict.reason == NO_ENDPOINTS:
        return [NewEvent(level, "NoEndpointsFound", verdict.message)]
    if verdict.reason == "EndpointsDiscovered":
        return [NewEvent(level, "EndpointsDiscovered", f"Discovered {total} endpoints for base model {base}")]
    if verdict.reason == "AllEndpointsReady":
        return [NewEvent(level, "EndpointsReady", f"All {total} endpoints ready for base model {base}")]
    if verdict.reason == NOT_READY:
        failed = [NewEvent(level, "PartialEndpointFailure", verdict.detail[1])] if verdict.detail else []
        return [*failed, NewEvent(level, "NotReady", f"Only {ready} of {total} endpoints ready for base model {base}")]
    return [NewEvent(level, verdict.reason, verdict.message)]


def _not_ready(total: int, ready: int) -> Verdict:
    return Verdict(False, NOT_READY, f"Found {ready} ready endpoint(s) out of {total} total")


class ModelState(NamedTuple):
    """The state at the start of a pass."""

    model: Node
    pods: ModelEndpoints
    bases: Sequence[tuple[str, str]]  # Services of the pods, and the base models that their annotations name
    owner: str  # name of the model that owns the adapter
    unlisted: str = ""  # why EndpointSlices can't be read
    base_as_reference: bool = False  # whether pods of base models are reported as the Go operator does


class ModelPlan(NamedTuple):
    """The plan of a pass over a model. Without a `WantedAdapter`, the loader forgets the model."""

    verdict: Verdict | None = None  # None: the loader's progress decides
    ready: frozenset[str] = frozenset()  # uids of pods
    wanted: WantedAdapter | None = None
    check: bool = False  # whether pods are asked for their adapters before they load one
    names: Mapping[str, str] = {}  # the adapters to record before loading
    event: NewEvent | None = None


def decide(state: ModelState) -> ModelPlan | Refusal:
    """The plan of a pass; a refusal leaves the loader as it is."""
    model = state.model
    if model["metadata"].get("deletionTimestamp"):
        return _release(state)
    if state.unlisted:
        return Refusal("Forbidden", f"EndpointSlices can't be read: {state.unlisted}", SLOW_RETRY_SECONDS)
    if (obstacle := _find_obstacle(state)) is not None:
        return ModelPlan(obstacle)
    if is_lora(model):
        lora, known = lora_of(model), read_names(model)
        loaded = known.get(lora.name, lora.digest)
        wanted = WantedAdapter(lora, tuple(name for name in known if name != lora.name), replace=loaded != lora.digest)
        return ModelPlan(wanted=wanted, check=lora.name in known, names={**known, lora.name: loaded})
    pods = state.pods.endpoints
    if state.base_as_reference:
        return ModelPlan(judge_base(len(pods), len(pods)))
    ready = frozenset(pod.uid for pod in pods if pod.callable)
    return ModelPlan(judge_base(len(pods), len(ready)), ready)


def _find_obstacle(state: ModelState) -> Verdict | None:
    """The reason why nothing may be loaded, or why the pods may serve another base model."""
    model, base = state.model, str((state.model.get("spec") or {}).get("baseModelName") or "")
    if not state.pods.endpoints:
        return Verdict(False, NO_ENDPOINTS, f"No endpoint slices found for base model {base}")
    for service, served in state.bases:
        if served and served != base:
            text = f"baseModelName: Service {service} serves {served}, whose name has the same digest; rename one of both base models"
            return Verdict(False, "HashCollision", text)
    if not is_lora(model):
        return None
    lora = lora_of(model)
    try:
        escape_name(lora.name)
    except InvalidNameError as error:
        return Verdict(False, "InvalidModelName", str(error))
    if state.owner != model["metadata"]["name"]:
        text = f"modelName: DynamoModel {state.owner} has loaded an adapter of this name; rename or delete one of both"
        return Verdict(False, "Conflict", text)
    if not lora.uri:
        text = "source URI is required for LoRA models"
        return Verdict(False, "NoEndpoints", "No endpoints found", ("LoadFailed", f"spec.source.uri: {text}"))
    return None


def _release(state: ModelState) -> ModelPlan:
    """Unloads the adapters of a deleted model, except one that another model owns now."""
    model, name = state.model, lora_of(state.model).name
    if FINALIZER not in (model["metadata"].get("finalizers") or ()) or not is_lora(model):
        return ModelPlan()
    if state.unlisted:
        return ModelPlan(event=NewEvent("Warning", "CleanupFailed", f"EndpointSlices can't be read: {state.unlisted}"))
    names = dict.fromkeys((name, *read_names(model)))
    if state.owner != model["metadata"]["name"]:
        names.pop(name)
    if not names or not state.pods.endpoints:
        return ModelPlan()
    first, *others = names
    return ModelPlan(wanted=WantedAdapter(Lora(first, ""), tuple(others), unload=True))


def report_unload(state: ModelState, progress: LoadProgress, left: float) -> NewEvent | None:
    """The Event for the end of unloading; None while pods have `left` seconds to unload."""
    pods = state.pods.endpoints
    if progress.clean:
        return NewEvent("Normal", "LoRAUnloaded", f"Unloaded LoRA from {len(pods)} endpoint(s)")
    if left > 0:
        return None
    late = [pod.pod for pod in pods if pod.uid not in progress.ready]
    text = f"Failed to unload LoRA from some endpoints: {len(late)} task(s) failed: {', '.join(late[:MAX_NAMED_PODS])}"
    return NewEvent("Warning", "LoRAUnloadFailed", text)
