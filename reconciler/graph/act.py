"""Makes the changes of a plan, and reports them."""

from typing import Final

from ...api.line import Line
from ...kube.errors import ApiError, ForbiddenError, InvalidError
from ...kube.protocol import Node
from ...policies.grove import COMPONENTS as COMPONENTS_PROVIDER
from ...policies.grove import GROVE
from ..adapter.controller import prepare_adapter
from ..checkpoint.restoring import publish_offers, record_restore_event, write_choices
from ..common.keys import key_of, uid_of
from ..common.problems import (
    SLOW_RETRY_SECONDS,
    SOON_RETRY_SECONDS,
    PassResult,
    Problem,
    Refusal,
    pick_shortest,
    problem_of_error,
)
from ..common.resources import ADAPTER, CHECKPOINT, CLIQUES, COMPONENTS, DISAGGREGATED_SET, GRAPHS, MANAGER, SECRET, WORKER_DIGEST
from ..engine.context import Context
from ..render.graph import Graph, start_waiting
from ..render.names import CURRENT_HASH, PLANNER_ACCOUNT, WORKLOAD_PROVIDER, component_name
from ..workload.orchestrator import finish_switch, is_switching
from ..workload.pods import add_pod_reasons, find_used_permissions
from ..workload.prerequisites import check_claims, check_scheduler
from .clique_set import put_cliques
from .clique_status import list_below, read_grove_status
from .ended_pods import replace_ended_pods
from .generations import Roll
from .observe import list_components
from .report import EVENTS, FAILED, list_events, make_refused_status, make_unreachable_status, report
from .set_status import read_set_status
from .snapshots import is_claim_template, is_optional, list_checkpoints, put_claim_template, sync_owners
from .ssh_keys import ensure_ssh_keys
from .values import GraphPlan, GraphResult, GraphState

PODS_SECONDS: Final = 5.0  # until the next look whether pods that use a permission have ended


async def act(context: Context, keyed: set[str], state: GraphState, plan: GraphPlan) -> PassResult:
    """Make the changes of a plan and report them. Raises: ApiError, StandDownError."""
    obj = state.graph.object
    again = await _adopt(context, state)
    result = await _write_children(context, keyed, state, plan)
    await context.report_repairs(obj)
    problems = tuple(result.problems)
    if any(problem.is_transient for problem in problems) and not context.queue.keeps_failing(key_of(obj)):
        return PassResult(problems)  # retried at once, and not reported yet
    status, look = report(state, plan, result, context.clocks.wall()), 0.0
    if status["state"] == "pending":
        status, look = await add_pod_reasons(context, obj, status)
    await _write_status(context, obj, status, plan.roll)
    if problems:
        return PassResult(problems, SOON_RETRY_SECONDS if _lost_grove(context, state, result) else SLOW_RETRY_SECONDS)
    if not state.blocker:
        return PassResult((), pick_shortest(result.requeue_after, look, again))
    if is_switching(context.cache.get(key_of(obj)) or {}):  # as stored, from which the next process continues
        await finish_switch(context, state.orchestrator)
    return PassResult((), SOON_RETRY_SECONDS)


async def _adopt(context: Context, state: GraphState) -> float:
    """Record where a graph of an older operator runs; the seconds until the next attempt, or 0. Raises: ApiError, StandDownError."""
    graph, orchestrator = state.graph, state.orchestrator
    if state.settings.line < Line.V1_5 or WORKLOAD_PROVIDER in graph.annotations or not orchestrator.runs or orchestrator.moving:
        return 0.0
    provider = GROVE if orchestrator.grove else COMPONENTS_PROVIDER
    try:
        await context.writer.patch_metadata(graph.object, {"uid": uid_of(graph.object), "annotations": {WORKLOAD_PROVIDER: provider}})
    except (ForbiddenError, InvalidError) as error:
        await context.record_event(
            graph.object, "Warning", "NotAdopted", f"{WORKLOAD_PROVIDER} can't be set: {error.message}", lasting=True
        )
        return SLOW_RETRY_SECONDS
    await context.record_event(graph.object, "Normal", "Adopted", f'{WORKLOAD_PROVIDER} is "{provider}", where the graph runs')
    return 0.0


def _lost_grove(context: Context, state: GraphState, result: GraphResult) -> bool:
    """Return whether Grove was served and no longer is: the watch of its sets reports that soon."""
    unserved = state.orchestrator.grove and result.grove is None and context.cache.knows(CLIQUES)
    return unserved and any(problem.category == "not_found" for problem in result.problems)


async def _write_children(context: Context, keyed: set[str], state: GraphState, plan: GraphPlan) -> GraphResult:
    graph, problems, optional = state.graph, [*plan.problems], list[Problem]()
    grove, on_set, after, again = None, state.on_set, 0.0, 0.0
    if plan.digest:
        await _note_digest(context, graph, plan)
    snapshots = state.snapshots
    await write_choices(context, graph.object, snapshots.choices.values())
    offers = {component_name(graph.name, name): (choice.checkpoint, choice.offer) for name, choice in snapshots.choices.items()}
    await publish_offers(context, graph.namespace, offers)
    await sync_owners(context, graph, plan.owners, optional)
    await check_claims(context, graph, problems)
    await check_scheduler(context, graph, plan.rendered, problems)
    await ensure_ssh_keys(context, keyed, graph, [child for child in plan.rendered if child["kind"] == SECRET], problems)
    for child in plan.applied:
        live = await _put(
            context, start_waiting(graph, plan.observed.waiting_components), child, optional if child["kind"] == CHECKPOINT else problems
        )
        if child["kind"] == CLIQUES and live is not None:
            below = list_below(context.cache, live)
            grove = read_grove_status(start_waiting(graph), live, below, state.settings.line)
            ended, again = await replace_ended_pods(context, graph.object, below, problems)
            grove = grove._replace(waiting_reasons={**grove.waiting_reasons, **ended})
        if child["kind"] == DISAGGREGATED_SET and live is not None:
            on_set = read_set_status(graph, live, context.cache.owned(live), state.settings.line)
    for child in filter(is_claim_template, plan.rendered):
        await put_claim_template(context, child, optional)
    problems += [problem for problem in optional if not is_optional(problem)]
    if not problems and not state.blocker:
        after = await _remove_old(context, graph.object, plan, problems)
    without = [problem for problem in optional if is_optional(problem)]
    checkpoints = list_checkpoints(context, graph, snapshots.wanted, state.settings)
    looks = (choice.requeue_after for choice in snapshots.choices.values())
    return GraphResult(
        problems, without, grove, on_set, list_components(context, graph.object), checkpoints, pick_shortest(after, again, *looks)
    )


async def _put(context: Context, graph: Graph, child: Node, problems: list[Problem]) -> Node | None:
    """Apply one child. Missing permissions of a planner's account don't stop the graph."""
    owner = graph.object if child["metadata"].get("ownerReferences") else None
    if child["kind"] == CLIQUES:
        return await put_cliques(context, graph, child, problems)
    if child["kind"] in ("ServiceAccount", "RoleBinding") and child["metadata"]["name"] in (PLANNER_ACCOUNT, f"{PLANNER_ACCOUNT}-binding"):
        warnings: list[Problem] = []
        live = await context.put(child, owner, warnings)
        for problem in warnings:
            await context.record_event(graph.object, "Warning", "PlannerRights", problem.text)
        return live
    if child["kind"] == ADAPTER:
        child = prepare_adapter(child, context.cache)
    return await context.put(child, owner, problems, lambda uid: uid in map(uid_of, list_components(context, graph.object)))


async def _remove_old(context: Context, obj: Node, plan: GraphPlan, problems: list[Problem]) -> float:
    """Shrink and delete older generations, which need their children until then, and prune; the seconds until the next pass."""
    roll = plan.roll
    try:
        for component, replicas in roll.resized:
            await context.writer.merge(component, COMPONENTS, key_of(component).name, {"spec": {"replicas": replicas}})
        for component in roll.retired:
            await context.writer.drop(component)
        if roll.rolling and not roll.retired:
            return 0.0
        used = await find_used_permissions(context, obj, plan.wanted)
        await context.prune(obj, plan.wanted, roll.old | used | plan.kept_names)
    except ApiError as error:
        problems.append(problem_of_error(error, "children that are no longer wanted"))
        return 0.0
    return PODS_SECONDS if used else 0.0


async def _note_digest(context: Context, graph: Graph, plan: GraphPlan) -> None:
    """Record the workers' digest beside a generation that has another name, to detect later changes of the workers."""
    context.writer.check_may_write(graph.object)
    patch: Node = {"apiVersion": graph.object["apiVersion"], "kind": graph.object["kind"]}
    patch["metadata"] = {
        "name": graph.name,
        "namespace": graph.namespace,
        "annotations": {CURRENT_HASH: plan.roll.name, WORKER_DIGEST: plan.digest},
    }
    context.cache.add_write(await context.cluster.apply(GRAPHS, patch, manager=MANAGER, force=True))
    await context.record_event(graph.object, "Normal", "WorkerHashMigrated", f"workers keep the generation {plan.observed.worker_hash}")


async def refuse(context: Context, obj: Node, refusal: Refusal) -> PassResult:
    """Report in the status why a graph is left unchanged. Raises: ApiError, StandDownError."""
    before, generation = obj.get("status") or {}, obj["metadata"].get("generation")
    if refusal.reason in EVENTS:
        status = make_refused_status(before, generation, refusal.message, context.clocks.wall(), refusal.reason)
        if await context.writer.patch_status(obj, status):
            await context.record_event(obj, "Warning", EVENTS[refusal.reason], refusal.message)
        return PassResult((Problem(refusal.message, "validation"),), refusal.requeue_after)
    if refusal.reason:
        await _write_status(context, obj, make_unreachable_status(before, generation, refusal, context.clocks.wall()), Roll(""))
    return PassResult((), refusal.requeue_after)


async def report_failed_pass(context: Context, obj: Node, problem: Problem) -> PassResult:
    """Report the failed call that ended a pass. Raises: ApiError, StandDownError."""
    status = make_refused_status(obj.get("status") or {}, obj["metadata"].get("generation"), problem.text, context.clocks.wall(), FAILED)
    await _write_status(context, obj, status, Roll(""))
    return PassResult((problem,), SLOW_RETRY_SECONDS)


async def _write_status(context: Context, obj: Node, status: Node, roll: Roll) -> None:
    """Write a graph's status, and Events about its changes. Raises: ApiError, StandDownError."""
    before = obj.get("status") or {}
    if not await context.writer.patch_status(obj, status):
        return
    for event in list_events(before, status, roll):
        await context.record_event(obj, *event)
    await record_restore_event(context, obj, before, status)
    await context.report_ignored(obj, before, status)
