"""The checkpoints that a graph's components ask for: which are there, why none is made, and what the graph says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.api.operator.settings import OFF
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.reconciler.checkpoint.identity import hash_of
from dynamo_webhooks.reconciler.checkpoint.phases import READY
from dynamo_webhooks.reconciler.checkpoint.standing import Standing, summed
from dynamo_webhooks.reconciler.loop.clique_status import running
from dynamo_webhooks.reconciler.loop.generations import generation_of, member_of
from dynamo_webhooks.reconciler.loop.keys import key_of, uid_of
from dynamo_webhooks.reconciler.loop.kinds import CHECKPOINT, CHECKPOINTS, CLIQUES, GRAPH
from dynamo_webhooks.reconciler.loop.problems import of_error
from dynamo_webhooks.reconciler.loop.restoring import Pods, choice_for, noted, standing_in
from dynamo_webhooks.reconciler.loop.switched import row_of
from dynamo_webhooks.reconciler.render.checkpoint import DELETE, RETAIN
from dynamo_webhooks.reconciler.render.children import direct_children
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.graph import experimental
from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.names import low
from dynamo_webhooks.reconciler.render.objects import co_owner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.checkpoint.restore import Restore
    from dynamo_webhooks.reconciler.loop.problems import Problem
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.graph import Graph
    from dynamo_webhooks.reconciler.render.observed import Observed
    from dynamo_webhooks.reconciler.render.settings import Settings


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


async def chosen_on_grove(work: Work, graph: Graph, seen: Snapshots, settings: Settings, observed: Observed) -> Snapshots:
    """What pods of cliques are restored from. Costs one more render of the set. Raises: ApiError, RenderError."""
    rendered = next((one for one in direct_children(graph.object, settings, observed).children if one["kind"] == CLIQUES), None)
    if not seen.wanted or rendered is None:
        return seen
    cold, live = (_templates(one) for one in (rendered, work.cache.get(key_of(rendered))))
    begun = _begun(work, graph, rendered)
    standings, restores, waits = {}, {}, set()
    for member in graph.members:
        if member.name not in seen.wanted:
            continue
        obj = {"kind": graph.object["kind"], "metadata": graph.object["metadata"], "spec": member.fields}
        clique = low(member.name)
        pods = Pods(cold[clique], live.get(clique), begun=member.name in begun) if clique in cold else None
        try:
            choice = await choice_for(work, obj, pods, settings)
        except RenderError as error:
            raise RenderError((*member.path, *error.path[1:]), error.reason) from None
        if choice.standing is not None:
            standings[member.name] = choice.standing
        if choice.restore is not None:
            restores[member.name] = choice.restore
        if choice.waits:
            waits.add(member.name)
    return seen._replace(on_grove=standings, restores=restores, waits=frozenset(waits))


def _begun(work: Work, graph: Graph, rendered: Node) -> set[str]:
    """Components on Grove that have been asked for pods: by what runs them, or, before that is there, by the template."""
    live = work.cache.get(key_of(rendered))
    if live is None:
        return set()
    template = (live.get("spec") or {}).get("template") or {}
    asked = {one.get("name"): (one.get("spec") or {}).get("replicas") for one in items(template.get("cliques"))}
    asked |= {one.get("name"): one.get("replicas") for one in items(template.get("podCliqueScalingGroups"))}
    replicas = {
        member.name: one["spec"].get("replicas") if one is not None else asked.get(low(member.name), 0)
        for member, one in running(graph, work.cache.owned(live))
    }
    return {name for name, count in replicas.items() if count != 0}


async def settle_owners(work: Work, graph: Graph, seen: Snapshots, refused: list[Problem]) -> None:
    """Has a checkpoint that goes with the graphs it was made for go with this one too, or with none if it is to stay.

    Only the graph that makes a checkpoint begins that, so that graphs that disagree don't undo each other. Costs one write where it changes.
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


def _templates(cliques: Node | None) -> dict[str, Node]:
    """The pod template of each clique of a set, by the clique's name."""
    found = items((((cliques or {}).get("spec") or {}).get("template") or {}).get("cliques"))
    return {str(one.get("name")): _template(one) for one in found}


def _template(clique: Node) -> Node:
    metadata = {name: clique.get(name) or {} for name in ("labels", "annotations")}
    return {"metadata": metadata, "spec": (clique.get("spec") or {}).get("podSpec") or {}}
