"""The controller of components' objects."""

from collections.abc import Iterable, Iterator

from ...kube.errors import ApiError
from ...kube.protocol import Node
from ..checkpoint.index import index_user
from ..checkpoint.restoring import publish_offers, record_restore_event, write_choices
from ..common.conditions import RECONCILING, Condition, condition_of, set_condition
from ..common.keys import Key, controller_reference, key_of, kind_and_name
from ..common.problems import SLOW_RETRY_SECONDS, PassResult, Problem, Refusal, join_messages, problem_of_error
from ..common.resources import (
    COMPONENT,
    COMPONENTS,
    GRAPH,
    LEADER_WORKER_SETS,
    LWS,
    RECONCILED,
    SET_NAME,
    STATEFUL_SET,
    STATEFUL_SETS,
)
from ..engine.cache import Cache
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.watch import LABELLED, Change, Need, Watch, served
from ..render import disaggregated_set
from ..render.graph import read_replicas
from ..workload.orchestrator import find_orchestrator
from ..workload.pods import add_pod_reasons
from ..workload.watches import CHILDREN, find_owner, read_counts
from .decide import ComponentPlan, decide, report
from .observe import AVAILABLE, FAILED, REFUSED, ComponentState, is_of_a_graph, observe


def _trim(workers: Node) -> None:
    (workers.get("spec") or {}).pop("template", None)


class ComponentController(Controller):
    """Runs a component as a Deployment or a LeaderWorkerSet."""

    kind = COMPONENT
    watches = (
        Watch(COMPONENTS, need=Need.READABLE, index_values=index_user),
        *CHILDREN,
        Watch(LEADER_WORKER_SETS, (LABELLED, (f"{disaggregated_set.SET_NAME},{RECONCILED}!=true", "")), when=served("leader-worker-sets")),
        Watch(STATEFUL_SETS, ((SET_NAME, ""),), when=served("leader-worker-sets"), trim=_trim),
    )

    def keys_of(self, change: Change, cache: Cache) -> Iterable[Key]:
        """Find the component of a StatefulSet through the LeaderWorkerSet between them."""
        if change.key.kind != STATEFUL_SET or not change.differs(read_counts):
            return ()
        name = str((change.obj["metadata"].get("labels") or {}).get(SET_NAME))
        return find_owner(cache, Key(LWS, change.key.namespace, name), self.kind)

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Bring one component's object to its spec. Raises: ApiError, StandDownError."""
        if await context.finalize_deleted(obj):
            return PassResult()
        state = await observe(context, obj)
        if isinstance(state, Refusal):
            return await _refuse(context, obj, state)
        return await _act(context, state, decide(state))

    async def report_failure(self, context: Context, obj: Node, problem: Problem) -> PassResult:
        """Report it in the component's status. Raises: ApiError, StandDownError."""
        return await _fail(context, obj, [problem], SLOW_RETRY_SECONDS)


async def _act(context: Context, state: ComponentState, plan: ComponentPlan) -> PassResult:
    """Make the changes of a plan and report them. Raises: ApiError, StandDownError."""
    obj, problems, workload = state.component, [*plan.problems], None
    choice = state.choice
    await write_choices(context, obj, [choice])
    await publish_offers(context, key_of(obj).namespace, {key_of(obj).name: (choice.checkpoint, choice.offer)})
    for child in plan.children:
        made = await context.put(child, obj, problems, lambda uid: _is_handed_to(context, obj, uid))
        if child["kind"] in ("Deployment", LWS):
            workload = made
    if not problems:
        try:
            await context.prune(obj, {*map(kind_and_name, plan.children)}, plan.kept_names)
        except ApiError as error:
            problems.append(problem_of_error(error, "children that are no longer wanted"))
    await context.report_repairs(obj)
    if any(problem.is_transient for problem in problems) and not context.queue.keeps_failing(key_of(obj)):
        return PassResult(tuple(problems))  # retried at once, and not reported yet
    if problems or workload is None:
        return await _fail(context, obj, problems, SLOW_RETRY_SECONDS)
    before, now, look = obj.get("status") or {}, report(state, plan, workload, _workers(context, workload), context.clocks.wall()), 0.0
    if not state.choice.is_waiting and not is_of_a_graph(obj) and condition_of(now, AVAILABLE)["status"] == "False":
        now, look = await add_pod_reasons(context, obj, now, AVAILABLE)  # a graph has all its pods' reasons
    was, became = (condition_of(status, AVAILABLE).get("status") for status in (before, now))
    # a first condition makes no Event if it is False, nor for a component of a graph, which reports its own readiness
    news = was or (became == "True" and not is_of_a_graph(obj))
    if await context.writer.patch_status(obj, now) and was != became and news:
        condition = condition_of(now, "DynamoComponentReady")
        await context.record_event(obj, "Normal", condition["reason"], condition["message"])
    if not is_of_a_graph(obj):
        await record_restore_event(context, obj, before, now)
        await context.report_ignored(obj, before, now)
    return PassResult((), state.choice.requeue_after or look)


async def _refuse(context: Context, obj: Node, refusal: Refusal) -> PassResult:
    """Report in the status why a component is left unchanged. Raises: ApiError, StandDownError."""
    if not refusal.reason:
        return PassResult((), refusal.requeue_after)
    if refusal.reason == REFUSED:
        await context.record_event(obj, "Warning", refusal.reason, refusal.message)
    return await _fail(context, obj, [Problem(refusal.message, "validation")], refusal.requeue_after)


async def _fail(context: Context, obj: Node, problems: list[Problem], after: float) -> PassResult:
    text = f"Failed to reconcile DynamoComponentDeployment: {join_messages(problems)}"
    condition = Condition(AVAILABLE, "False", RECONCILING, text)
    if await context.writer.patch_status(obj, set_condition(obj.get("status") or {}, AVAILABLE, condition, context.clocks.wall())):
        await context.record_event(obj, "Warning", FAILED, join_messages(problems))
    return PassResult(tuple(problems), after)


def _workers(context: Context, workload: Node) -> Iterator[Node | None]:
    """The StatefulSet of each replica of a LeaderWorkerSet, None where it isn't there; none at all where they can't be read."""
    if workload["kind"] != LWS or not context.cache.knows(STATEFUL_SET):
        return
    key = key_of(workload)
    for number in range(read_replicas(workload["spec"])):
        yield context.cache.get(Key(STATEFUL_SET, key.namespace, f"{key.name}-{number}"))


def _is_handed_to(context: Context, obj: Node, uid: str) -> bool:
    """Return whether a component takes over the children of its graph, once the graph has moved away from Grove."""
    owner = controller_reference(obj) or {}
    graph = context.cache.get(Key(GRAPH, obj["metadata"]["namespace"], str(owner.get("name"))))
    return owner.get("kind") == GRAPH and owner.get("uid") == uid and graph is not None and not find_orchestrator(context, graph).grove
