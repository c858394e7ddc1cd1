"""Loads and unloads adapters on workers' pods, for all models of a process."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ...api.operator.controllers import Models as ModelSettings
from ...kube.clocks import LOCAL, Clocks
from ..common.keys import Key
from .endpoints import Endpoint
from .lora import LoadProgress, WantedAdapter
from .worker import RefusedError, UnreachableError, WorkerClient, WorkerPod, load, unload_all

LOG: Final = logging.getLogger("reconciler.models")
FIRST_RETRY_SECONDS: Final = 1.0  # seconds before the second attempt on a pod, doubled each time
MAX_RETRY_SECONDS: Final = 120.0  # between two attempts
REFUSED_RETRY_SECONDS: Final = 600.0  # between two attempts where the worker says that it won't ever
UNLOAD_RETRY_SECONDS: Final = 4.0  # between two attempts to unload from a model that is being deleted, whose time is bounded
SLOW_CALL_SECONDS: Final = 10.0  # after which a call gives its turn to others, and goes on beside them
MAX_NAMESPACE_CALLS: Final = 128  # under way for the models of one namespace, slow ones included
PODS_SHARE: Final = 4  # a changed source is loaded on one of so many pods at a time


@dataclass(slots=True)
class _ModelLoads:
    wanted: WantedAdapter
    began: float
    due: float  # of the next look
    pods: dict[str, WorkerPod] = field(default_factory=dict)
    pending: OrderedDict[str, None] = field(default_factory=OrderedDict)
    runners: int = 0
    running: int = 0  # pods that are being called


class Loader:
    """The loaded adapters of all models of a process, by pod."""

    def __init__(
        self,
        caller: WorkerClient,
        changed: Callable[[Key], None],
        settings: ModelSettings | None = None,
        *,
        stray: Callable[[Key, Endpoint], Awaitable[str]] | None = None,
        clocks: Clocks = LOCAL,
    ) -> None:
        """`changed(key)` is called on changes of a pod's state; `stray` explains why an address isn't the pod's, until it is confirmed."""
        self._stray = stray
        self._caller, self._changed, self._settings = caller, changed, settings or ModelSettings()
        self._clock, self._sleep, self._chance = clocks.monotonic, clocks.sleep, clocks.chance
        self._models: dict[Key, _ModelLoads] = {}
        self._turns = asyncio.Semaphore(self._settings.concurrency)
        self._namespaces: dict[str, asyncio.Semaphore] = {}
        self._active = 0  # models with calls under way or waiting
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self) -> None:
        """Asks every worker periodically whether it still has the wanted adapter."""
        while True:
            await self._sleep(self._settings.verify_interval / 10)
            for key, loads in [*self._models.items()]:
                if self._clock() >= loads.due and not loads.wanted.unload:
                    loads.due = self._next_check_at()
                    self._verify(key, loads)

    async def close(self) -> None:
        """Ends all calls, and makes no more."""
        self._closed = True
        for key in [*self._models]:
            self.forget(key)
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._caller.close()

    def set_wanted(self, key: Key, wanted: WantedAdapter, endpoints: Sequence[Endpoint], *, check: bool) -> None:
        """Sets the adapter that a model wants now, and its pods. With `check`, pods are asked first, if nothing was known of the model."""
        loads = self._models.get(key)
        if loads is None:
            loads = self._models[key] = _ModelLoads(wanted, self._clock(), self._next_check_at())
        else:
            check = False
        if loads.wanted != wanted:
            self._set_wanted(loads, wanted)
        for uid in loads.pods.keys() - {present.uid for present in endpoints}:
            self._drop(loads, uid)
        for endpoint in endpoints:
            pod = loads.pods.get(endpoint.uid)
            if pod is None:
                pod = loads.pods[endpoint.uid] = WorkerPod(endpoint, check=check)
            elif not endpoint.callable:
                pod.check = True  # its container may have been started anew until it is ready again
                pod.errors = 0
                _stop_waiting(pod)
            pod.endpoint = endpoint
            if not endpoint.callable and not wanted.unload:
                pod.done = pod.clean = False
                loads.pending.pop(endpoint.uid, None)
            elif not (pod.done and pod.clean) and pod.wait is None and not pod.running:
                loads.pending.setdefault(endpoint.uid)
        self._start(key, loads)

    def progress(self, key: Key) -> LoadProgress:
        """Returns the progress of a model that was given to `set_wanted`."""
        loads = self._models[key]
        pods = loads.pods
        callable_pods = [pod for pod in pods.values() if pod.endpoint.callable or loads.wanted.unload]
        return LoadProgress(
            frozenset(uid for uid, pod in pods.items() if pod.done),
            tuple((pod.endpoint.pod, pod.failure) for pod in callable_pods if pod.failure),
            self.busy(key),
            all(pod.done and pod.clean for pod in callable_pods),
        )

    def busy(self, key: Key) -> bool:
        """Whether calls for a model are under way or wait for their turn."""
        loads = self._models.get(key)
        return loads is not None and bool(loads.running or loads.pending)

    def seconds(self, key: Key) -> float:
        """Returns the seconds since a model was first given, or since its unloading began; 0 for an unknown one."""
        loads = self._models.get(key)
        return self._clock() - loads.began if loads is not None else 0.0

    def forget(self, key: Key) -> None:
        """Forgets a model that is gone, or wants nothing."""
        loads = self._models.pop(key, None)
        if loads is not None:
            for uid in [*loads.pods]:
                self._drop(loads, uid)

    def _next_check_at(self) -> float:
        return self._clock() + self._settings.verify_interval * (0.9 + 0.2 * self._chance())

    def _set_wanted(self, loads: _ModelLoads, wanted: WantedAdapter) -> None:
        again = (wanted.lora, wanted.unload, wanted.replace) != (loads.wanted.lora, loads.wanted.unload, loads.wanted.replace)
        if wanted.unload and not loads.wanted.unload:
            loads.began = self._clock()
        settled = loads.wanted.replace and not wanted.replace and wanted.lora == loads.wanted.lora
        loads.wanted = wanted
        for pod in loads.pods.values():
            if again and not settled:
                pod.done = False
                pod.failure, pod.errors = "", 0
                _stop_waiting(pod)
            pod.clean = pod.done and not wanted.stale

    def _drop(self, loads: _ModelLoads, uid: str) -> None:
        _stop_waiting(loads.pods.pop(uid))
        loads.pending.pop(uid, None)

    def _verify(self, key: Key, loads: _ModelLoads) -> None:
        for uid, pod in loads.pods.items():
            if pod.done and pod.endpoint.callable and not pod.silent and not pod.running:
                pod.check = True
                loads.pending.setdefault(uid)
        self._start(key, loads)

    def _limit(self, loads: _ModelLoads) -> int:
        """Calls at a time for one model: all that there may be, unless others wait too."""
        limit = self._settings.concurrency if self._active <= 1 else self._settings.per_model
        return min(limit, max(1, len(loads.pods) // PODS_SHARE)) if loads.wanted.replace else limit

    def _start(self, key: Key, loads: _ModelLoads) -> None:
        if self._closed:
            return
        if loads.pending and not loads.runners:
            self._active += 1
        for _ in range(min(self._limit(loads) - loads.runners, len(loads.pending))):
            loads.runners += 1
            self._begin(self._run(key, loads))

    def _begin(self, calls: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(calls)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(self, key: Key, loads: _ModelLoads) -> None:
        """Serves one pod after the other until none waits, or others have come to share with."""
        share = self._namespaces.setdefault(key.namespace, asyncio.Semaphore(MAX_NAMESPACE_CALLS))
        try:
            while loads.pending and loads.runners <= self._limit(loads):
                await share.acquire()
                async with self._turns:
                    call = self._next(key, loads)
                    if call is None:
                        share.release()
                        return
                    call.add_done_callback(lambda _: share.release())
                    await asyncio.wait({call}, timeout=SLOW_CALL_SECONDS)
        finally:
            loads.runners -= 1
            self._active -= not loads.runners

    def _next(self, key: Key, loads: _ModelLoads) -> asyncio.Task[None] | None:
        """Begins the calls of the pod that has waited longest; None when none waits any more."""
        if not loads.pending:
            return None
        uid, _ = loads.pending.popitem(last=False)
        if not loads.pending:
            loads.pending.clear()  # an emptied map keeps the room of all that were in it
        pod = loads.pods[uid]
        pod.running = True
        loads.running += 1
        return self._begin(self._serve(key, loads, pod))

    async def _serve(self, key: Key, loads: _ModelLoads, pod: WorkerPod) -> None:
        wanted, endpoint, before = loads.wanted, pod.endpoint, (pod.done, pod.clean, pod.failure)
        refused = False
        try:
            failure = await self._confirm(key, pod)
            if not failure:
                await (unload_all(self._caller, wanted, endpoint) if wanted.unload else load(self._caller, wanted, pod))
        except UnreachableError as error:
            failure, refused = str(error), isinstance(error, RefusedError) and error.final
        except Exception:
            LOG.exception("%s: a call to pod %s failed with an unexpected error", key, endpoint.pod)
            failure = "internal error; see the reconciler's log"
        finally:
            pod.running = False
            loads.running -= 1
        if self._models.get(key) is not loads or loads.pods.get(endpoint.uid) is not pod:
            return
        if loads.wanted != wanted or (not pod.endpoint.callable and not wanted.unload):
            pod.done = pod.clean = False  # the call was for something that is no longer wanted
            if pod.endpoint.callable or loads.wanted.unload:
                loads.pending.setdefault(endpoint.uid)
                self._start(key, loads)
            return
        pod.failure = failure
        if failure:
            self._schedule_retry(key, loads, pod, refused=refused)
        else:
            pod.errors = 0
            pod.done = pod.clean = True
        if (pod.done, pod.clean, pod.failure) != before:
            self._changed(key)

    async def _confirm(self, key: Key, pod: WorkerPod) -> str:
        endpoint = pod.endpoint
        wrong = ""
        if (
            self._stray is not None
            and pod.confirmed != (endpoint.address, endpoint.other)
            and not (wrong := await self._stray(key, endpoint))
        ):
            pod.confirmed = (endpoint.address, endpoint.other)
        return wrong

    def _schedule_retry(self, key: Key, loads: _ModelLoads, pod: WorkerPod, *, refused: bool) -> None:
        most = UNLOAD_RETRY_SECONDS if loads.wanted.unload else REFUSED_RETRY_SECONDS if refused else MAX_RETRY_SECONDS
        pause = min(most, FIRST_RETRY_SECONDS * 2.0 ** min(pod.errors, 20)) * (0.9 + 0.2 * self._chance())
        pod.errors += 1
        pod.wait = self._begin(self._retry_later(key, loads, pod, pause))

    async def _retry_later(self, key: Key, loads: _ModelLoads, pod: WorkerPod, pause: float) -> None:
        await self._sleep(pause)
        pod.wait = None
        if loads.pods.get(pod.endpoint.uid) is pod and (pod.endpoint.callable or loads.wanted.unload):
            loads.pending.setdefault(pod.endpoint.uid)
            self._start(key, loads)


def _stop_waiting(pod: WorkerPod) -> None:
    if pod.wait is not None:
        pod.wait.cancel()
        pod.wait = None
