"""One pass over a component's object: its Deployment, Services and ways in, and the state of its pods."""

from collections.abc import Iterator

from ...kube.errors import ApiError
from ...kube.protocol import Node
from ..checkpoint.restoring import publish_offers, say_standing, write_choices
from ..common.conditions import RECONCILING, Condition, condition_of, set_condition
from ..common.keys import Key, controller_reference, key_of
from ..common.problems import RETRY_SLOW, PassResult, Problem, Refusal, join_messages, problem_of_error
from ..common.resources import GRAPH, LWS, STATEFUL_SET
from ..engine.work import Work
from ..render.graph import replicas_in
from ..workload.orchestrator import find_orchestrator
from ..workload.pods import add_pod_reasons
from .decide import Plan, decide, report
from .observe import AVAILABLE, FAILED, REFUSED, Seen, is_of_a_graph, observe


async def reconcile_component(work: Work, obj: Node) -> PassResult:
    """Bring one component's object to its spec. Raises: ApiError, StandDownError."""
    if await work.let_go_deleted(obj):
        return PassResult()
    seen = await observe(work, obj)
    if isinstance(seen, Refusal):
        return await _refuse(work, obj, seen)
    return await _act(work, seen, decide(seen))


async def _act(work: Work, seen: Seen, plan: Plan) -> PassResult:
    """Make the changes of a plan and report them. Raises: ApiError, StandDownError."""
    obj, problems, workload = seen.component, [*plan.problems], None
    choice = seen.choice
    await write_choices(work, obj, [choice])
    await publish_offers(work, key_of(obj).namespace, {key_of(obj).name: (choice.checkpoint, choice.offer)})
    for child in plan.children:
        made = await work.put(child, obj, problems, lambda uid: _is_left_to(work, obj, uid))
        if child["kind"] in ("Deployment", LWS):
            workload = made
    if not problems:
        try:
            await work.prune(obj, plan.wanted, plan.kept)
        except ApiError as error:
            problems.append(problem_of_error(error, "what is not asked for any more"))
    await work.report_repairs(obj)
    if any(problem.passing for problem in problems) and not work.lasts(key_of(obj)):
        return PassResult(tuple(problems))  # retried at once, and not reported yet
    if problems or workload is None:
        return await _fail(work, obj, problems, RETRY_SLOW)
    before, now, look = obj.get("status") or {}, report(seen, plan, workload, _workers(work, workload), work.now()), 0.0
    if not seen.choice.waits and not is_of_a_graph(obj) and condition_of(now, AVAILABLE)["status"] == "False":
        now, look = await add_pod_reasons(work, obj, now, AVAILABLE)  # a graph has all its pods' reasons
    was, became = (condition_of(one, AVAILABLE).get("status") for one in (before, now))
    # that nothing is ready yet is no news, and that all is ready for the first time is told of the graph
    news = was or (became == "True" and not is_of_a_graph(obj))
    if await work.patch_status(obj, now) and was != became and news:
        told = condition_of(now, "DynamoComponentReady")
        await work.say(obj, "Normal", told["reason"], told["message"])
    if not is_of_a_graph(obj):
        await say_standing(work, obj, before, now)
        await work.report_ignored(obj, before, now)
    return PassResult((), seen.choice.after or look)


async def _refuse(work: Work, obj: Node, refusal: Refusal) -> PassResult:
    """Report in the status why a component is left unchanged. Raises: ApiError, StandDownError."""
    if not refusal.reason:
        return PassResult((), refusal.after)
    if refusal.reason == REFUSED:
        await work.say(obj, "Warning", refusal.reason, refusal.message)
    return await _fail(work, obj, [Problem(refusal.message, "validation")], refusal.after)


async def report_failed_pass(work: Work, obj: Node, problem: Problem) -> PassResult:
    """Report the failed call that ended a pass. Raises: ApiError, StandDownError."""
    return await _fail(work, obj, [problem], RETRY_SLOW)


async def _fail(work: Work, obj: Node, problems: list[Problem], after: float) -> PassResult:
    text = f"Failed to reconcile DynamoComponentDeployment: {join_messages(problems)}"
    told = Condition(AVAILABLE, "False", RECONCILING, text)
    if await work.patch_status(obj, set_condition(obj.get("status") or {}, AVAILABLE, told, work.now())):
        await work.say(obj, "Warning", FAILED, join_messages(problems))
    return PassResult(tuple(problems), after)


def _workers(work: Work, workload: Node) -> Iterator[Node | None]:
    """The StatefulSet of each replica of a LeaderWorkerSet, None where it isn't there; none at all where they can't be read."""
    if workload["kind"] != LWS or not work.cache.knows(STATEFUL_SET):
        return
    key = key_of(workload)
    for number in range(replicas_in(workload["spec"])):
        yield work.cache.get(Key(STATEFUL_SET, key.namespace, f"{key.name}-{number}"))


def _is_left_to(work: Work, obj: Node, uid: str) -> bool:
    """Whether what a component's graph owns is the component's: after the graph has moved away from Grove."""
    owner = controller_reference(obj) or {}
    graph = work.cache.get(Key(GRAPH, obj["metadata"]["namespace"], str(owner.get("name"))))
    return owner.get("kind") == GRAPH and owner.get("uid") == uid and graph is not None and not find_orchestrator(work, graph).grove
