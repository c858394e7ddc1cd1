"""One pass over a DynamoGraphDeploymentRequest: reads what its phase depends on, and does what is decided."""

import asyncio
from typing import Final

from ...kube.errors import AlreadyExistsError, ForbiddenError, InvalidError
from ...kube.protocol import Node
from ...kube.resources import CLAIMS, JOBS
from ..common.conditions import condition_of
from ..common.keys import Key, key_of, uid_of
from ..common.problems import RETRY_SOON, PassResult, TakenError, explain_cut
from ..common.resources import GRAPH, GRAPHS
from ..engine.cluster_settings import check_admission, read_facts
from ..engine.work import Work
from . import phases
from .annotations import graph_name, read_progress, read_requested_hardware
from .decide import Plan, Seen, applies, decide, is_mine, may_begin_again, phase_of
from .hardware import KINDS, Cluster
from .names import SPEC, job_of
from .phases import Step
from .result import Result, ResultError, failure_of, find_result, is_there, prepare_graph, result_of, summarise_result
from .shared import Requests, describe_ending
from .validation import claim_of
from .write import begin, drop_config_maps, drop_job, is_refusal, live_job, make_config_maps, make_graph, note, output_data, write_hardware

MAX_PHASES: Final = 4  # that one pass goes through


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
    if refusal := work.judge.refusal(request, read_facts(work)):
        return seen._replace(refusal=refusal)
    asked = read_requested_hardware(request)
    gpus = requests.gpus.known(key_of(request)) if any(asked.get(name) is None for name in KINDS) else Cluster()
    if gpus is None:
        return seen._replace(gpus=None)
    claim = claim_of(request)
    exists = not claim or await work.cluster.get(CLAIMS, claim, key_of(request).namespace) is not None
    settings = await requests.job_settings()
    return seen._replace(gpus=gpus, claim=exists, settings=settings)


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
    refusal = check_admission(prepare_graph(seen.request, result.graph), read_facts(work))
    return seen._replace(
        result=result, results=results, result_refusal=f"the generated graph would be refused: {refusal}" if refusal else ""
    )


def _read(request: Node, data: Node | None) -> tuple[Result, Node]:
    result = result_of(request, data)
    return result, summarise_result(result, data or {})


async def reconcile_request(work: Work, obj: Node) -> PassResult:
    """Brings a request as far as it can go now. Raises: ApiError, StandDownError."""
    requests = work.requests
    if requests is None or await work.let_go_deleted(obj):  # the garbage collector deletes its children
        return PassResult()
    plan = Plan()
    for _ in range(MAX_PHASES):
        before = str((obj.get("status") or {}).get("phase") or "")
        plan = await _reconcile_phase(work, requests, obj, before)
        obj = work.cache.get(key_of(obj)) or obj
        if plan.step is None or not await _write_status(work, obj, plan.step) or plan.step.phase == before:
            break
        obj = work.cache.get(key_of(obj)) or obj
    return PassResult(plan.problems, plan.after)


async def _reconcile_phase(work: Work, requests: Requests, obj: Node, phase: str) -> Plan:
    """Reconciles one phase. A final refusal by the API server fails the request; a missing permission and transient errors do not."""
    try:
        seen = await observe(work, requests, obj)
        return await _act(work, requests, seen, decide(seen))
    except TakenError as error:
        reason, text = "NameTaken", str(error)
    except (ForbiddenError, InvalidError) as error:
        if not is_refusal(error):
            raise
        reason, text = "DeploymentRejected", error.message
    deploys = phase in (phases.DEPLOYING, phases.DEPLOYED)
    return Plan(phases.refuse_deployment(reason, text) if deploys else phases.refuse_job(text))


async def _write_status(work: Work, obj: Node, step: Step) -> bool:
    wrote = await work.patch_status(obj, phases.status_after(obj, step, work.now()))
    for event in step.events if wrote else ():
        await work.say(obj, *event)
    return wrote


async def _act(work: Work, requests: Requests, seen: Seen, plan: Plan) -> Plan:
    """Writes notes and carries out the action; returns the plan, or a delay. Raises: ApiError, StandDownError, TakenError."""
    request = seen.request
    if plan.hardware is not None:
        request = await write_hardware(work, request, plan.hardware)
    if plan.notes or plan.annotations:
        request = await note(work, request, {**plan.annotations}, **plan.notes)
    if plan.action == "begin":
        await begin(work, request, await requests.job_settings())
    elif plan.action == "drop job":
        await drop_job(work, request)
    elif plan.action == "drop config maps":
        await drop_config_maps(work, request, seen.config_maps)
    elif plan.action == "make config maps":
        await make_config_maps(work, request, seen.config_maps)
    elif plan.action == "adopt graph" and seen.graph is not None:
        await _adopt(work, request, seen, seen.graph)
    elif plan.action == "make graph" and seen.result is not None:
        try:
            graph = await make_graph(work, request, seen.result)
        except AlreadyExistsError:
            return Plan(None, RETRY_SOON)
        except (ForbiddenError, InvalidError) as error:
            if is_refusal(error):
                await drop_config_maps(work, request, seen.config_maps)  # they would have no owner
            raise
        await _adopt(work, request, seen, graph)
    return plan


async def _adopt(work: Work, request: Node, seen: Seen, graph: Node) -> None:
    """Makes the ConfigMaps of a graph, and only then notes the graph."""
    await make_config_maps(work, request, seen.config_maps, graph)
    await note(work, request, {SPEC: None}, graph=uid_of(graph))
