"""Generations of workers: the next replicas of each component of each generation. Pure; render computes one step."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...kube.protocol import Node
from ..common.conditions import is_true
from ..common.resources import WORKER_DIGEST
from ..render.generation import RollSizes, WorkerDigests, count_held_back, next_sizes
from ..render.graph import Graph, Member, read_replicas, read_template_annotations
from ..render.names import COMPONENT, CURRENT_HASH, MAX_SURGE, MAX_UNAVAILABLE, WORKER_HASH, WORKERS

Resize = tuple[Any, int]  # a component's object and its wanted replicas


class ReplicaCounts(NamedTuple):
    """The replicas of one generation of one component."""

    desired: int = 0  # wanted by its objects
    available: int = 0
    ready: int = 0


class Roll(NamedTuple):
    """The changes of generations in this pass."""

    name: str  # the workers' new generation
    adopted: bool = False  # whether the name is not the workers' digest, which must be recorded with it
    replicas: Mapping[str, int] = {}  # of the new generation by component, if they differ from the graph's
    resized: Sequence[Resize] = ()  # older objects
    retired: Sequence[Any] = ()  # older objects that are no longer needed
    old: frozenset[str] = frozenset()  # names of all older objects; they are not pruned but rolled
    rolling: bool = False
    updated: Sequence[str] = ()  # components whose roll is complete


def generation_of(obj: Node) -> str:
    """The generation of a component's object; empty for one older than generations, and of no worker, whatever its labels say."""
    worker = (obj.get("spec") or {}).get("type") in WORKERS
    return str((obj["metadata"].get("labels") or {}).get(WORKER_HASH) or "") if worker else ""


def component_of(obj: Node) -> str:
    """The component of an object."""
    return str((obj.get("spec") or {}).get("name") or (obj["metadata"].get("labels") or {}).get(COMPONENT) or "")


def is_ready(obj: Node) -> bool:
    """Whether a component's object is observed at its current generation and available."""
    status = obj.get("status") or {}
    return (status.get("observedGeneration") or 0) >= obj["metadata"].get("generation", 0) and is_true(status, "Available")


def name_generation(graph: Graph, digests: WorkerDigests, objects: Sequence[Node]) -> tuple[str, bool]:
    """Return the name of the workers' generation, and whether it differs from their current digest and isn't recorded yet.

    Such a name is from another operator, or from a release whose digest also counted fields without effect: workers keep it.
    """
    digest = digests.now
    if digests.before != digest and any(generation_of(obj) == digests.before for obj in objects):
        recorded = graph.annotations.get(CURRENT_HASH) == digests.before and graph.annotations.get(WORKER_DIGEST) == digest
        return digests.before, not recorded
    named, noted = graph.annotations.get(CURRENT_HASH, ""), graph.annotations.get(WORKER_DIGEST, "")
    if not named or named == digest or noted not in ("", digest):
        return digest, False
    if noted:
        return named, False
    there = any(generation_of(obj) == named for obj in objects)
    return (named, True) if there else (digest, False)


def plan_roll(graph: Graph, digests: WorkerDigests, objects: Sequence[Node], registered: Mapping[str, int] = {}) -> Roll:
    """The next step of a roll, from all component objects of the graph; `registered` counts the workers of each that frontends know."""
    workers = {member.name: member for member in graph.members if member.is_worker}
    # a removed worker belongs to the older generation, which serves as a whole until the new one does
    theirs = [
        obj for obj in objects if (generation_of(obj) or component_of(obj) in workers) and not obj["metadata"].get("deletionTimestamp")
    ]
    name, adopted = name_generation(graph, digests, theirs)
    old = [obj for obj in theirs if generation_of(obj) != name]
    new = {component_of(obj): obj for obj in theirs if generation_of(obj) == name}
    if not old:
        return Roll(name, adopted)
    # where frontends know older workers, new ones count only as far as they know those, too
    known = {component_of(obj) for obj in old if registered.get(obj["metadata"]["name"])}
    new = {of: _limit_to_registered(obj, registered.get(obj["metadata"]["name"], 0)) if of in known else obj for of, obj in new.items()}
    roll = Roll(name, adopted, old=frozenset(obj["metadata"]["name"] for obj in old), rolling=True)
    if any(member.nodes > 1 for member in graph.members):
        return _at_once(roll, workers, new, old)
    return _in_steps(roll, workers, new, old)


def _limit_to_registered(obj: Node, count: int) -> Node:
    """An object as if none but `count` of its workers were available."""
    status = obj.get("status") or {}
    seen = status.get("component") or {}
    reported = seen.get("availableReplicas", seen.get("readyReplicas"))
    component = {**seen, "availableReplicas": min(int(reported or 0), count)}
    return {**obj, "status": {**status, "component": component, "conditions": status.get("conditions") if count else ()}}


def _at_once(roll: Roll, workers: dict[str, Member], new: dict[str, Node], old: list[Node]) -> Roll:
    """Multinode replicas change at once: the old generation is deleted when the new one is complete."""
    updated = sorted(name for name in workers if name in new and is_ready(new[name]))
    return roll._replace(updated=updated, retired=old if len(updated) == len(workers) else ())


def _in_steps(roll: Roll, workers: dict[str, Member], new: dict[str, Node], old: list[Node]) -> Roll:
    replicas: dict[str, int] = {}
    resized: list[Resize] = []
    updated = []
    ranked = _sort_old(old)
    all_sizes = {name: _sizes(member, new.get(name), [obj for obj in old if component_of(obj) == name]) for name, member in workers.items()}
    for name, member in workers.items():
        annotations = read_template_annotations(member)
        surge, unavailable = annotations.get(MAX_SURGE, ""), annotations.get(MAX_UNAVAILABLE, "")
        sizes = all_sizes[name]
        left, replicas[name] = next_sizes(sizes, surge, unavailable)
        before = [obj for obj in ranked if component_of(obj) == name]
        resized += _share_out(before, max(left, count_held_back(name, all_sizes, surge, unavailable)))
        ready = _sum_replicas([new[name]]).ready if name in new else -1
        if sizes.new >= sizes.desired <= ready and sizes.old == 0 and _sum_replicas(before).ready == 0:
            updated.append(name)
    done = len(updated) == len(workers)
    return roll._replace(replicas=replicas, resized=resized, updated=sorted(updated), retired=old if done else ())


def _sizes(member: Member, new: Node | None, old: list[Node]) -> RollSizes:
    now, then = _sum_replicas([new] if new is not None else []), _sum_replicas(old)
    return RollSizes(read_replicas(member.fields), then.desired, then.available, now.desired, now.available)


def _sum_replicas(objects: list[Node]) -> ReplicaCounts:
    """The sums of some objects. Surplus pods don't count: they are terminating."""
    desired = available = ready = 0
    for obj in objects:
        wanted = read_replicas(obj.get("spec") or {})
        seen = (obj.get("status") or {}).get("component") or {}
        ready_now = int(seen.get("readyReplicas") or 0)
        desired += wanted
        reported = seen.get("availableReplicas")
        available += min(wanted, ready_now if reported is None else int(reported))
        ready += ready_now
    return ReplicaCounts(desired, available, ready)


def _sort_old(old: list[Node]) -> list[Node]:
    """Older objects, those that keep replicas longest first: of the generation that serves most, then of newer ones.

    A change during a roll leaves two older generations, of which the newer one may be broken.
    """
    least: dict[str, int] = {}  # generation -> fewest available replicas of a component
    for obj in old:
        name = generation_of(obj)
        least[name] = min(least.get(name, sys.maxsize), _sum_replicas([obj]).available)
    by_name = sorted(old, key=lambda obj: (str(obj["metadata"].get("creationTimestamp") or ""), obj["metadata"]["name"]), reverse=True)
    return sorted(by_name, key=lambda obj: -least[generation_of(obj)])


def _share_out(objects: list[Node], target: int) -> list[Resize]:
    """The replicas that each older object keeps, in order."""
    out: list[Resize] = []
    left = target
    for obj in objects:
        has = read_replicas(obj.get("spec") or {})
        keeps = min(left, has)
        left -= keeps
        if keeps != has:
            out.append((obj, keeps))
    return out
