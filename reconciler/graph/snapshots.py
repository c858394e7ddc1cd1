"""The checkpoints of a graph's components: existing ones, why none is made, what pods are restored from, and their part of the status."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from ...kube.errors import ForbiddenError
from ...kube.protocol import Node
from ..checkpoint.index import find_checkpoint
from ..checkpoint.phases import READY
from ..checkpoint.restore_condition import RestoreState, read_restore_condition, set_restore_condition, summarize_states
from ..checkpoint.restoring import SWITCH, PodTemplates, RestoreChoice, choose_restore, follow_failures
from ..common.keys import Key, key_of, uid_of
from ..common.problems import Problem, problem_of_error
from ..common.resources import CHECKPOINT, CHECKPOINTS, CLIQUES, GRAPH
from ..engine.context import Context
from ..render.checkpoint.identity import read_identity_hash
from ..render.checkpoint.job import DELETE, RETAIN
from ..render.children import render_direct
from ..render.errors import RenderError
from ..render.gms import shares_gpus
from ..render.graph import Graph, read_experimental
from ..render.merge import object_items
from ..render.names import COMPONENT, GRAPH_NAME, lower_name
from ..render.objects import make_co_owner, make_reference
from ..render.observed import ObservedState
from ..render.settings import Settings
from .clique_status import explain_not_ready, pair_with_runners
from .generations import component_of, generation_of


class GraphCheckpoints(NamedTuple):
    """The checkpoints of one graph in one pass."""

    wanted: Mapping[str, Node]  # component -> its field `checkpoint`
    existing: Mapping[str, Node] = {}  # component -> its existing checkpoint
    off: RestoreState | None = None  # why no checkpoint is made
    choices: Mapping[str, RestoreChoice] = {}  # component on Grove -> what its pods are restored from


def observe_snapshots(context: Context, graph: Graph, settings: Settings) -> GraphCheckpoints:
    """The checkpoints that a graph wants and has, and why missing ones can't be made."""
    wanted = {member.name: block for member in graph.members if (block := read_experimental(member.fields, "checkpoint")) is not None}
    if not wanted or settings.pod_snapshots:
        return GraphCheckpoints(wanted)
    return GraphCheckpoints(wanted, list_checkpoints(context, graph, wanted, settings), _explain_off(context))


def list_checkpoints(context: Context, graph: Graph, wanted: Mapping[str, Node], settings: Settings) -> dict[str, Node]:
    """The existing checkpoints, by component."""
    if settings.pod_snapshots:
        return {}
    checkpoints = ((name, find_checkpoint(context.cache, graph.namespace, block)) for name, block in wanted.items())
    return {name: checkpoint for name, checkpoint in checkpoints if checkpoint is not None}


def plan_owners(graph: Graph, snapshots: GraphCheckpoints) -> list[tuple[Node, list[Node]]]:
    """Checkpoints with changed owner references: those deleted with their graphs get this one too, those that stay lose theirs.

    Only the graph that makes a checkpoint begins that, so that graphs that disagree don't undo each other.
    """
    changes = []
    for name, checkpoint in snapshots.existing.items():
        wanted, owners = snapshots.wanted[name], object_items(checkpoint["metadata"].get("ownerReferences"))
        graphs = [owner for owner in owners if owner.get("kind") == GRAPH]
        if not graphs or wanted.get("checkpointRef"):
            continue
        if wanted.get("deletionPolicy") == RETAIN:
            changes.append((checkpoint, [owner for owner in owners if owner not in graphs]))
        elif wanted.get("deletionPolicy") == DELETE and not any(owner.get("uid") == uid_of(graph.object) for owner in graphs):
            changes.append((checkpoint, [*owners, make_co_owner(graph.object)]))
    return changes


async def sync_owners(context: Context, graph: Graph, changes: Sequence[tuple[Node, list[Node]]], problems: list[Problem]) -> None:
    """Write the planned owner references. Raises: ApiError, StandDownError."""
    for checkpoint, owners in changes:
        metadata = {name: checkpoint["metadata"][name] for name in ("uid", "resourceVersion")}
        try:
            change = {"metadata": {**metadata, "ownerReferences": owners}}
            await context.writer.merge(graph.object, CHECKPOINTS, key_of(checkpoint).name, change)
        except ForbiddenError as error:
            problems.append(problem_of_error(error, f"{CHECKPOINT} {key_of(checkpoint).name}"))


def is_claim_template(child: Node) -> bool:
    """Whether a child is the claim template of a checkpoint's pod."""
    return any(owner.get("kind") == CHECKPOINT for owner in child["metadata"].get("ownerReferences") or ())


async def put_claim_template(context: Context, child: Node, problems: list[Problem]) -> None:
    """Create the claim template of a checkpoint once: later changes of the graph don't concern its pod."""
    metadata = child["metadata"]
    owner = context.cache.get(Key(CHECKPOINT, metadata["namespace"], metadata["ownerReferences"][0]["name"]))
    if owner is None or not shares_gpus(owner) or context.cache.get(key_of(child)) is not None:
        return
    await context.put({**child, "metadata": {**metadata, "ownerReferences": [make_reference(owner)]}}, owner, problems)


def note_forbidden(snapshots: GraphCheckpoints, problems: Sequence[Problem]) -> GraphCheckpoints:
    """Return `snapshots` with the missing permissions for checkpoints, without which the graph runs."""
    return snapshots._replace(off=RestoreState("Forbidden", f"{problems[0].text}; pods start cold")) if problems else snapshots


def add_checkpoint_status(
    status: Node, snapshots: GraphCheckpoints, objects: Sequence[Node], roll: str, generation: int | None, moment: datetime
) -> Node:
    """The graph's status with its checkpoints and their condition; `objects` are those of its components."""
    now = {name: value for name, value in status.items() if name != "checkpoints"}
    if snapshots.existing:
        now["checkpoints"] = {name: _entry(checkpoint) for name, checkpoint in sorted(snapshots.existing.items())}
    reported = {component_of(obj): read_restore_condition(obj.get("status") or {}) for obj in objects if generation_of(obj) in ("", roll)}
    states = {}
    for name, wanted in snapshots.wanted.items():
        state = snapshots.choices[name].state if name in snapshots.choices else None
        state = state or reported.get(name)
        if snapshots.off is not None and _is_blocked(snapshots.existing.get(name), wanted, snapshots.off):
            state = snapshots.off
        states[name] = state or RestoreState("CheckpointNotReady", "its pods have not been looked at yet")
    return set_restore_condition(now, summarize_states(states), generation, moment)


def _explain_off(context: Context) -> RestoreState | None:
    if SWITCH.is_on(context.settings, context.detector.known):
        return None
    if SWITCH.is_off(context.settings):
        return RestoreState(
            "ControllerOff", f"controllers.{SWITCH.name} is off in the configuration: no snapshot is taken, pods start cold"
        )
    lacking = context.detector.denied.get(SWITCH.name, "")
    named = f" ({lacking})" if lacking else ""
    return RestoreState("Forbidden", f"the reconciler lacks a permission for {CHECKPOINT}s{named}, pods start cold; {SWITCH.grant}")


def _is_blocked(checkpoint: Node | None, wanted: Node, off: RestoreState) -> bool:
    """Return whether a component would wait without end. If the switch is off, another controller may take snapshots."""
    if checkpoint is not None:
        return off.reason == "Forbidden" and not _entry(checkpoint)["ready"]
    return not wanted.get("checkpointRef")


def is_optional(problem: Problem) -> bool:
    """Whether a graph can run despite this problem of a checkpoint."""
    return problem.category == "forbidden" or (problem.category == "not_found" and not problem.is_transient)


def _entry(checkpoint: Node) -> Node:
    ready = (checkpoint.get("status") or {}).get("phase") == READY
    return {"checkpointName": checkpoint["metadata"]["name"], "identityHash": read_identity_hash(checkpoint), "ready": ready}


async def choose_restore_on_grove(
    context: Context, graph: Graph, snapshots: GraphCheckpoints, settings: Settings, observed: ObservedState
) -> GraphCheckpoints:
    """Choose the snapshots that pods of cliques are restored from. Costs one more render of the set. Raises: ApiError, RenderError."""
    rendered = next((child for child in render_direct(graph.object, settings, observed).children if child["kind"] == CLIQUES), None)
    if rendered is None:
        return snapshots
    made = context.cache.get(key_of(rendered))
    cold, live, wanted = _templates(rendered), _templates(made), _read_live_replicas(made)
    choices = {}
    for member, runner in pair_with_runners(graph, context.cache.owned(made) if made is not None else ()):
        if member.name not in snapshots.wanted:
            continue
        obj = {**graph.object, "spec": member.fields}
        clique = lower_name(member.name)
        replicas = runner["spec"].get("replicas") if runner is not None else wanted.get(clique, 0)
        pods = PodTemplates(cold[clique], live.get(clique), has_pods=replicas != 0) if clique in cold else None
        try:
            choice = await choose_restore(context, obj, pods, settings)
        except RenderError as error:
            raise RenderError((*member.path, *error.path[1:]), error.reason) from None
        labels = f"{GRAPH_NAME}={graph.name},{COMPONENT}={member.name}"
        runs = runner["spec"].get("replicas", 1) if runner is not None else 0  # pods of one that isn't there are not looked for
        choices[member.name] = await follow_failures(context, obj, choice, labels, runs, ready=not explain_not_ready(member, runner))
    return snapshots._replace(choices=choices)


def _read_live_replicas(live: Node | None) -> dict[str, int | None]:
    """The replicas that the template of a set asks for, by the name of the clique or the group: they count before that is there."""
    template = ((live or {}).get("spec") or {}).get("template") or {}
    groups = {str(group.get("name")): group.get("replicas") for group in object_items(template.get("podCliqueScalingGroups"))}
    return {
        str(clique.get("name")): (clique.get("spec") or {}).get("replicas") for clique in object_items(template.get("cliques"))
    } | groups


def _templates(cliques: Node | None) -> dict[str, Node]:
    """The pod template of each clique of a set, by the clique's name."""
    entries = object_items((((cliques or {}).get("spec") or {}).get("template") or {}).get("cliques"))
    return {str(entry.get("name")): _template(entry) for entry in entries}


def _template(clique: Node) -> Node:
    metadata = {name: clique.get(name) or {} for name in ("labels", "annotations")}
    return {"metadata": metadata, "spec": (clique.get("spec") or {}).get("podSpec") or {}}
