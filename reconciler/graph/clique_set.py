"""Writes to Grove: a graph's PodCliqueSet, whose replicas count only at creation, and replicas through scale subresources."""

import contextlib

from ...kube.errors import ApiError, ForbiddenError, NotFoundError, NotServedError
from ...kube.protocol import Node
from ..common.keys import Key, is_controlled, key_of
from ..common.problems import ContestedError, Problem, problem_of_error
from ..common.resources import CLIQUE, CLIQUE_GROUP, CLIQUE_SETS, CLIQUES
from ..engine.context import Context
from ..render.graph import Graph
from ..render.grove import names
from ..render.merge import object_items
from .clique_status import pair_with_runners

_LISTS = ("cliques", "podCliqueScalingGroups", "resourceClaimTemplates")


async def read_cliques(context: Context, graph: Graph) -> None:
    """Read a graph's set that another operator made: it lacks the label by which sets are watched. Raises: ApiError."""
    key = Key(CLIQUES, graph.namespace, names.set_name(graph))
    if context.cache.get(key) is not None:
        return
    with contextlib.suppress(ForbiddenError, NotServedError):  # the write fails for the same reason, and reports it
        live = await context.cluster.get(CLIQUE_SETS, key.name, key.namespace)
        if live is not None and is_controlled(live, graph.object):
            context.cache.add_write(live)


async def put_cliques(context: Context, graph: Graph, rendered: Node, problems: list[Problem]) -> Node | None:
    """Apply a graph's set, and scale each component; returns the set as it is. Raises: StandDownError."""
    lacking = context.cache.unavailable()  # without these kinds the state is unknown
    problems += [Problem(f"{kind}: can't be read: {lacking[kind]}", "forbidden") for kind in (CLIQUE, CLIQUE_GROUP) if kind in lacking]
    refused, live = list[Problem](), context.cache.get(key_of(rendered))
    made = await context.put(align_with_live(rendered, live), graph.object, refused)
    problems += refused
    if (
        made is None
        and live is not None
        and is_controlled(live, graph.object)
        and all(problem.category != "not_found" for problem in refused)
    ):
        made = live  # what runs is scaled though Grove refuses the rest of a change
    if made is not None:
        await _scale(context, graph, made, problems)
    return made


def align_with_live(rendered: Node, live: Node | None) -> Node:
    """The set with the live one's order and replicas: Grove refuses another order, and ignores changed replicas."""
    if live is None:
        return rendered
    ours, theirs = dict(rendered["spec"]["template"]), (live.get("spec") or {}).get("template") or {}
    grouped = {name for group in object_items(ours.get("podCliqueScalingGroups")) for name in group["cliqueNames"]}
    for name in _LISTS:
        if name in ours:
            ours[name] = _in_order(object_items(ours[name]), object_items(theirs.get(name)))
    before = {clique.get("name"): clique for clique in object_items(theirs.get("cliques"))}
    ours["cliques"] = [
        clique
        if clique["name"] in grouped
        else {**clique, "spec": _with_replicas(clique["spec"], (before.get(clique["name"]) or {}).get("spec"))}
        for clique in ours["cliques"]
    ]
    before = {group.get("name"): group for group in object_items(theirs.get("podCliqueScalingGroups"))}
    if "podCliqueScalingGroups" in ours:
        ours["podCliqueScalingGroups"] = [_with_replicas(group, before.get(group["name"])) for group in ours["podCliqueScalingGroups"]]
    return {**rendered, "spec": {**rendered["spec"], "template": ours}}


def _with_replicas(ours: Node, theirs: Node | None) -> Node:
    return {**ours, "replicas": theirs["replicas"]} if theirs and "replicas" in theirs else ours


def _in_order(ours: list[Node], theirs: list[Node]) -> list[Node]:
    """Existing cliques in their order, then new ones."""
    places = {entry.get("name"): place for place, entry in enumerate(theirs)}
    return sorted(ours, key=lambda entry: places.get(entry["name"], len(places)))


async def _scale(context: Context, graph: Graph, live: Node, problems: list[Problem]) -> None:
    """Scale the objects that Grove has made; the others are scaled when they appear."""
    for member, runner in pair_with_runners(graph, context.cache.owned(live)):
        wanted = member.fields.get("replicas")
        if runner is None or wanted in (None, runner["spec"].get("replicas")) or runner["metadata"].get("deletionTimestamp"):
            continue
        what = f"{runner['kind']} {runner['metadata']['name']}"
        try:
            await context.writer.scale(runner, wanted, graph.object)
        except NotServedError as error:
            problems.append(problem_of_error(error, what))
        except NotFoundError:
            continue  # deleted; the next one appears with the template's replicas
        except ApiError as error:
            problems.append(problem_of_error(error, what))
        except ContestedError as error:
            problems.append(Problem(str(error), "conflict"))
        else:
            await context.record_event(graph.object, "Normal", "Scaled", f"{what} has {wanted} replicas")
