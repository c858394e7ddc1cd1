"""Takes one object after the other from the queue, has it passed over by its kind's controller, and counts what comes of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from ..api.line import Line, decide_line
from ..kube.errors import ApiError, ForbiddenError
from ..kube.protocol import Node
from ..kube.resources import ENDPOINT_SLICES, PODS, SECRETS
from .checkpoint.reconcile import reconcile_checkpoint
from .common.keys import Key
from .common.problems import RETRY_UNLISTED, PassResult, StandDownError, join_messages, lacks_right, problem_of_error
from .common.resources import ADAPTER, CHECKPOINT, COMPONENT, GRAPH, MODEL, POD_GANG, REQUESTS, SECRET, WORKER_METADATA
from .common.workers import lighten as lighten_registration
from .component.reconcile import reconcile_component
from .component.reconcile import report_failed_pass as report_failed_component
from .engine.queue import Queue
from .engine.switches import PATIENCE, SWITCHES, Switch, clear_no_controller, report_forbidden, report_no_controller
from .engine.work import Work
from .graph import clique_status, ended_pods
from .graph.reconcile import reconcile_graph
from .graph.reconcile import report_failed_pass as report_failed_graph
from .graph.scaling_adapter import reconcile_adapter
from .metrics.meters import Meters
from .model import decide, endpoints
from .model.reconcile import reconcile_model
from .request import phases
from .request.reconcile import reconcile_request
from .workload import pull_secrets

_RETIRED: Final = "operator 1.5 and later have no DynamoCheckpoints: nothing acts on it, and no pod is restored from it; delete it"
CONTROLLERS: Final[dict[str, Callable[[Work, Node], Awaitable[PassResult]]]] = {
    MODEL: reconcile_model,
    CHECKPOINT: reconcile_checkpoint,
    REQUESTS.kind: reconcile_request,
}
REDUCED: Final[dict[str, Callable[[Node], None]]] = {  # what the cache drops
    ENDPOINT_SLICES.kind: endpoints.lighten,
    MODEL: decide.lighten,
    SECRETS.kind: pull_secrets.lighten,
    PODS.kind: ended_pods.lighten,
    REQUESTS.kind: phases.lighten,
    WORKER_METADATA.kind: lighten_registration,
    POD_GANG: clique_status.lighten,
}
LOG: Final = logging.getLogger("reconciler")
_TOLD: Final = {GRAPH: report_failed_graph, COMPONENT: report_failed_component}  # what ended a pass is told of where it lasts


async def reconcile_switched(work: Work, obj: Node) -> PassResult:
    """One pass over an object of a kind behind a switch; why nothing acts on it, it is told. Raises: ApiError, StandDownError."""
    switch = SWITCHES[obj["kind"]]
    if obj["kind"] == CHECKPOINT and decide_line(work.settings.operator.version) >= Line.V1_5:
        return await report_no_controller(work, obj, "NoController", _RETIRED, others=False)
    if not switch.is_on(work.settings.controllers, work.known()):
        return await report_no_controller(work, obj, *_explain_inaction(work, switch))
    if not work.cache.knows(obj["kind"]):  # which of two objects is the older one, say, is not known yet
        return PassResult((), RETRY_UNLISTED)
    try:
        outcome = await CONTROLLERS[obj["kind"]](work, obj)
        await clear_no_controller(work, obj)
    except ForbiddenError as error:
        if not lacks_right(error):
            raise
        return await report_forbidden(work, obj, f"the reconciler lacks a permission: {error.message}; {switch.grant}")
    return outcome


def _explain_inaction(work: Work, switch: Switch) -> tuple[str, str]:
    """The reason and the message for an object that no controller acts on."""
    what = f"no controller acts on objects of the kind {switch.resource.kind}"
    if switch.is_off(work.settings.controllers):
        return (
            "NoController",
            f"{what}: controllers.{switch.name} is off in the configuration, and no other one has acted within {PATIENCE:.0f} s",
        )
    lacking = work.lacking(switch.name)
    named = f" ({lacking})" if lacking else ""
    return "Forbidden", f"{what}: the reconciler lacks a permission for it{named}; {switch.grant}"


PASSES: Final = {
    GRAPH: reconcile_graph,
    COMPONENT: reconcile_component,
    ADAPTER: reconcile_adapter,
    **dict.fromkeys(CONTROLLERS, reconcile_switched),
    SECRET: pull_secrets.tell_unreadable,
}


class Worker:
    """What several tasks run at once, each with an object of its own."""

    def __init__(self, queue: Queue, meters: Meters, clock: Callable[[], float]) -> None:
        self._queue, self._meters, self._clock = queue, meters, clock

    async def run(self, work: Work) -> None:
        """Runs until it is cancelled."""
        while True:
            await asyncio.sleep(0)  # a pass that has nothing to write waits for nobody: watches, Leases and probes must have their turn
            key = await self._queue.get()
            began = self._clock()
            result = "success"
            try:
                outcome = await self._pass(work, key)
                result = self._settle(key, outcome)
            except asyncio.CancelledError:
                raise
            except StandDownError:
                self._meters.stood_down += 1
                self._queue.done(key)
            except ApiError as error:
                result = self._again(key, PassResult((problem_of_error(error, str(key)),)))
            except Exception:
                LOG.exception("a pass over %s failed with an unexpected error", key)
                self._meters.errors[self._meters.label(key.kind, "internal", key.namespace)] += 1
                self._meters.panics[key.kind] += 1
                self._queue.failed(key)
                result = "error"
            self._meters.passed(self._meters.label(key.kind, result, key.namespace), self._clock() - began)

    async def _pass(self, work: Work, key: Key) -> PassResult:
        obj = work.cache.get(key)
        if obj is None:
            return PassResult()
        work.ask(obj)
        try:
            return await PASSES[key.kind](work, obj)
        except ApiError as error:
            problem, goes = problem_of_error(error, str(key)), obj["metadata"].get("deletionTimestamp")
            if key.kind not in _TOLD or goes or (problem.passing and not self._queue.lasts(key)):
                raise
            return await _TOLD[key.kind](work, work.cache.get(key) or obj, problem)

    def _settle(self, key: Key, outcome: PassResult) -> str:
        if not outcome.problems:
            self._queue.done(key, outcome.after)
            return "requeue" if outcome.after else "success"
        if outcome.passing:
            return self._again(key, outcome)
        self._count(key, outcome)
        self._meters.terminal[key.kind] += 1
        self._queue.done(key, outcome.after)
        return "error"

    def _again(self, key: Key, outcome: PassResult) -> str:
        self._count(key, outcome)
        pause = self._queue.failed(key)
        LOG.warning("%s: %s; again in %.1f s", key, join_messages([*outcome.problems]), pause)
        return "error"

    def _count(self, key: Key, outcome: PassResult) -> None:
        for category in {problem.category for problem in outcome.problems}:
            self._meters.errors[self._meters.label(key.kind, category, key.namespace)] += 1
