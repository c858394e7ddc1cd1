"""One pass over a component's object: its Deployment, Services and ways in, and how its pods are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.reconciler.loop.component_status import failed, status_of
from dynamo_webhooks.reconciler.loop.depth import refusal_of
from dynamo_webhooks.reconciler.loop.keys import Key, controller, key_of
from dynamo_webhooks.reconciler.loop.kinds import GRAPH, LWS, STATEFUL_SET
from dynamo_webhooks.reconciler.loop.moving import pathway_of
from dynamo_webhooks.reconciler.loop.observe import observed_component
from dynamo_webhooks.reconciler.loop.pathway import on_leader_worker_sets
from dynamo_webhooks.reconciler.loop.problems import Problem, joined, of_error, of_render
from dynamo_webhooks.reconciler.loop.pull_secrets import children_with_secrets
from dynamo_webhooks.reconciler.loop.status import found
from dynamo_webhooks.reconciler.loop.surroundings import facts_of, render_settings
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult
from dynamo_webhooks.reconciler.render.children import direct_children
from dynamo_webhooks.reconciler.render.service import is_model_service

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work

_WORKLOADS: Final = ("Deployment", "LeaderWorkerSet")


async def reconcile_component(work: Work, obj: Node) -> PassResult:
    """Brings one component's object to what it says. Raises: ApiError, StandDownError."""
    if obj["metadata"].get("deletionTimestamp"):
        await work.let_go(obj)
        return PassResult()
    wide, facts = on_leader_worker_sets(obj), facts_of(work.settings, work.known())
    refusal = refusal_of(obj)
    if not refusal and not _of_a_graph(obj):
        refusal = work.judge.refusal(obj, facts._replace(lws=True) if wide else facts)
    if refusal:
        await work.say(obj, "Warning", "ValidationFailed", refusal)
        return await _failed(work, obj, [Problem(refusal, "validation")], 0.0)
    settings = render_settings(work.settings, work.known(), work.cache, obj["metadata"]["namespace"])
    settings = settings._replace(lws=settings.lws or wide)
    problems: list[Problem] = []
    observed = observed_component(obj, work.cache.owned(obj))
    rendered = children_with_secrets(work, obj, settings, lambda chosen: direct_children(obj, chosen, observed), problems)
    problems += [of_render(error) for error in rendered.problems]
    workload: Node | None = None
    for child in rendered.children:
        made = await work.put(child, obj, problems, lambda uid: _is_left_to(work, obj, uid))
        if child["kind"] in _WORKLOADS:
            workload = made
    if not problems:
        try:
            await work.prune(obj, {(child["kind"], child["metadata"]["name"]) for child in rendered.children}, _of_the_graph(work, obj))
        except ApiError as error:
            problems.append(of_error(error, "what is not asked for any more"))
    await work.told_repairs(obj)
    if any(problem.passing for problem in problems):
        return PassResult(tuple(problems))
    if problems or workload is None:
        return await _failed(work, obj, problems, SLOWLY)
    before = obj.get("status") or {}
    now = status_of(before, obj["metadata"]["generation"], workload, work.now(), _workers(work, workload))
    was, became = (found(one, "Available").get("status") for one in (before, now))
    # that nothing is ready yet is no news, and that all is ready for the first time is told of the graph
    news = was or (became == "True" and not _of_a_graph(obj))
    if await work.patch_status(obj, now) and was != became and news:
        told = found(now, "DynamoComponentReady")
        await work.say(obj, "Normal", told["reason"], told["message"])
    return PassResult()


def _workers(work: Work, workload: Node) -> list[Node | None]:
    """The StatefulSet of each replica of a LeaderWorkerSet; none for other kinds, and where they can't be read."""
    if workload["kind"] != LWS or not work.cache.knows(STATEFUL_SET):
        return []
    key, replicas = key_of(workload), workload["spec"].get("replicas")
    names = [f"{key.name}-{number}" for number in range(1 if replicas is None else replicas)]
    return [work.cache.get(Key(STATEFUL_SET, key.namespace, name)) for name in names]


async def _failed(work: Work, obj: Node, problems: list[Problem], after: float) -> PassResult:
    if await work.patch_status(obj, failed(obj.get("status") or {}, problems, work.now())):
        await work.say(obj, "Warning", "ReconcileError", joined(problems))
    return PassResult(tuple(problems), after)


def _of_the_graph(work: Work, obj: Node) -> frozenset[str]:
    """Names of Services that earlier releases gave to a component, and that its graph takes over."""
    if not _of_a_graph(obj):
        return frozenset()
    return frozenset(one["metadata"]["name"] for one in work.cache.owned(obj) if is_model_service(one["kind"], one["metadata"]["name"]))


def _is_left_to(work: Work, obj: Node, uid: str) -> bool:
    """Whether what a component's graph owns is the component's: after the graph has moved away from Grove."""
    owner = controller(obj) or {}
    graph = work.cache.get(Key(GRAPH, obj["metadata"]["namespace"], str(owner.get("name"))))
    return owner.get("kind") == GRAPH and owner.get("uid") == uid and graph is not None and not pathway_of(work, graph).grove


def _of_a_graph(obj: Node) -> bool:
    return (controller(obj) or {}).get("kind") == GRAPH
