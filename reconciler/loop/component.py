"""One pass over a component's object: its Deployment, Services and ways in, and how its pods are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.reconciler.checkpoint.standing import COLD
from dynamo_webhooks.reconciler.loop.component_status import failed, is_ready, status_of
from dynamo_webhooks.reconciler.loop.depth import refusal_of
from dynamo_webhooks.reconciler.loop.ignored import noting, say_ignored
from dynamo_webhooks.reconciler.loop.keys import Key, controller, key_of
from dynamo_webhooks.reconciler.loop.kinds import GRAPH, LWS, STATEFUL_SET
from dynamo_webhooks.reconciler.loop.likeness import digest
from dynamo_webhooks.reconciler.loop.moving import pathway_of
from dynamo_webhooks.reconciler.loop.observe import observed_component
from dynamo_webhooks.reconciler.loop.pathway import on_leader_worker_sets
from dynamo_webhooks.reconciler.loop.problems import Problem, joined, of_error, of_render
from dynamo_webhooks.reconciler.loop.pull_secrets import children_with_secrets
from dynamo_webhooks.reconciler.loop.restore_failures import Restoring, followed
from dynamo_webhooks.reconciler.loop.restoring import UNLISTED, Choice, choice_for, is_unlisted, noted, pods_of, say_standing, wanted_by
from dynamo_webhooks.reconciler.loop.status import found
from dynamo_webhooks.reconciler.loop.surroundings import facts_of, render_settings
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult
from dynamo_webhooks.reconciler.render.children import direct_children
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.names import SELECTOR
from dynamo_webhooks.reconciler.render.objects import annotated
from dynamo_webhooks.reconciler.render.service import is_model_service
from dynamo_webhooks.reconciler.render.workload import labelled_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.observed import Observed
    from dynamo_webhooks.reconciler.render.settings import Settings

_WORKLOADS: Final = ("Deployment", "LeaderWorkerSet")


async def reconcile_component(work: Work, obj: Node) -> PassResult:
    """Brings one component's object to what it says. Raises: ApiError, StandDownError."""
    if obj["metadata"].get("deletionTimestamp"):
        await work.let_go(obj)
        return PassResult()
    wide = on_leader_worker_sets(obj)
    if refusal := _refusal(work, obj, wide=wide):
        await work.say(obj, "Warning", "ValidationFailed", refusal)
        return await _failed(work, obj, [Problem(refusal, "validation")], 0.0)
    settings = render_settings(work.settings, work.known(), work.cache, obj["metadata"]["namespace"])
    settings = settings._replace(lws=settings.lws or wide)
    if wanted_by(obj) is not None and is_unlisted(work):
        return PassResult((), UNLISTED)
    graph = work.cache.get(Key(GRAPH, key_of(obj).namespace, labelled_graph(obj)))
    observed = observed_component(obj, work.cache.owned(obj), beside_graph=graph is not None)
    try:
        choice, marks = await _chosen(work, obj, settings, observed)
    except RenderError as error:
        return await _failed(work, obj, [of_render(error)], SLOWLY)
    if choice.restore is not None:
        observed = observed._replace(restores={obj["metadata"]["name"]: choice.restore})
    if choice.waits:
        observed = observed._replace(waits=frozenset({obj["metadata"]["name"]}))
    return await _pass(work, obj, _Plan(settings, observed, choice, marks))


class _Plan(NamedTuple):
    """What is decided before anything is written."""

    settings: Settings
    observed: Observed
    choice: Choice
    marks: Node  # annotations of the Deployment


async def _pass(work: Work, obj: Node, plan: _Plan) -> PassResult:
    settings, observed, choice, marks = plan
    problems: list[Problem] = []
    rendered = children_with_secrets(work, obj, settings, lambda chosen: direct_children(obj, chosen, observed), problems)
    problems += [of_render(error) for error in rendered.problems]
    workload: Node | None = None
    for child in rendered.children:
        wanted = annotated(child, marks) if marks and child["kind"] == "Deployment" else child
        made = await work.put(wanted, obj, problems, lambda uid: _is_left_to(work, obj, uid))
        if child["kind"] in _WORKLOADS:
            workload = made
    if not problems:
        try:
            await work.prune(obj, {(child["kind"], child["metadata"]["name"]) for child in rendered.children}, _of_the_graph(work, obj))
        except ApiError as error:
            problems.append(of_error(error, "what is not asked for any more"))
    await work.told_repairs(obj)
    if any(problem.passing for problem in problems) and not work.lasts(key_of(obj)):
        return PassResult(tuple(problems))
    if problems or workload is None:
        return await _failed(work, obj, problems, SLOWLY)
    before = obj.get("status") or {}
    generation = obj["metadata"]["generation"]
    waits = choice.standing if choice.waits else None
    now = status_of(before, generation, workload, work.now(), _workers(work, workload), waits)
    now = noted(noting(now, rendered.notes, generation, work.now()), choice.standing, generation, work)
    was, became = (found(one, "Available").get("status") for one in (before, now))
    # that nothing is ready yet is no news, and that all is ready for the first time is told of the graph
    news = was or (became == "True" and not _of_a_graph(obj))
    if await work.patch_status(obj, now) and was != became and news:
        told = found(now, "DynamoComponentReady")
        await work.say(obj, "Normal", told["reason"], told["message"])
    if not _of_a_graph(obj):
        await say_standing(work, obj, before, now)
        await say_ignored(work, obj, before, now)
    return PassResult((), choice.after)


def _refusal(work: Work, obj: Node, *, wide: bool) -> str:
    """Why nothing is done for a component; one of a graph was judged with that."""
    facts = facts_of(work.settings, work.known())
    return refusal_of(obj) or ("" if _of_a_graph(obj) else work.judge.refusal(obj, facts._replace(lws=True) if wide else facts))


async def _chosen(work: Work, obj: Node, settings: Settings, observed: Observed) -> tuple[Choice, Node]:
    """What the pods of a component are restored from, and what is noted beside them. It costs one more render.

    Raises: ApiError, RenderError.
    """
    if wanted_by(obj) is None:
        return Choice(), {}
    cold = next((one for one in direct_children(obj, settings, observed).children if one["kind"] == "Deployment"), None)
    choice = await choice_for(work, obj, pods_of(work, cold) if cold is not None else None, settings)
    if cold is not None and (live := work.cache.get(key_of(cold))) is not None:
        replicas = (live.get("spec") or {}).get("replicas")
        labels = f"{SELECTOR}={key_of(cold).name}"
        runs = Restoring(labels, 1 if replicas is None else replicas, is_ready(live))
        choice = await followed(work, obj, choice, runs)
    return choice, {COLD: digest(cold["spec"]["template"])} if cold is not None else {}


def _workers(work: Work, workload: Node) -> Iterator[Node | None]:
    """The StatefulSet of each replica of a LeaderWorkerSet, None where it isn't there: who reads them stops at the first, of any number.

    None at all for other kinds, and where they can't be read.
    """
    if workload["kind"] != LWS or not work.cache.knows(STATEFUL_SET):
        return
    key, replicas = key_of(workload), workload["spec"].get("replicas")
    for number in range(1 if replicas is None else replicas):
        yield work.cache.get(Key(STATEFUL_SET, key.namespace, f"{key.name}-{number}"))


async def tell_failed(work: Work, obj: Node, problem: Problem) -> PassResult:
    """Says which refused call ended a pass. Raises: ApiError, StandDownError."""
    return await _failed(work, obj, [problem], SLOWLY)


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
