"""The checkpoints that a graph's components ask for: which are there, why none is made, and what the graph says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.api.operator.settings import OFF
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.reconciler.checkpoint.identity import hash_of
from dynamo_webhooks.reconciler.checkpoint.phases import READY
from dynamo_webhooks.reconciler.checkpoint.shared_gpus import shares_gpus
from dynamo_webhooks.reconciler.checkpoint.standing import Standing, summed
from dynamo_webhooks.reconciler.loop.generations import generation_of, member_of
from dynamo_webhooks.reconciler.loop.keys import Key, key_of, uid_of
from dynamo_webhooks.reconciler.loop.kinds import CHECKPOINT, CHECKPOINTS, GRAPH
from dynamo_webhooks.reconciler.loop.problems import of_error
from dynamo_webhooks.reconciler.loop.restoring import noted, standing_in
from dynamo_webhooks.reconciler.loop.switched import row_of
from dynamo_webhooks.reconciler.render.checkpoint import DELETE, RETAIN
from dynamo_webhooks.reconciler.render.graph import experimental
from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.objects import co_owner, reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.checkpoint.restore import Restore
    from dynamo_webhooks.reconciler.loop.problems import Problem
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.graph import Graph


class Snapshots(NamedTuple):
    """Of one graph, in one pass."""

    wanted: Mapping[str, Node]  # component -> what it says of its checkpoint
    off: Standing | None = None  # why no checkpoint is made
    on_grove: Mapping[str, Standing] = {}  # component -> what is said of it, where there are no objects of components
    waits: frozenset[str] = frozenset()  # components on Grove that have no pods until their checkpoint is ready
    restores: Mapping[str, Restore] = {}  # component on Grove -> the snapshot that its pods are restored from


def snapshots_of(work: Work, graph: Graph) -> Snapshots:
    """What a graph's components ask for, and whether it can be made."""
    wanted = {one.name: asked for one in graph.members if (asked := experimental(one.fields, "checkpoint")) is not None}
    return Snapshots(wanted, _off(work) if wanted else None)


def found_for(work: Work, graph: Graph, seen: Snapshots) -> dict[str, Node]:
    """The checkpoints that are there, by component."""
    found = ((name, work.checkpoints.found(work.cache, graph.namespace, wanted)) for name, wanted in seen.wanted.items())
    return {name: one for name, one in found if one is not None}


async def settle_owners(work: Work, graph: Graph, seen: Snapshots, refused: list[Problem]) -> None:
    """Has a checkpoint that goes with the graphs it was made for go with this one too, or with none if it is to stay.

    Only the graph that makes a checkpoint begins that, so that graphs that disagree don't undo each other. Costs a write where it changes.
    """
    for name, checkpoint in found_for(work, graph, seen).items():
        wanted, owners = seen.wanted[name], items(checkpoint["metadata"].get("ownerReferences"))
        graphs = [one for one in owners if one.get("kind") == GRAPH]
        if not graphs or wanted.get("checkpointRef"):
            continue
        if wanted.get("deletionPolicy") == RETAIN:
            owners = [one for one in owners if one not in graphs]
        elif wanted.get("deletionPolicy") == DELETE and not any(one.get("uid") == uid_of(graph.object) for one in graphs):
            owners = [*owners, co_owner(graph.object)]
        else:
            continue
        metadata = {name: checkpoint["metadata"][name] for name in ("uid", "resourceVersion")}
        try:
            await work.merge(graph.object, CHECKPOINTS, key_of(checkpoint).name, {"metadata": {**metadata, "ownerReferences": owners}})
        except ForbiddenError as error:
            refused.append(of_error(error, f"{CHECKPOINT} {key_of(checkpoint).name}"))


def is_snapshots(child: Node) -> bool:
    """Whether a child goes with a checkpoint that the graph makes: the claims of its pod."""
    return any(one.get("kind") == CHECKPOINT for one in child["metadata"].get("ownerReferences") or ())


async def put_claim_template(work: Work, child: Node, refused: list[Problem]) -> None:
    """Makes the claim template of a checkpoint once: a later change of the graph is none of what its pod runs with."""
    metadata = child["metadata"]
    owner = work.cache.get(Key(CHECKPOINT, metadata["namespace"], metadata["ownerReferences"][0]["name"]))
    if owner is None or not shares_gpus(owner) or work.cache.get(key_of(child)) is not None:
        return
    await work.put({**child, "metadata": {**metadata, "ownerReferences": [reference(owner)]}}, owner, refused)


def of_forbidden(seen: Snapshots, refused: Sequence[Problem]) -> Snapshots:
    """The same where a checkpoint could not be made for lack of a permission: the graph runs without."""
    return seen._replace(off=Standing("Forbidden", f"{refused[0].text}; pods start cold")) if refused else seen


def told_of(status: Node, work: Work, graph: Graph, seen: Snapshots, objects: Sequence[Node], generation: str) -> Node:
    """The graph's status with its checkpoints, and with the condition; `objects` are those of its components."""
    found = found_for(work, graph, seen)
    now = {name: value for name, value in status.items() if name != "checkpoints"}
    if found:
        now["checkpoints"] = {name: _entry(one) for name, one in sorted(found.items())}
    of_components = {member_of(one): standing_in(one.get("status") or {}) for one in objects if generation_of(one) in ("", generation)}
    standings = {}
    for name, wanted in seen.wanted.items():
        said = seen.on_grove.get(name) or of_components.get(name)
        if seen.off is not None and _is_awaited(found.get(name), wanted, seen.off):
            said = seen.off
        standings[name] = said or Standing("CheckpointNotReady", "its pods have not been looked at yet")
    return noted(now, summed(standings), graph.object["metadata"].get("generation"), work)


def _off(work: Work) -> Standing | None:
    row = row_of(CHECKPOINT)
    if row.runs(work.settings.controllers, work.known()):
        return None
    if work.settings.controllers.get(row.name) == OFF:
        return Standing("ControllerOff", f"controllers.{row.name} is off in the configuration: no snapshot is taken, pods start cold")
    lacking = work.lacking(row.name)
    named = f" ({lacking})" if lacking else ""
    return Standing("Forbidden", f"the reconciler lacks a permission for {CHECKPOINT}s{named}, pods start cold; {row.grant}")


def _is_awaited(checkpoint: Node | None, wanted: Node, off: Standing) -> bool:
    """Whether a component waits for what nobody here does; where the switch is off, another controller may take snapshots."""
    if checkpoint is not None:
        return off.reason == "Forbidden" and not _entry(checkpoint)["ready"]
    return not wanted.get("checkpointRef")


def is_hindrance(problem: Problem) -> bool:
    """Whether a checkpoint couldn't be made for a reason that needn't keep a graph from running."""
    return problem.category == "forbidden" or (problem.category == "not_found" and not problem.passing)


def _entry(checkpoint: Node) -> Node:
    ready = (checkpoint.get("status") or {}).get("phase") == READY
    return {"checkpointName": checkpoint["metadata"]["name"], "identityHash": hash_of(checkpoint), "ready": ready}
