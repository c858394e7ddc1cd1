"""What the status of a graph says, from the objects of its components and what went wrong. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.kube.times import seconds
from dynamo_webhooks.reconciler.loop.clique_status import PLACED
from dynamo_webhooks.reconciler.loop.component_status import RECONCILING
from dynamo_webhooks.reconciler.loop.generations import generation_of, is_ready, member_of
from dynamo_webhooks.reconciler.loop.problems import LONGEST, joined
from dynamo_webhooks.reconciler.loop.status import Condition, conditions, found
from dynamo_webhooks.reconciler.render.restart import order

if TYPE_CHECKING:
    from datetime import datetime

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.clique_status import OnGrove
    from dynamo_webhooks.reconciler.loop.generations import Roll
    from dynamo_webhooks.reconciler.loop.problems import Problem
    from dynamo_webhooks.reconciler.render.graph import Graph
    from dynamo_webhooks.reconciler.render.observed import Observed

READY: Final = "Ready"
REFUSED: Final = "refused_by_validation"
FAILED: Final = "failed_to_reconcile_the_resources"
ROLLING: Final = "rolling_update_in_progress"
UNREACHABLE: Final = "orchestrator_not_served"
NOT_READY: Final = "some_resources_are_not_ready"
ALL_READY: Final = "all_resources_are_ready"
_SUMMED: Final = ("replicas", "readyReplicas", "availableReplicas")


class Seen(NamedTuple):
    """All that the status follows from."""

    graph: Graph
    objects: Sequence[Node]  # of components, all generations
    expected: Sequence[str]  # names of those that must be there and ready
    roll: Roll
    observed: Observed
    problems: Sequence[Problem] = ()
    grove: OnGrove | None = None  # what Grove says, where the graph runs there
    orchestrator: Condition | None = None  # where it runs, if that is worth a word
    waits: str = ""  # what it waits for before anything can run


def status_of(before: Node, seen: Seen, moment: datetime) -> Node:
    """The whole status after a pass."""
    generation = seen.graph.object["metadata"].get("generation")
    state, reason, message = _verdict(seen)
    now = dict(before)
    ready = Condition(READY, "True" if state == "successful" else "False", reason, message, generation)
    place = seen.grove.place if seen.grove is not None else None
    kept = [one for one in before.get("conditions") or () if place is not None or one.get("type") != PLACED]
    more = [one for one in (place, seen.orchestrator) if one is not None]
    now |= {"state": state, "conditions": conditions(kept, [ready, *more], moment)}
    if not seen.problems:
        now["observedGeneration"] = generation
    if seen.grove is not None:
        _put(now, "components", {**seen.grove.figures})
    elif seen.objects:
        now["components"] = _components(seen)
    workers = sorted(one.name for one in seen.graph.members if one.is_worker)
    _put(now, "rollingUpdate", _rolling(before.get("rollingUpdate") or {}, seen.roll, workers, moment))
    _put(now, "restart", _restart(before.get("restart") or {}, seen))
    return now


def refused(before: Node, generation: int | None, message: str, moment: datetime, reason: str = REFUSED) -> Node:
    """The status of an object that nothing was done for; what runs of it is still told as it was."""
    told = Condition(READY, "False", reason, message[:LONGEST], generation)
    return {**before, "state": "failed", "conditions": conditions(before.get("conditions") or (), [told], moment)}


def unreachable(before: Node, generation: int | None, orchestrator: Condition, moment: datetime) -> Node:
    """The status of a graph that runs where nobody can ask; what ran of it is still told as it was."""
    told = Condition(READY, "Unknown", UNREACHABLE, orchestrator.message, generation)
    return {**before, "state": "pending", "conditions": conditions(before.get("conditions") or (), [told, orchestrator], moment)}


def _verdict(seen: Seen) -> tuple[str, str, str]:
    if seen.problems:
        return "failed", FAILED, joined([*seen.problems])
    if seen.roll.rolling:
        text = "; ".join(["Rolling update in progress", *_failed(seen)])
        return "pending", ROLLING, text[:LONGEST]
    reasons = {seen.graph.name: seen.waits} if seen.waits else _not_ready(seen)
    if reasons:
        text = "; ".join(f"{name}: {why}" for name, why in sorted(reasons.items()))
        return "pending", NOT_READY, f"Resources not ready: {text}"[:LONGEST]
    return "successful", ALL_READY, "All resources are ready"


def _not_ready(seen: Seen) -> dict[str, str]:
    objects = {one["metadata"]["name"]: one for one in seen.objects}
    reasons = dict(seen.grove.waits) if seen.grove is not None else {}
    for name in seen.expected:
        one = objects.get(name)
        if one is None:
            reasons[name] = "not created yet"
        elif not is_ready(one):
            reasons[name] = _why_not(one)
    return reasons


def _failed(seen: Seen) -> list[str]:
    """What can't be made of the components' objects, without which a roll does not go on."""
    named = ((str(one["metadata"]["name"]), _failure(one)) for one in seen.objects)
    return [f"{name}: {why}" for name, why in named if why and name in seen.expected]


def _failure(one: Node) -> str:
    said = found(one.get("status") or {}, "Available")
    return str(said.get("message") or "") if said.get("reason") == RECONCILING else ""


def _why_not(one: Node) -> str:
    generation, status = one["metadata"].get("generation", 0), one.get("status") or {}
    observed = status.get("observedGeneration") or 0
    if why := _failure(one):
        return why
    if observed < generation:
        return f"spec not yet processed: generation={generation}, observedGeneration={observed}"
    return "Component deployment not ready - Available condition not true"


def _components(seen: Seen) -> Node:
    """What runs for each component; during a roll the generations are summed, but only the new one counts as updated."""
    out: dict[str, Any] = {}
    for one in sorted(seen.objects, key=lambda one: generation_of(one) != seen.roll.name):
        told = (one.get("status") or {}).get("component")
        if not told:
            continue
        name = member_of(one)
        if name not in out:
            out[name] = dict(told)
            if one["metadata"]["name"] in seen.roll.old:
                out[name]["updatedReplicas"] = 0
            continue
        summed = out[name]
        for key in _SUMMED:
            if key in told or key in summed:
                summed[key] = int(summed.get(key) or 0) + int(told.get(key) or 0)
        summed["componentNames"] = sorted({*(summed.get("componentNames") or ()), *(told.get("componentNames") or ())})
    return out


def _rolling(before: Node, roll: Roll, workers: list[str], moment: datetime) -> Node:
    """At the end all workers are updated: whoever finds that out need not be the process that updated them."""
    if roll.rolling and not roll.retired:
        begun = before.get("startTime") if before.get("phase") in ("Pending", "InProgress") else None
        now: Node = {"phase": "InProgress", "startTime": begun or seconds(moment)}
        return {**now, "updatedComponents": [*roll.updated]} if roll.updated else now
    if roll.retired or before.get("phase") in ("Pending", "InProgress"):
        ended: Node = {"phase": "Completed", "startTime": before.get("startTime") or seconds(moment), "endTime": seconds(moment)}
        return {**ended, "updatedComponents": workers}
    return before


def _restart(before: Node, seen: Seen) -> Node:
    asked = str((seen.graph.spec.get("restart") or {}).get("id") or "")
    if not asked or (before.get("observedID") == asked and before.get("phase") in ("Completed", "Superseded")):
        return before
    if seen.roll.rolling:
        return {"observedID": asked, "phase": "Superseded"}
    waiting = [name for name in order(seen.graph) if name not in seen.observed.restarted]
    if not waiting:
        return {"observedID": asked, "phase": "Completed"}
    strategy = ((seen.graph.spec.get("restart") or {}).get("strategy") or {}).get("type")
    return {"observedID": asked, "phase": "Restarting", "inProgress": waiting if strategy == "Parallel" else waiting[:1]}


def _put(into: Node, name: str, value: Node) -> None:
    if value:
        into[name] = value
