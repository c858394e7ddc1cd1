"""Takes one object after the other from the queue, has its kind's controller reconcile it, and counts the results."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from ..kube.errors import ApiError
from .common.keys import Key
from .common.problems import PassResult, StandDownError, join_messages, problem_of_error
from .engine.context import Context
from .engine.queue import Queue
from .engine.routing import Controllers
from .engine.switches import WaitTimes, reconcile_switched
from .metrics.meters import Meters

LOG: Final = logging.getLogger("reconciler")


class Worker:
    """A worker that several tasks run at once, each with its own object."""

    def __init__(self, queue: Queue, meters: Meters, controllers: Controllers, clock: Callable[[], float]) -> None:
        self._queue, self._meters, self._controllers, self._clock = queue, meters, controllers, clock
        self._wait_times = WaitTimes(clock)

    async def run(self, context: Context) -> None:
        """Runs until it is cancelled."""
        while True:
            await asyncio.sleep(0)  # a pass without writes may never yield: watches, Leases and probes must have their turn
            key = await self._queue.get()
            began = self._clock()
            result = "success"
            try:
                outcome = await self._pass(context, key)
                result = self._settle(key, outcome)
            except asyncio.CancelledError:
                raise
            except StandDownError:
                self._meters.stood_down += 1
                self._queue.done(key)
            except ApiError as error:
                result = self._retry(key, PassResult((problem_of_error(error, str(key)),)))
            except Exception:
                LOG.exception("a pass over %s failed with an unexpected error", key)
                self._meters.errors[self._meters.label(key.kind, "internal", key.namespace)] += 1
                self._meters.panics[key.kind] += 1
                self._queue.failed(key)
                result = "error"
            self._meters.count_pass(self._meters.label(key.kind, result, key.namespace), self._clock() - began)

    async def _pass(self, context: Context, key: Key) -> PassResult:
        controller, obj = self._controllers[key.kind], context.cache.get(key)
        if obj is None:
            return PassResult()
        context.writer.check_may_write(obj)
        try:
            if controller.switch is not None:
                return await reconcile_switched(context, self._wait_times, controller, controller.switch, obj)
            return await controller.reconcile(context, obj)
        except ApiError as error:
            problem, goes = problem_of_error(error, str(key)), obj["metadata"].get("deletionTimestamp")
            if goes or (problem.is_transient and not self._queue.keeps_failing(key)):
                raise
            reported = await controller.report_failure(context, context.cache.get(key) or obj, problem)
            if reported is None:
                raise
            return reported

    def _settle(self, key: Key, outcome: PassResult) -> str:
        if not outcome.problems:
            self._queue.done(key, outcome.requeue_after)
            return "requeue" if outcome.requeue_after else "success"
        if outcome.is_transient:
            return self._retry(key, outcome)
        self._count(key, outcome)
        self._meters.terminal[key.kind] += 1
        self._queue.done(key, outcome.requeue_after)
        return "error"

    def _retry(self, key: Key, outcome: PassResult) -> str:
        self._count(key, outcome)
        pause = self._queue.failed(key)
        LOG.warning("%s: %s; again in %.1f s", key, join_messages([*outcome.problems]), pause)
        return "error"

    def _count(self, key: Key, outcome: PassResult) -> None:
        for category in {problem.category for problem in outcome.problems}:
            self._meters.errors[self._meters.label(key.kind, category, key.namespace)] += 1
