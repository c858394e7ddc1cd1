"""One pass over a DynamoGraphDeploymentRequest."""

from __future__ import annotations

from typing import Final

from ...kube.errors import AlreadyExistsError, ForbiddenError, InvalidError
from ...kube.protocol import Node
from ..common.keys import key_of, uid_of
from ..common.problems import TakenError
from ..engine.passes import RETRY_SOON, PassResult
from ..engine.work import Work
from . import phases
from .decide import Plan, Seen, decide
from .names import SPEC
from .observe import observe
from .phases import Step
from .shared import Requests
from .write import begin, drop_config_maps, drop_job, is_refusal, make_config_maps, make_graph, note, write_hardware

MAX_PHASES: Final = 4  # that one pass goes through


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
    """Writes notes and carries out the action; returns the plan, or a delay where the graph appeared meanwhile.

    Raises: ApiError, StandDownError, TakenError.
    """
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
