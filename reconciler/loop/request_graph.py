"""The graph of a request: made of its result, once, and how it stands with it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dynamo_webhooks.kube.errors import AlreadyExistsError, ForbiddenError, InvalidError
from dynamo_webhooks.reconciler.loop.judge import judged
from dynamo_webhooks.reconciler.loop.keys import Key, key_of, uid_of
from dynamo_webhooks.reconciler.loop.kinds import GRAPH, GRAPHS
from dynamo_webhooks.reconciler.loop.problems import Problem
from dynamo_webhooks.reconciler.loop.request_writes import drop_config_maps, is_refusal, make_config_maps, make_graph, note, output_data
from dynamo_webhooks.reconciler.loop.requests import PATIENCE, SOON, Turn
from dynamo_webhooks.reconciler.loop.surroundings import facts_of
from dynamo_webhooks.reconciler.loop.work import SLOWLY
from dynamo_webhooks.reconciler.request import phases
from dynamo_webhooks.reconciler.request.legacy import graph_of
from dynamo_webhooks.reconciler.request.names import NAME, NAMESPACE, REQUEST_UID, SPEC
from dynamo_webhooks.reconciler.request.phases import Step
from dynamo_webhooks.reconciler.request.progress import progress_of
from dynamo_webhooks.reconciler.request.result import Result, ResultError, applied, result_of, stored

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.requests import Requests
    from dynamo_webhooks.reconciler.loop.work import Work


async def deploying(work: Work, requests: Requests, obj: Node) -> Turn:
    """One look at the graph of a request, which is made if it never was. Raises: ApiError, StandDownError."""
    status, progress = obj["status"], progress_of(obj)
    name, namespace = str(status.get("dgdName") or graph_of(obj)), key_of(obj).namespace
    graph = work.cache.get(Key(GRAPH, namespace, name)) or await work.cluster.get(GRAPHS, name, namespace)
    if graph is not None and _is_mine(obj, graph):
        if not progress.graph:
            await _made(work, obj, await _readable(work, obj), graph)
        step = phases.deployed(obj, graph)
        if step.phase == phases.DEPLOYED:
            return Turn(step)
        return Turn(phases.with_pulls(step, status, await requests.pulls(graph, work.now().timestamp())), PATIENCE)
    if progress.graph or (graph is None and status.get("phase") == phases.DEPLOYED):
        return Turn(phases.deleted(name))
    if graph is not None:
        await drop_config_maps(work, obj, await _readable(work, obj))
        text = f"DynamoGraphDeployment {name} was not made for this request, and is left alone; rename or remove it"
        return Turn(phases.not_deployed("NameTaken", text))
    if not applies(obj):
        return Turn(Step(phases.READY))
    return await _create(work, obj, name)


async def _create(work: Work, obj: Node, name: str) -> Turn:
    try:
        result = await _result(work, obj)
    except ResultError as error:
        return Turn(phases.unusable(str(error)))
    if result is None and obj["status"].get("dgdName"):
        return Turn(phases.deleted(name))
    if result is None:
        text = f"generated DGD spec not found in annotation {SPEC} and in the output ConfigMap"
        return Turn(None, SLOWLY, (Problem(text, "not_found"),))
    if refusal := refused(work, obj, result):
        await drop_config_maps(work, obj, result)
        return Turn(phases.unusable(refusal))
    try:
        graph = await make_graph(work, obj, result)
    except AlreadyExistsError:
        return Turn(None, SOON)
    except (ForbiddenError, InvalidError) as error:
        if is_refusal(error):
            await drop_config_maps(work, obj, result)  # nobody would own them
        raise
    await _made(work, obj, result, graph)
    return Turn(phases.created(str(result.graph["metadata"]["name"])))


async def _made(work: Work, obj: Node, result: Result | None, graph: Node) -> None:
    """What belongs to a graph is made, and only then noted that all of it was."""
    if result is not None:
        await make_config_maps(work, obj, result, graph)
    await note(work, obj, {SPEC: None}, graph=uid_of(graph))


async def _readable(work: Work, obj: Node) -> Result | None:
    """The same of a graph that is there already: what can't be read is no loss. Raises: ApiError."""
    try:
        return await _result(work, obj)
    except ResultError:
        return None


async def _result(work: Work, obj: Node) -> Result | None:
    """The result that a graph is made of; None where it is gone. Raises: ApiError, ResultError."""
    data = stored(obj, await output_data(work, obj))
    return None if data is None else await asyncio.to_thread(result_of, obj, data)


def refused(work: Work, obj: Node, result: Result) -> str:
    """Why admission would refuse the graph of a result, which may have been changed since it was read before; empty when it wouldn't."""
    refusal = judged(applied(obj, result.graph), facts_of(work.settings, work.known()))
    return f"the generated graph would be refused: {refusal}" if refusal else ""


def applies(obj: Node) -> bool:
    """Whether the graph is created without asking."""
    return (obj.get("spec") or {}).get("autoApply") is not False


def _is_mine(obj: Node, graph: Node) -> bool:
    """Whether a graph was made for this very request: by its labels, and by uids as far as they were noted."""
    metadata = graph["metadata"]
    labels, noted = metadata.get("labels") or {}, (metadata.get("annotations") or {}).get(REQUEST_UID)
    key, progress = key_of(obj), progress_of(obj)
    named = labels.get(NAME) == key.name and labels.get(NAMESPACE) == key.namespace
    return named and noted in (None, uid_of(obj)) and progress.graph in ("", uid_of(graph))
