"""One pass over a DynamoGraphDeploymentRequest: it reads the objects that its phase depends on, and carries out the decision."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from ...api.line import Line
from ...api.operator.configuration import OperatorConfiguration
from ...kube.errors import AlreadyExistsError, ForbiddenError, InvalidError
from ...kube.protocol import Node
from ...kube.resources import CLAIMS, CONFIG_MAPS, JOBS, Resource
from ..common.conditions import condition_of
from ..common.keys import Key, controller_reference, is_controlled, key_of, uid_of
from ..common.problems import SOON_RETRY_SECONDS, NameTakenError, PassResult, explain_cut
from ..common.resources import GRAPH, GRAPHS, GRAPHS_ALPHA, REQUEST_NAME, REQUESTS
from ..engine.cluster_settings import read_facts
from ..engine.context import Context
from ..engine.write import mark_applied
from ..render.objects import make_reference
from . import phases
from .annotations import digest_spec, graph_name, read_map, read_progress, read_requested_hardware
from .decide import RequestPlan, RequestState, applies, decide, is_mine, may_begin_again, phase_of
from .hardware import KINDS, GpuInventory
from .job import render_job, render_output, render_rights
from .names import HARDWARE, JOB_NAME, MANAGED, OURS, PROGRESS, SPEC, SPEC_KEY, job_of, output_of
from .phases import RequestStep
from .result import ProfilingResult, ResultError, find_result, is_there, make_result, prepare_graph, read_failure, summarise_result
from .shared import RequestContext, describe_ending
from .validation import read_claim_name

MAX_PHASES: Final = 4  # that one pass goes through


async def observe(context: Context, requests: RequestContext, request: Node) -> RequestState:
    """Reads what the phase of a request depends on. Raises: ApiError, NameTakenError."""
    state, phase = RequestState(request, context.clocks.wall()), phase_of(request)
    if deep := explain_cut(request):
        return state._replace(refusal=deep)
    if phase == phases.PENDING:
        return await _pending(context, requests, state)
    if phase == phases.PROFILING:
        return await _profiling(context, requests, state)
    if phase in (phases.DEPLOYING, phases.DEPLOYED):
        return await _deploying(context, requests, state)
    if applies(request) if phase == phases.READY else may_begin_again(request)[0]:
        return state._replace(data=find_result(request, await read_output(context, request)))
    return state


async def _pending(context: Context, requests: RequestContext, state: RequestState) -> RequestState:
    request = state.request
    if refusal := context.judge.refusal(request, read_facts(context)):
        return state._replace(refusal=refusal)
    requested = read_requested_hardware(request)
    gpus = requests.gpus.known(key_of(request)) if any(requested.get(name) is None for name in KINDS) else GpuInventory()
    if gpus is None:
        return state._replace(gpus=None)
    claim = read_claim_name(request)
    exists = not claim or await context.cluster.get(CLAIMS, claim, key_of(request).namespace) is not None
    settings = await requests.job_settings()
    return state._replace(gpus=gpus, claim=exists, settings=settings)


async def _profiling(context: Context, requests: RequestContext, state: RequestState) -> RequestState:
    request, key = state.request, key_of(state.request)
    job = context.cache.get(Key(JOBS.kind, key.namespace, job_of(request))) or await read_job(context, request)
    data = await read_output(context, request)
    state = state._replace(job=job, data=data)
    if job is None:
        return await _with_result(context, state, data) if is_there(data) else state
    end = condition_of(job.get("status") or {}, "Failed")
    if end.get("status") == "True":
        ending = read_failure(data or {}) or await describe_ending(context.cluster, job, str(end.get("message") or ""))
        return state._replace(ending=ending)
    if condition_of(job.get("status") or {}, "Complete").get("status") != "True":
        waiting_reason, pulls = await requests.explain_waiting_pod(job, state.moment.timestamp())
        return state._replace(waiting_reason=waiting_reason, pull_failures=tuple(pulls))
    return await _with_result(context, state, data)


async def _deploying(context: Context, requests: RequestContext, state: RequestState) -> RequestState:
    request, progress, namespace = state.request, read_progress(state.request), key_of(state.request).namespace
    name = str(request["status"].get("dgdName") or graph_name(request))
    graph = context.cache.get(Key(GRAPH, namespace, name)) or await context.cluster.get(GRAPHS, name, namespace)
    state = state._replace(graph=graph)
    if graph is not None and is_mine(request, graph) and phases.report_graph(request, graph).phase != phases.DEPLOYED:
        state = state._replace(pull_failures=tuple(await requests.list_pull_failures(graph, state.moment.timestamp())))
    if progress.graph or (graph is None and request["status"].get("phase") == phases.DEPLOYED):
        return state
    data = find_result(request, await read_output(context, request))
    return state if data is None else await _with_result(context, state, data)


async def _with_result(context: Context, state: RequestState, data: Node | None) -> RequestState:
    """Reads the result in a thread, since it may take a second, and checks whether admission refuses its graph."""
    if read_failure(data or {}):
        return state
    facts = read_facts(context)
    try:
        result, results = await asyncio.to_thread(_read_result, state.request, data, facts.line)
    except ResultError as error:
        return state._replace(unusable=str(error))
    refusal = context.judge.ask(prepare_graph(state.request, result.graph), facts)
    return state._replace(
        result=result, results=results, result_refusal=f"the generated graph would be refused: {refusal}" if refusal else ""
    )


def _read_result(request: Node, data: Node | None, line: Line) -> tuple[ProfilingResult, Node]:
    result = make_result(request, data, line)
    return result, summarise_result(result, data or {})


async def reconcile_request(context: Context, requests: RequestContext, obj: Node) -> PassResult:
    """Brings a request as far as it can go now. Raises: ApiError, StandDownError."""
    if await context.finalize_deleted(obj):  # the garbage collector deletes its children
        return PassResult()
    plan = RequestPlan()
    for _ in range(MAX_PHASES):
        before = str((obj.get("status") or {}).get("phase") or "")
        plan = await _reconcile_phase(context, requests, obj, before)
        obj = context.cache.get(key_of(obj)) or obj
        if plan.step is None or not await _write_status(context, obj, plan.step) or plan.step.phase == before:
            break
        obj = context.cache.get(key_of(obj)) or obj
    return PassResult(plan.problems, plan.requeue_after)


async def _reconcile_phase(context: Context, requests: RequestContext, obj: Node, phase: str) -> RequestPlan:
    """Reconciles one phase. A final refusal by the API server fails the request; a missing permission and transient errors do not."""
    try:
        state = await observe(context, requests, obj)
        return await _act(context, requests, state, decide(state))
    except NameTakenError as error:
        reason, text = "NameTaken", str(error)
    except (ForbiddenError, InvalidError) as error:
        if not is_refusal(error):
            raise
        reason, text = "DeploymentRejected", error.message
    deploys = phase in (phases.DEPLOYING, phases.DEPLOYED)
    return RequestPlan(phases.refuse_deployment(reason, text) if deploys else phases.refuse_job(text))


async def _write_status(context: Context, obj: Node, step: RequestStep) -> bool:
    wrote = await context.writer.patch_status(obj, phases.make_status(obj, step, context.clocks.wall()))
    for event in step.events if wrote else ():
        await context.record_event(obj, *event)
    return wrote


async def _act(context: Context, requests: RequestContext, state: RequestState, plan: RequestPlan) -> RequestPlan:
    """Writes notes and carries out the action; returns the plan, or a delay. Raises: ApiError, StandDownError, NameTakenError."""
    request = state.request
    if plan.hardware is not None:
        request = await write_hardware(context, request, plan.hardware)
    if plan.notes or plan.annotations:
        request = await note(context, request, {**plan.annotations}, **plan.notes)
    if plan.action == "begin":
        await begin(context, request, await requests.job_settings())
    elif plan.action == "drop job":
        await _drop_job(context, request, await read_job(context, request))
    elif plan.action == "drop config maps":
        await drop_config_maps(context, request, state.config_maps)
    elif plan.action == "make config maps":
        await make_config_maps(context, request, state.config_maps)
    elif plan.action == "adopt graph" and state.graph is not None:
        await _adopt(context, request, state, state.graph)
    elif plan.action == "make graph" and state.result is not None:
        try:
            graph = await make_graph(context, request, state.result)
        except AlreadyExistsError:
            return RequestPlan(None, SOON_RETRY_SECONDS)
        except (ForbiddenError, InvalidError) as error:
            if is_refusal(error):
                await drop_config_maps(context, request, state.config_maps)  # they would have no owner
            raise
        await _adopt(context, request, state, graph)
    return plan


async def _adopt(context: Context, request: Node, state: RequestState, graph: Node) -> None:
    """Makes the ConfigMaps of a graph, and only then notes the graph."""
    await make_config_maps(context, request, state.config_maps, graph)
    await note(context, request, {SPEC: None}, graph=uid_of(graph))


SPEC_DIGEST: Final = OURS + "spec-digest"  # annotation of a Job: the spec that it profiles


async def note(context: Context, request: Node, annotations: dict[str, str | None], **notes: Any) -> Node:
    """Keeps notes and annotations on a request; gives it as it is then. Raises: ApiError, StandDownError."""
    before = request["metadata"].get("annotations") or {}
    wanted = {**annotations, PROGRESS: read_progress(request)._replace(**notes).text()}
    news = {name: text for name, text in wanted.items() if before.get(name) != text}
    if not news:
        return request
    return await context.writer.merge(request, REQUESTS, key_of(request).name, {"metadata": {"annotations": news}})


async def write_hardware(context: Context, request: Node, hardware: Node) -> Node:
    """Writes the hardware that was found into the spec, as the Go operator does. Raises: ApiError, StandDownError."""
    if (request["spec"].get("hardware") or {}) == hardware:
        return request
    patch = {"metadata": {"resourceVersion": request["metadata"]["resourceVersion"]}, "spec": {"hardware": hardware}}
    return await context.writer.merge(request, REQUESTS, key_of(request).name, patch)


async def begin(context: Context, request: Node, settings: OperatorConfiguration) -> None:
    """Makes the Job and before it what its pod needs, unless they are there. Raises: ApiError, StandDownError, NameTakenError."""
    hardware = {**read_map(request, HARDWARE), **read_requested_hardware(request)}
    wanted = mark_applied(render_job(request, hardware, settings))
    wanted["metadata"]["annotations"][SPEC_DIGEST] = digest_spec(request.get("spec"))
    live = await read_job(context, request)
    if live is not None and _is_current(live, request):
        return
    await _drop_job(context, request, live)
    account = str(wanted["spec"]["template"]["spec"]["serviceAccountName"])
    for child in render_rights(request, account):
        await context.writer.put(child, request)
    await _put_output(context, request, render_output(request, hardware))
    context.writer.check_may_write(request)
    try:
        context.cache.add_write(await context.cluster.create(JOBS, wanted, wanted["metadata"]["namespace"]))
    except AlreadyExistsError:
        await read_job(context, request)  # raises for a foreign Job; the request's own was made just now


async def read_job(context: Context, request: Node) -> Node | None:
    """The Job of a request as it is now. Raises: ApiError, NameTakenError."""
    return await _own(context, request, JOBS, job_of(request))


async def _own(context: Context, request: Node, resource: Resource, name: str) -> Node | None:
    """A request's object as it is now; one left by an earlier request of the same name is deleted. Raises: ApiError, NameTakenError."""
    live = await context.cluster.get(resource, name, key_of(request).namespace)
    if live is None or not _is_foreign(live, request):
        return live
    if await context.writer.drop_left_behind(live, request):
        return None
    raise NameTakenError(f"{resource.kind} {name} belongs to another owner, and is left alone; rename or remove it")


async def read_output(context: Context, request: Node) -> Node | None:
    """Reads what the profiler has written so far; None where its ConfigMap is gone. Raises: ApiError."""
    live = await context.cluster.get(CONFIG_MAPS, output_of(request), key_of(request).namespace)
    return None if live is None or _is_foreign(live, request) else live.get("data") or {}


async def make_graph(context: Context, request: Node, result: ProfilingResult) -> Node:
    """Creates the graph. Raises: ApiError, StandDownError."""
    wanted = prepare_graph(request, result.graph)
    beta = wanted["apiVersion"] == GRAPHS.api_version
    context.writer.check_may_write(request)
    made = await context.cluster.create(GRAPHS if beta else GRAPHS_ALPHA, wanted, wanted["metadata"]["namespace"])
    if beta:
        context.cache.add_write(made)
    return made


async def make_config_maps(context: Context, request: Node, wanted: Iterable[Node], graph: Node | None = None) -> None:
    """Creates the ConfigMaps that a graph's pods mount, or gives them to the graph; an Event reports those of other owners.

    Without a graph they have no owner yet: whichever operator makes the graph finds them. Raises: ApiError, StandDownError.
    """
    owner = make_reference({**graph, "apiVersion": GRAPHS.api_version}) if graph is not None else None
    for config_map in wanted:
        metadata = config_map["metadata"]
        context.writer.check_may_write(request)
        owned = {**config_map, "metadata": {**metadata, "ownerReferences": [owner]}} if owner is not None else config_map
        try:
            await context.cluster.create(CONFIG_MAPS, owned, metadata["namespace"])
        except AlreadyExistsError:
            if owner is not None:
                await _adopt_output(context, request, config_map, owner)
        except (ForbiddenError, InvalidError) as error:
            if not is_refusal(error):
                raise
            await context.record_event(
                request, "Warning", "ConfigMapCreationFailed", f"ConfigMap {metadata['name'][:253]}: {error.message}"
            )


def is_refusal(error: ForbiddenError | InvalidError) -> bool:
    """Whether an object itself was refused for good, by its schema or by a webhook; a missing permission may be granted."""
    return isinstance(error, InvalidError) or "admission webhook" in error.message


async def drop_config_maps(context: Context, request: Node, unwanted: Iterable[Node]) -> None:
    """Deletes them where no graph will own them; others' stay. Costs 20 reads and deletions at most. Raises: ApiError, StandDownError."""
    for config_map in unwanted:
        name, namespace = config_map["metadata"]["name"], config_map["metadata"]["namespace"]
        live = await context.cluster.get(CONFIG_MAPS, name, namespace)
        if live is not None and controller_reference(live) is None and _is_labelled(live, request):
            context.writer.check_may_write(request)
            await context.cluster.delete(CONFIG_MAPS, name, namespace, uid=uid_of(live))


async def _adopt_output(context: Context, request: Node, wanted: Node, owner: Node) -> None:
    name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
    live = await context.cluster.get(CONFIG_MAPS, name, namespace)
    if live is None:
        return
    controller = controller_reference(live)
    if not _is_labelled(live, request) or (controller is not None and controller.get("uid") != owner.get("uid")):
        await context.record_event(
            request, "Warning", "ConfigMapCreationFailed", f"ConfigMap {name} belongs to another owner, and is left alone"
        )
        return
    if controller is None:
        patch = {
            "metadata": {"ownerReferences": [owner], "resourceVersion": live["metadata"]["resourceVersion"]},
            "data": wanted.get("data"),
        }
        await context.cluster.merge_patch(CONFIG_MAPS, name, patch, namespace)


def _is_labelled(live: Node, request: Node) -> bool:
    labels = live["metadata"].get("labels") or {}
    return request["metadata"]["name"] in (labels.get(REQUEST_NAME), labels.get(JOB_NAME)) and bool(labels.get(MANAGED))


async def _put_output(context: Context, request: Node, wanted: Node) -> None:
    """An empty ConfigMap for the result: what an earlier Job has written must not be read again."""
    name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
    live = await _own(context, request, CONFIG_MAPS, name)
    if live is not None and set(live.get("data") or ()) <= {SPEC_KEY} and (live.get("data") or {}) == wanted.get("data", {}):
        return
    context.writer.check_may_write(request)
    if live is not None:
        await context.cluster.delete(CONFIG_MAPS, name, namespace, uid=uid_of(live))
    await context.cluster.create(CONFIG_MAPS, wanted, namespace)


async def _drop_job(context: Context, request: Node, live: Node | None) -> None:
    """Deletes the Job of a request that starts again, if there is one. Raises: ApiError, StandDownError."""
    if live is not None:
        context.writer.check_may_write(request)
        await context.cluster.delete(JOBS, live["metadata"]["name"], live["metadata"]["namespace"], uid=uid_of(live))
        context.cache.forget_write(key_of({**live, "kind": JOBS.kind}))


def _is_current(live: Node, request: Node) -> bool:
    """Whether a Job profiles the request as it is; one of the Go operator doesn't say."""
    spec_digest = (live["metadata"].get("annotations") or {}).get(SPEC_DIGEST)
    return spec_digest in (None, digest_spec(request.get("spec"))) and not live["metadata"].get("deletionTimestamp")


def _is_foreign(live: Node, request: Node) -> bool:
    """Whether an object of the wanted name isn't the request's. If it has no owner, as a backup restores it, its labels decide."""
    return not (is_controlled(live, request) or (controller_reference(live) is None and _is_labelled(live, request)))
