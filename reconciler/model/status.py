"""What the status of a model says, from the pods found and how loading stands. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

from ...kube.protocol import Node
from ..common.conditions import Condition, Say, condition_of, merge_conditions
from ..common.problems import LONGEST
from .endpoints import Endpoint, Found

SERVICES: Final = "ServicesFound"
ENDPOINTS: Final = "EndpointsReady"
READY: Final = "Ready"
NO_ENDPOINTS: Final = "NoEndpoints"
NOT_READY: Final = "NotReady"
LOADING: Final = "Loading"
LISTED: Final = 1000  # endpoints in a status at most
NAMED: Final = 3  # pods in a message at most


class Verdict(NamedTuple):
    """One answer about the endpoints of a model."""

    fine: bool
    reason: str
    message: str
    detail: tuple[str, str] | None = None  # reason and message of the condition `Ready` where they say more

    @property
    def word(self) -> str:
        """The status of conditions."""
        return "True" if self.fine else "False"


def no_pod_status(base: str) -> Verdict:
    """No pod serves the base model."""
    return Verdict(False, NO_ENDPOINTS, f"No endpoint slices found for base model {base}")


def of_base(total: int, ready: int) -> Verdict:
    """How it stands with a model that nothing is loaded for."""
    if ready:
        return Verdict(True, "EndpointsDiscovered", f"Found {total} endpoint(s) for base model")
    return _not_ready(total, ready)


def of_lora(endpoints: Sequence[Endpoint], ready: Collection[str], failures: Sequence[tuple[str, str]], *, busy: bool) -> Verdict:
    """How it stands with an adapter that is loaded on each pod."""
    total, done = len(endpoints), len(ready)
    if done == total and not failures:
        return Verdict(True, "AllEndpointsReady", f"All {total} endpoint(s) are ready")
    if failures:
        named = [f"{pod}: {text}" for pod, text in failures[:NAMED]]
        more = [f"and {len(failures) - NAMED} more"] if len(failures) > NAMED else []
        return _not_ready(total, done)._replace(detail=("LoadFailed", ", ".join([*named, *more])))
    if busy:
        return Verdict(False, LOADING, f"Loading the adapter on {total - done} of {total} endpoint(s)")
    return _not_ready(total, done)


def assess(model: Node, seen: Found, ready: Collection[str], verdict: Verdict, moment: datetime) -> tuple[Node, list[Say]]:
    """The whole status after a pass, and Events about its change; `ready` are uids of pods.

    Endpoints that are as before stay the digest that they were.
    """
    before, base = model.get("status") or {}, str((model.get("spec") or {}).get("baseModelName") or "")
    generation = model["metadata"].get("generation")
    reason, message = verdict.detail or (verdict.reason, verdict.message)
    told = [
        _services(seen, base, generation),
        Condition(ENDPOINTS, verdict.word, verdict.reason, verdict.message[:LONGEST], generation),
        Condition(READY, verdict.word, reason, message[:LONGEST], generation),
    ]
    listed: list[Node] = [{"address": one.urls[0], "podName": one.pod, "ready": one.uid in ready} for one in seen.endpoints]
    status: dict[str, Any] = {**before, "conditions": merge_conditions(before.get("conditions") or (), told, moment)}
    status |= {"readyEndpoints": sum(one.uid in ready for one in seen.endpoints), "totalEndpoints": len(listed)}
    listed = listed if len(listed) <= LISTED else sorted(listed, key=itemgetter("ready"))[:LISTED]
    if not listed:
        status.pop("endpoints", None)
    elif status.get("endpoints") != _digest(listed):
        status["endpoints"] = listed
    was = condition_of(before, ENDPOINTS)
    same = (was.get("status"), was.get("reason")) == (verdict.word, verdict.reason)
    return status, [] if same else _events(verdict, status, base)


def lighten(model: Node) -> None:
    """Leaves only a digest of the endpoints in a status, in place: a cluster has a hundred thousand of them."""
    status = model.get("status") or {}
    if isinstance(status.get("endpoints"), list):
        status["endpoints"] = _digest(status["endpoints"])


def _digest(listed: list[Node]) -> str:
    text = json.dumps(listed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _services(seen: Found, base: str, generation: int | None) -> Condition:
    if not seen.endpoints:
        return Condition(SERVICES, "False", "NoServicesFound", f"No endpoint slices found for base model {base}", generation)
    if not seen.services:
        return Condition(SERVICES, "False", "NoServicesFound", "No services associated with endpoint slices", generation)
    return Condition(SERVICES, "True", "ServicesFound", f"Found {len(seen.services)} service(s)", generation)


def _events(verdict: Verdict, status: Node, base: str) -> list[Say]:
    ready, total = status["readyEndpoints"], status["totalEndpoints"]
    level: Literal["Normal", "Warning"] = "Normal" if verdict.fine else "Warning"
    if verdict.reason == LOADING:
        return []
    if verdict.reason == NO_ENDPOINTS:
        return [Say(level, "NoEndpointsFound", verdict.message)]
    if verdict.reason == "EndpointsDiscovered":
        return [Say(level, "EndpointsDiscovered", f"Discovered {total} endpoints for base model {base}")]
    if verdict.reason == "AllEndpointsReady":
        return [Say(level, "EndpointsReady", f"All {total} endpoints ready for base model {base}")]
    if verdict.reason == NOT_READY:
        failed = [Say(level, "PartialEndpointFailure", verdict.detail[1])] if verdict.detail else []
        return [*failed, Say(level, "NotReady", f"Only {ready} of {total} endpoints ready for base model {base}")]
    return [Say(level, verdict.reason, verdict.message)]


def _not_ready(total: int, ready: int) -> Verdict:
    return Verdict(False, NOT_READY, f"Found {ready} ready endpoint(s) out of {total} total")
