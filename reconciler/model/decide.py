"""Chooses what a pass over a DynamoModel does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from ...kube.protocol import Node
from ..common.conditions import Say
from ..common.marks import FINALIZER
from ..engine.passes import RETRY_SLOW, Refusal
from .endpoints import Found
from .lora import InvalidNameError, Lora, Standing, Wish, is_lora, lora_of, path_of, read_names
from .status import NAMED, Verdict, no_pod_status, of_base

_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


class Seen(NamedTuple):
    """What a pass reads."""

    model: Node
    pods: Found
    bases: Sequence[tuple[str, str]]  # Services of the pods, and the base models that their annotations name
    owner: str  # name of the model that owns the adapter
    unlisted: str = ""  # why EndpointSlices can't be read
    base_as_reference: bool = False  # whether pods of base models are reported as the Go operator does


class Plan(NamedTuple):
    """What a pass does. Without a wish, the loader forgets the model."""

    verdict: Verdict | None = None  # None: the loader's progress decides
    ready: frozenset[str] = frozenset()  # uids of pods
    wish: Wish | None = None
    check: bool = False  # whether pods are asked for their adapters before they load one
    names: Mapping[str, str] = _NO_NAMES  # the adapters to record before loading
    event: Say | None = None


def decide(seen: Seen) -> Plan | Refusal:
    """The plan of a pass; a refusal leaves the loader as it is."""
    model = seen.model
    if model["metadata"].get("deletionTimestamp"):
        return _release(seen)
    if seen.unlisted:
        return Refusal("Forbidden", f"EndpointSlices can't be read: {seen.unlisted}", RETRY_SLOW)
    if (obstacle := _find_obstacle(seen)) is not None:
        return Plan(obstacle)
    if is_lora(model):
        lora, known = lora_of(model), read_names(model)
        loaded = known.get(lora.name, lora.digest)
        wish = Wish(lora, tuple(name for name in known if name != lora.name), replace=loaded != lora.digest)
        return Plan(wish=wish, check=lora.name in known, names={**known, lora.name: loaded})
    pods = seen.pods.endpoints
    if seen.base_as_reference:
        return Plan(of_base(len(pods), len(pods)))
    ready = frozenset(pod.uid for pod in pods if pod.callable)
    return Plan(of_base(len(pods), len(ready)), ready)


def _find_obstacle(seen: Seen) -> Verdict | None:
    """The reason why nothing may be loaded, or why the pods may serve another base model."""
    model, base = seen.model, str((seen.model.get("spec") or {}).get("baseModelName") or "")
    if not seen.pods.endpoints:
        return no_pod_status(base)
    for service, served in seen.bases:
        if served and served != base:
            text = f"baseModelName: Service {service} serves {served}, whose name has the same digest; rename one of both base models"
            return Verdict(False, "HashCollision", text)
    if not is_lora(model):
        return None
    lora = lora_of(model)
    try:
        path_of(lora.name)
    except InvalidNameError as error:
        return Verdict(False, "InvalidModelName", str(error))
    if seen.owner != model["metadata"]["name"]:
        text = f"modelName: DynamoModel {seen.owner} has loaded an adapter of this name; rename or delete one of both"
        return Verdict(False, "Conflict", text)
    if not lora.uri:
        text = "source URI is required for LoRA models"
        return Verdict(False, "NoEndpoints", "No endpoints found", ("LoadFailed", f"spec.source.uri: {text}"))
    return None


def _release(seen: Seen) -> Plan:
    """Unloads the adapters of a deleted model, except one that another model owns now."""
    model, name = seen.model, lora_of(seen.model).name
    if FINALIZER not in (model["metadata"].get("finalizers") or ()) or not is_lora(model):
        return Plan()
    if seen.unlisted:
        return Plan(event=Say("Warning", "CleanupFailed", f"EndpointSlices can't be read: {seen.unlisted}"))
    names = dict.fromkeys((name, *read_names(model)))
    if seen.owner != model["metadata"]["name"]:
        names.pop(name)
    if not names or not seen.pods.endpoints:
        return Plan()
    first, *others = names
    return Plan(wish=Wish(Lora(first, ""), tuple(others), unload=True))


def report_unload(seen: Seen, state: Standing, left: float) -> Say | None:
    """The Event for the end of unloading; None while pods have `left` seconds to unload."""
    pods = seen.pods.endpoints
    if state.clean:
        return Say("Normal", "LoRAUnloaded", f"Unloaded LoRA from {len(pods)} endpoint(s)")
    if left > 0:
        return None
    late = [pod.pod for pod in pods if pod.uid not in state.ready]
    text = f"Failed to unload LoRA from some endpoints: {len(late)} task(s) failed: {', '.join(late[:NAMED])}"
    return Say("Warning", "LoRAUnloadFailed", text)
