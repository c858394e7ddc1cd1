"""One pass over a graph: judged, rendered, applied, rolled, pruned, and told of in its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.reconciler.loop.adapter import adapter_to_apply
from dynamo_webhooks.reconciler.loop.clique_set import know_cliques, put_cliques
from dynamo_webhooks.reconciler.loop.clique_status import observed_on_grove
from dynamo_webhooks.reconciler.loop.clique_status import on_grove as said_by_grove
from dynamo_webhooks.reconciler.loop.depth import refusal_of
from dynamo_webhooks.reconciler.loop.generations import Roll, plan
from dynamo_webhooks.reconciler.loop.graph_news import tell
from dynamo_webhooks.reconciler.loop.graph_status import FAILED, Seen, refused, status_of, unreachable
from dynamo_webhooks.reconciler.loop.ignored import noting
from dynamo_webhooks.reconciler.loop.keys import key_of, uid_of
from dynamo_webhooks.reconciler.loop.kinds import ADAPTER, CHECKPOINT, CLIQUES, COMPONENT, GRAPHS, SECRET
from dynamo_webhooks.reconciler.loop.marks import MANAGER, WORKER_DIGEST
from dynamo_webhooks.reconciler.loop.moving import end, left_to_components, pathway_of, waits_for
from dynamo_webhooks.reconciler.loop.observe import observed_graph
from dynamo_webhooks.reconciler.loop.pathway import condition as where_it_runs
from dynamo_webhooks.reconciler.loop.pathway import is_moving, on_leader_worker_sets
from dynamo_webhooks.reconciler.loop.pod_reasons import with_reasons
from dynamo_webhooks.reconciler.loop.pods import rights_in_use
from dynamo_webhooks.reconciler.loop.prerequisites import look_for_claims, look_for_queue
from dynamo_webhooks.reconciler.loop.problems import Problem, of_error, of_render
from dynamo_webhooks.reconciler.loop.pull_secrets import children_with_secrets
from dynamo_webhooks.reconciler.loop.restoring import UNLISTED, is_unlisted
from dynamo_webhooks.reconciler.loop.restoring_on_grove import chosen_on_grove
from dynamo_webhooks.reconciler.loop.snapshots import (
    found_for,
    is_hindrance,
    is_snapshots,
    of_forbidden,
    put_claim_template,
    settle_owners,
    snapshots_of,
    told_of,
)
from dynamo_webhooks.reconciler.loop.ssh_keys import give_keys
from dynamo_webhooks.reconciler.loop.surroundings import facts_of, grove_of, render_settings
from dynamo_webhooks.reconciler.loop.topology import placed
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult
from dynamo_webhooks.reconciler.render.children import graph_children, worker_hash
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.graph import read_graph, started
from dynamo_webhooks.reconciler.render.observed import Observed
from dynamo_webhooks.reconciler.render.planner import ACCOUNT

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.cache import Cache
    from dynamo_webhooks.reconciler.loop.pathway import Pathway
    from dynamo_webhooks.reconciler.loop.snapshots import Snapshots
    from dynamo_webhooks.reconciler.loop.status import Condition
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.graph import Graph
    from dynamo_webhooks.reconciler.render.settings import Settings

SOON: Final = 5.0  # seconds until it is asked again whether pods have ended
MOVING: Final = 2.0  # seconds of the same while nothing runs because of them


async def reconcile_graph(work: Work, obj: Node) -> PassResult:
    """Brings a graph one step nearer to what it says. Raises: ApiError, StandDownError."""
    if obj["metadata"].get("deletionTimestamp"):
        await work.let_go(obj)
        return PassResult()
    if deep := refusal_of(obj):
        return await _refuse(work, obj, deep)
    way = pathway_of(work, obj)
    wide = any(on_leader_worker_sets(one) for one in components_of(work, obj))
    facts = way.facts(facts_of(work.settings, work.known()))
    refusal = work.judge.refusal(obj, facts._replace(lws=True) if wide else facts)
    if refusal:
        return await _refuse(work, obj, refusal)
    if way.lost and not way.moving:
        return await _leave_alone(work, obj, way)
    if way.grove:
        obj, lacking = await placed(work, obj)
        if lacking:
            return (await _refuse(work, obj, lacking))._replace(after=SLOWLY)
    try:
        settings = render_settings(work.settings, work.known(), work.cache, obj["metadata"]["namespace"])
        graph = read_graph(obj, settings.line)
        settings = settings._replace(lws=settings.lws or wide)
        if way.grove:
            await know_cliques(work, graph)
        roll, observed = _rolled(graph, way, work.cache)
        seen = snapshots_of(work, graph)
        if seen.wanted and is_unlisted(work):
            return PassResult((), UNLISTED)
        settings = settings._replace(checkpoints=settings.checkpoints._replace(made=seen.off is None))
        observed = observed._replace(checkpoints=frozenset(found_for(work, graph, seen)))
        if way.grove and seen.wanted:
            seen = await chosen_on_grove(work, graph, seen, settings._replace(service_account=""), observed)
            observed = observed._replace(restores=seen.restores, waits=seen.waits)
    except RenderError as error:
        return (await _refuse(work, obj, str(error)))._replace(after=SLOWLY)  # a claim that it lacks may be made
    return await _pass(work, graph, _Plan(way, settings, roll, observed, seen))


def components_of(work: Work, graph: Node) -> list[Node]:
    """The objects of a graph's components that it controls, of all generations."""
    return [one for one in work.cache.owned(graph) if one["kind"] == COMPONENT]


class _Plan(NamedTuple):
    """What is decided before anything is written."""

    way: Pathway
    settings: Settings
    roll: Roll
    observed: Observed
    snapshots: Snapshots


def _rolled(graph: Graph, way: Pathway, cache: Cache) -> tuple[Roll, Observed]:
    owned = cache.owned(graph.object)
    if way.grove:
        sets = [one for one in owned if one["kind"] == CLIQUES]
        return Roll(""), observed_on_grove(graph, sets, [one for each in sets for one in cache.owned(each)])._replace(grove=True)
    objects = [one for one in owned if one["kind"] == COMPONENT]
    frameworks = observed_graph(graph, Roll(""), objects).frameworks
    roll = plan(graph, worker_hash(graph, Observed(frameworks=frameworks)), objects)
    return roll, observed_graph(graph, roll, objects)._replace(grove=False)


async def _pass(work: Work, graph: Graph, plan: _Plan) -> PassResult:
    obj, (way, settings, roll, observed, snapshots) = graph.object, plan
    refused: list[Problem] = []  # checkpoints: a graph runs without, too
    problems: list[Problem] = []
    if roll.adopted:
        await _note_digest(work, graph, observed)
    if way.grove:
        settings = settings._replace(service_account="")
    waits = await waits_for(work, obj, way)
    rendered = children_with_secrets(work, obj, settings, lambda chosen: graph_children(graph, chosen, observed), problems)
    problems += [of_render(error) for error in rendered.problems]
    expected, grove, after = [], None, 0.0
    await settle_owners(work, graph, snapshots, refused)
    await look_for_claims(work, graph, problems)
    await look_for_queue(work, rendered.children, problems)
    await give_keys(work, graph, [child for child in rendered.children if child["kind"] == SECRET], problems)
    for child in rendered.children:
        if child["kind"] == SECRET or is_snapshots(child) or (waits and child["kind"] in (CLIQUES, COMPONENT)):
            continue
        made = await _put(work, started(graph, observed.waits), child, refused if child["kind"] == CHECKPOINT else problems)
        if child["kind"] == COMPONENT:
            expected.append(child["metadata"]["name"])
        if child["kind"] == CLIQUES and made is not None:
            grove = said_by_grove(started(graph), made, work.cache.owned(made))
    for child in filter(is_snapshots, rendered.children):
        await put_claim_template(work, child, refused)
    problems += [problem for problem in refused if not is_hindrance(problem)]
    if not problems and not waits:
        names = {(child["kind"], child["metadata"]["name"]) for child in rendered.children}
        after = await _finish(work, obj, plan, names, problems)
    await work.told_repairs(obj)
    if any(problem.passing for problem in problems) and not work.lasts(key_of(obj)):
        return PassResult(tuple(problems))  # tried again at once: not worth a word in the status
    seen = Seen(graph, components_of(work, obj), expected, roll, observed, problems, grove, _where(work, obj, way, waits), waits)
    status, look = await with_reasons(work, obj, status_of(obj.get("status") or {}, seen, work.now()))
    snapshots = of_forbidden(snapshots, [problem for problem in refused if is_hindrance(problem)])
    status = noting(status, rendered.notes, obj["metadata"].get("generation"), work.now())
    status = told_of(status, work, graph, snapshots, seen.objects, roll.name)
    await tell(work, obj, status, roll)
    if waits and not problems:
        if is_moving(work.cache.get(key_of(obj)) or {}):  # as it is stored, from which the next process goes on
            await end(work, way)
        return PassResult((), MOVING)
    return PassResult(tuple(problems), SLOWLY if problems else after or look)


async def _leave_alone(work: Work, obj: Node, way: Pathway) -> PassResult:
    """Says that the graph runs where nobody can ask. Nothing is done for it, least of all the same elsewhere."""
    said = _where(work, obj, way, "")
    if said is not None:
        status = unreachable(obj.get("status") or {}, obj["metadata"].get("generation"), said, work.now())
        await tell(work, obj, status, Roll(""))
    return PassResult((), SLOWLY)


def _where(work: Work, obj: Node, way: Pathway, waits: str) -> Condition | None:
    served = grove_of(work.settings, work.known())[1]
    return where_it_runs(way, obj.get("status") or {}, waits, obj["metadata"].get("generation"), served=served)


async def _put(work: Work, graph: Graph, child: Node, problems: list[Problem]) -> Node | None:
    """Applies one child. What is wrong with a planner's account is no reason to run nothing."""
    owner = graph.object if child["metadata"].get("ownerReferences") else None
    if child["kind"] == CLIQUES:
        return await put_cliques(work, graph, child, problems)
    if _is_planners(child):
        warnings: list[Problem] = []
        made = await work.put(child, owner, warnings)
        for problem in warnings:
            await work.say(graph.object, "Warning", "PlannerRights", problem.text)
        return made
    made = adapter_to_apply(child, work.cache) if child["kind"] == ADAPTER else child
    return await work.put(made, owner, problems, lambda uid: uid in {uid_of(one) for one in components_of(work, graph.object)})


async def _finish(work: Work, obj: Node, plan: _Plan, wanted: set[tuple[str, str]], problems: list[Problem]) -> float:
    """What may be done only when all that is wanted is there: older generations shrink and go, and so does what nobody asks for.

    While a roll is under way the older generation still needs what it was made with. Gives the seconds after which to look again.
    """
    roll = plan.roll
    try:
        for one, replicas in roll.resized:
            await work.writer.resize(one, replicas)
        for one in roll.retired:
            await work.writer.drop(one)
        if roll.rolling and not roll.retired:
            return 0.0
        used = await rights_in_use(work, obj, wanted)
        kept = frozenset() if plan.way.grove else left_to_components(work, obj, plan.settings, plan.observed, wanted)
        await work.prune(obj, wanted, roll.old | used | kept)
    except ApiError as error:
        problems.append(of_error(error, "what is not asked for any more"))
        return 0.0
    return SOON if used else 0.0


async def _note_digest(work: Work, graph: Graph, observed: Observed) -> None:
    """Writes down what the generation that another operator named looks like to us, so that a change of it is seen later."""
    work.ask(graph.object)
    digest = worker_hash(graph, Observed(frameworks=observed.frameworks))
    patch: Node = {"apiVersion": graph.object["apiVersion"], "kind": graph.object["kind"]}
    patch["metadata"] = {"name": graph.name, "namespace": graph.namespace, "annotations": {WORKER_DIGEST: digest}}
    work.cache.wrote(await work.cluster.apply(GRAPHS, patch, manager=MANAGER, force=True))
    await work.say(graph.object, "Normal", "WorkerHashMigrated", f"workers keep the generation {observed.worker_hash}")


async def _refuse(work: Work, obj: Node, message: str) -> PassResult:
    """Says why nothing is done. What runs already is left as it is."""
    status = refused(obj.get("status") or {}, obj["metadata"].get("generation"), message, work.now())
    if await work.patch_status(obj, status):
        await work.say(obj, "Warning", "ValidationFailed", message)
    return PassResult((Problem(message, "validation"),))


async def tell_failed(work: Work, obj: Node, problem: Problem) -> PassResult:
    """Says which refused call ended a pass. Raises: ApiError, StandDownError."""
    await tell(work, obj, refused(obj.get("status") or {}, obj["metadata"].get("generation"), problem.text, work.now(), FAILED), Roll(""))
    return PassResult((problem,), SLOWLY)


def _is_planners(child: Node) -> bool:
    """Whether a child is there for a planner alone."""
    return child["kind"] in ("ServiceAccount", "RoleBinding") and child["metadata"]["name"] in (ACCOUNT, f"{ACCOUNT}-binding")
