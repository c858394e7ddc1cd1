"""Reads the state of the cluster that a pass over a DynamoGraphDeploymentRequest depends on."""

from __future__ import annotations

import asyncio

from ...kube.protocol import Node
from ...kube.resources import CLAIMS, JOBS
from ..common.conditions import condition_of
from ..common.keys import Key, key_of
from ..common.nesting import explain_cut
from ..common.resources import GRAPH, GRAPHS
from ..engine.admission_check import check_admission
from ..engine.cluster_settings import read_facts
from ..engine.work import Work
from . import phases
from .decide import Seen, applies, is_mine, may_begin_again, phase_of
from .hardware import KINDS, Cluster
from .legacy import graph_name, read_requested_hardware
from .names import job_of
from .progress import read_progress
from .result import Result, ResultError, failure_of, find_result, is_there, prepare_graph, result_of, summarise_result
from .shared import Requests, describe_ending
from .validation import claim_of
from .write import live_job, output_data


async def observe(work: Work, requests: Requests, request: Node) -> Seen:
    """What the phase of a request depends on. Raises: ApiError, TakenError."""
    seen, phase = Seen(request, work.now()), phase_of(request)
    if deep := explain_cut(request):
        return seen._replace(refusal=deep)
    if phase == phases.PENDING:
        return await _pending(work, requests, seen)
    if phase == phases.PROFILING:
        return await _profiling(work, requests, seen)
    if phase in (phases.DEPLOYING, phases.DEPLOYED):
        return await _deploying(work, requests, seen)
    if applies(request) if phase == phases.READY else may_begin_again(request)[0]:
        return seen._replace(data=find_result(request, await output_data(work, request)))
    return seen


async def _pending(work: Work, requests: Requests, seen: Seen) -> Seen:
    request = seen.request
    if refusal := work.judge.refusal(request, read_facts(work.settings, work.known())):
        return seen._replace(refusal=refusal)
    asked = read_requested_hardware(request)
    gpus = requests.gpus.known(key_of(request)) if any(asked.get(name) is None for name in KINDS) else Cluster()
    if gpus is None:
        return seen._replace(gpus=None)
    claim = claim_of(request)
    exists = not claim or await work.cluster.get(CLAIMS, claim, key_of(request).namespace) is not None
    settings = await requests.job_settings()
    return seen._replace(gpus=gpus, claim=exists, settings=settings, writes_hardware=requests.settings.requests.write_hardware)


async def _profiling(work: Work, requests: Requests, seen: Seen) -> Seen:
    request, key = seen.request, key_of(seen.request)
    job = work.cache.get(Key(JOBS.kind, key.namespace, job_of(request))) or await live_job(work, request)
    data = await output_data(work, request)
    seen = seen._replace(job=job, data=data)
    if job is None:
        return await _with_result(work, seen, data) if is_there(data) else seen
    end = condition_of(job.get("status") or {}, "Failed")
    if end.get("status") == "True":
        ending = failure_of(data or {}) or await describe_ending(work.cluster, job, str(end.get("message") or ""))
        return seen._replace(ending=ending)
    if condition_of(job.get("status") or {}, "Complete").get("status") != "True":
        waits, pulls = await requests.waits(job, seen.moment.timestamp())
        return seen._replace(waits=waits, pulls=tuple(pulls))
    return await _with_result(work, seen, data)


async def _deploying(work: Work, requests: Requests, seen: Seen) -> Seen:
    request, progress, namespace = seen.request, read_progress(seen.request), key_of(seen.request).namespace
    name = str(request["status"].get("dgdName") or graph_name(request))
    graph = work.cache.get(Key(GRAPH, namespace, name)) or await work.cluster.get(GRAPHS, name, namespace)
    seen = seen._replace(graph=graph)
    if graph is not None and is_mine(request, graph) and phases.report_graph(request, graph).phase != phases.DEPLOYED:
        seen = seen._replace(pulls=tuple(await requests.pulls(graph, seen.moment.timestamp())))
    if progress.graph or (graph is None and request["status"].get("phase") == phases.DEPLOYED):
        return seen
    data = find_result(request, await output_data(work, request))
    return seen if data is None else await _with_result(work, seen, data)


async def _with_result(work: Work, seen: Seen, data: Node | None) -> Seen:
    """Reads the result in a thread, since it may take a second, and checks whether admission refuses its graph."""
    if failure_of(data or {}):
        return seen
    try:
        result, results = await asyncio.to_thread(_read, seen.request, data)
    except ResultError as error:
        return seen._replace(unusable=str(error))
    refusal = check_admission(prepare_graph(seen.request, result.graph), read_facts(work.settings, work.known()))
    return seen._replace(
        result=result, results=results, result_refusal=f"the generated graph would be refused: {refusal}" if refusal else ""
    )


def _read(request: Node, data: Node | None) -> tuple[Result, Node]:
    result = result_of(request, data)
    return result, summarise_result(result, data or {})
