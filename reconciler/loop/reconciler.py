"""The reconciler: elected, it listens, keeps a queue of what changed, and passes over one object after the other."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.operator.settings import NONE, OFF
from dynamo_webhooks.kube.capability import Detector, Presence
from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.kube.events import Recorder
from dynamo_webhooks.kube.lease import Election
from dynamo_webhooks.kube.times import now as local_now
from dynamo_webhooks.reconciler.loop import component, graph, pull_secrets
from dynamo_webhooks.reconciler.loop.adapter import reconcile_adapter
from dynamo_webhooks.reconciler.loop.cache import Cache
from dynamo_webhooks.reconciler.loop.causes import Cause, cause_of
from dynamo_webhooks.reconciler.loop.checkpoints import Checkpoints
from dynamo_webhooks.reconciler.loop.gpus import Gpus, HttpScraper
from dynamo_webhooks.reconciler.loop.judge import Judge
from dynamo_webhooks.reconciler.loop.keys import Key, key_of
from dynamo_webhooks.reconciler.loop.kinds import ADAPTER, COMPONENT, GRAPH, MADE, MODEL, OPTED, OPTIONAL, SECRET, SLICE
from dynamo_webhooks.reconciler.loop.marks import MANAGER
from dynamo_webhooks.reconciler.loop.meters import Gauges, Meters
from dynamo_webhooks.reconciler.loop.models import PAUSE, Models, models_by
from dynamo_webhooks.reconciler.loop.object_counts import objects_by_state
from dynamo_webhooks.reconciler.loop.pace import Pace
from dynamo_webhooks.reconciler.loop.pod_reasons import Reads
from dynamo_webhooks.reconciler.loop.problems import StandDownError, joined, of_error
from dynamo_webhooks.reconciler.loop.queue import Queue
from dynamo_webhooks.reconciler.loop.requests import Requests
from dynamo_webhooks.reconciler.loop.route import is_overwritten, meant, routed
from dynamo_webhooks.reconciler.loop.switched import SWITCHED, attend
from dynamo_webhooks.reconciler.loop.territory import Territory
from dynamo_webhooks.reconciler.loop.unattended import Waits
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult, Work
from dynamo_webhooks.reconciler.loop.write import Writer
from dynamo_webhooks.reconciler.model.worker import Workers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.kube.lease import Timings
    from dynamo_webhooks.kube.protocol import Cluster, Node
    from dynamo_webhooks.reconciler.loop.gpus import Scraper
    from dynamo_webhooks.reconciler.model.worker import Caller, Patience

LOG: Final = logging.getLogger("reconciler")
TICK: Final = 0.25  # seconds between two looks whether enough is known to begin
GATHER: Final = 0.1  # seconds for which changes of an object's children are gathered before it is passed over once for all
PROGRESS: Final = 0.5  # seconds of the same for their status: a roll-out changes that many times
DETECTION: Final = 30.0  # seconds between two questions for what the cluster can do
_PASSES: Final = {
    GRAPH: graph.reconcile_graph,
    COMPONENT: component.reconcile_component,
    ADAPTER: reconcile_adapter,
    **dict.fromkeys((each.kind for each in OPTED), attend),
    SECRET: pull_secrets.tell_unreadable,
}
_TOLD: Final = {GRAPH: graph.tell_failed, COMPONENT: component.tell_failed}  # what ended a pass is told of where it lasts


@dataclass(frozen=True, slots=True)
class Clocks:
    """What tells the time; tests bring their own."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], datetime] = local_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


class Reconciler:
    """One process's part in keeping workloads as graphs say; it writes only while it leads, and only where the namespace is ours."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ReconcilerSettings,
        identity: str,
        *,
        lease: Timings | None = None,
        clocks: Clocks | None = None,
        caller: Callable[[Patience], Caller] = Workers,
        scraper: Callable[[], Scraper] = HttpScraper,
    ) -> None:
        """`identity` is unique per process start; `caller` gives what calls worker pods, `scraper` what reads metrics of GPUs."""
        self._cluster, self._settings, self._clocks, self._caller = cluster, settings, clocks or Clocks(), caller
        self._scraper = scraper
        clock, now, sleep, chance = self._clocks.monotonic, self._clocks.wall, self._clocks.sleep, self._clocks.chance
        self.meters = Meters(settings.metrics_namespaces)
        self.election: Election | None = None
        if settings.leader_lease:
            self.election = Election(
                cluster, settings.leader_lease, settings.leader_namespace, identity, timings=lease, clock=clock, now=now, sleep=sleep
            )
        self.recorder = Recorder(cluster, MANAGER, clock=clock, now=now)
        self.detector = Detector(cluster, namespace=settings.namespaces[0], interval=DETECTION, clock=clock, sleep=sleep, chance=chance)
        self.detector.subscribe(self._detected)
        self._judge = Judge()
        self.queue = Queue(clock=clock, sleep=sleep, chance=chance)
        self.cache: Cache | None = None
        self.models: Models | None = None
        self.checkpoints = Checkpoints()
        self.territory = Territory(
            cluster, settings.scope, settings.namespaces, self._all, clock=clock, wall=now, sleep=sleep, chance=chance
        )
        self.waiting = "it has not been elected"
        self._acting = False  # whether what changes is put into the queue

    async def run(self) -> None:
        """Runs until it is cancelled, and then releases the Lease. It listens from the start: who stands by can take over at once."""
        clocks = self._clocks
        cache = self.cache = Cache(
            self._cluster, self._settings.namespaces, self._changed, clock=clocks.monotonic, sleep=clocks.sleep, chance=clocks.chance
        )
        cache.start()
        pull_secrets.listen(cache, self._settings.secrets)
        self._listen(cache, self.detector.known)
        detecting = asyncio.ensure_future(self.detector.run())
        try:
            if self.election is not None:
                await self.election.run(partial(self._lead, cache))
            else:
                await self._lead(cache)
        finally:
            detecting.cancel()
            await asyncio.gather(detecting, return_exceptions=True)
            await cache.close()

    async def reasons(self) -> list[str]:
        """Why it neither reconciles nor stands by; a reconciler serves nobody, but a roll-out waits for this."""
        if self.election is not None and self.election.unknown:
            return [f"it is not known who leads: {self.election.unknown}"]
        leading = self.election is None or self.election.leading
        lacking = self.waiting if leading else self._unknown()
        return [lacking] if lacking else []

    async def details(self) -> list[str]:
        """For people: what it is doing, and what it can't read."""
        if self.waiting:
            return [f"waiting: {self.waiting}"]
        lacking = self.cache.lacking() if self.cache is not None else {}
        return [f"{len(self.queue)} objects wait", *(f"{kind} can't be read: {reason}" for kind, reason in lacking.items())]

    async def metrics(self) -> bytes:
        """For the metrics endpoint."""
        leading = self.election is None or self.election.leading
        unreadable = len(self.cache.unreadable()) if self.cache is not None else 0
        opted = self._settings.secrets.pull != NONE
        queued = {kind: 0 for kind in _PASSES if kind != SECRET or opted} | self.queue.waiting()
        standing = Gauges(leading, queued, self.queue.turns, self._settings.workers, len(self.territory.excluded), unreadable)
        objects = await objects_by_state(self.cache, self.meters) if leading and self.cache is not None else {}
        return self.meters.text(objects, standing)

    def may_write(self, namespace: str) -> bool:
        """Whether a write there is ours to make."""
        return (self.election is None or self.election.leading) and self.territory.governs(namespace)

    async def _lead(self, cache: Cache) -> None:
        clocks = self._clocks
        if self._settings.controllers.get("models") != OFF:
            self.models = models_by(self._settings.models, self._caller, self._loaded, clocks.monotonic, clocks.sleep, clocks.chance)
            for obj in (*cache.all(MODEL), *cache.all(SLICE)):
                self.models.heard(None, obj)
        writer = Writer(self._cluster, cache, self.may_write, clocks.monotonic)
        work = Work(
            self._cluster,
            cache,
            writer,
            self.recorder,
            self._settings,
            self._judge,
            self.may_write,
            lambda: self.detector.known,
            clocks.wall,
            Pace(clocks.monotonic),
            partial(self.queue.add, cause=Cause.BEGUN),
            Reads(clocks.monotonic),
            Waits(clocks.monotonic),
            self.checkpoints,
            self.models,
            lacking=lambda name: self.detector.denied.get(name, ""),
            requests=self._requests(),
            lasts=self.queue.lasts,
        )
        tasks = [asyncio.ensure_future(self.territory.run())]
        if self.models is not None:
            tasks.append(asyncio.ensure_future(self.models.loader.run()))
        if work.requests is not None:
            tasks.append(asyncio.ensure_future(work.requests.gpus.run()))
        self._acting = True
        self._all()
        try:
            await self._ready()
            LOG.info("reconciling %d graphs", len(cache.all(GRAPH)))
            tasks += [asyncio.ensure_future(self._work(work)) for _ in range(self._settings.workers)]
            await asyncio.gather(*tasks)
        finally:
            self.waiting, self._acting = "it does not lead", False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self.models is not None:
                await self.models.loader.close()
                self.models = None
            await self.queue.close()
            self.queue.clear()

    def _requests(self) -> Requests | None:
        if self._settings.controllers.get("requests") == OFF:
            return None
        told = partial(self.queue.add, cause=Cause.BEGUN)
        gpus = Gpus(self._cluster, self._settings, self._scraper(), told, self._clocks.monotonic)
        return Requests(self._cluster, self._settings, gpus)

    async def _ready(self) -> None:
        """Waits until enough is known to decide anything; says what it waits for."""
        while True:
            self.waiting = self._unknown()
            if not self.waiting and not self.territory.known:
                self.waiting = f"which namespaces other operators claim is not known: {self.territory.reason or 'not asked yet'}"
            if not self.waiting:
                return
            await self._clocks.sleep(TICK)

    def _unknown(self) -> str:
        """What must be known of the cluster to act, and isn't; empty when all is."""
        cache = self.cache
        if cache is None or self.detector.stale_seconds() is None:
            return f"what the cluster serves is not known: {self.detector.reason or 'not asked yet'}"
        return "; ".join(f"{kind} is not listed: {cache.why(kind) or 'not asked yet'}" for kind in sorted(cache.waiting))

    async def _work(self, work: Work) -> None:
        while True:
            await asyncio.sleep(0)  # a pass that has nothing to write waits for nobody: watches, Leases and probes must have their turn
            key = await self.queue.get()
            began = self._clocks.monotonic()
            result = "success"
            try:
                outcome = await self._pass(work, key)
                result = self._settle(key, outcome)
            except asyncio.CancelledError:
                raise
            except StandDownError:
                self.meters.stood_down += 1
                self.queue.done(key)
            except ApiError as error:
                result = self._again(key, PassResult((of_error(error, str(key)),)))
            except Exception:
                LOG.exception("a pass over %s failed with an unexpected error", key)
                self.meters.errors[self.meters.label(key.kind, "internal", key.namespace)] += 1
                self.meters.panics[key.kind] += 1
                self.queue.failed(key)
                result = "error"
            self.meters.passed(self.meters.label(key.kind, result, key.namespace), self._clocks.monotonic() - began)

    async def _pass(self, work: Work, key: Key) -> PassResult:
        obj = work.cache.get(key)
        if obj is None:
            return PassResult()
        if not self.may_write(key.namespace):
            raise StandDownError(key.namespace)
        try:
            return await _PASSES[key.kind](work, obj)
        except ApiError as error:
            problem, goes = of_error(error, str(key)), obj["metadata"].get("deletionTimestamp")
            if key.kind not in _TOLD or goes or (problem.passing and not self.queue.lasts(key)):
                raise
            return await _TOLD[key.kind](work, work.cache.get(key) or obj, problem)

    def _settle(self, key: Key, outcome: PassResult) -> str:
        if not outcome.problems:
            self.queue.done(key, outcome.after)
            return "requeue" if outcome.after else "success"
        if outcome.passing:
            return self._again(key, outcome)
        self._count(key, outcome)
        self.meters.terminal[key.kind] += 1
        self.queue.done(key, outcome.after)
        return "error"

    def _again(self, key: Key, outcome: PassResult) -> str:
        self._count(key, outcome)
        pause = self.queue.failed(key)
        LOG.warning("%s: %s; again in %.1f s", key, joined([*outcome.problems]), pause)
        return "error"

    def _count(self, key: Key, outcome: PassResult) -> None:
        for category in {problem.category for problem in outcome.problems}:
            self.meters.errors[self.meters.label(key.kind, category, key.namespace)] += 1

    def _changed(self, old: Node | None, new: Node | None, ours: bool) -> None:
        cache = self.cache
        if cache is not None:
            changed = new or old
            if changed is not None and changed["kind"] in (MODEL, SLICE) and self.models is not None:
                for key in self.models.heard(old, new):
                    self.queue.add(key, GATHER, Cause.BEGUN)
            concerned = self.checkpoints.heard(old, new)
            if not self._acting:
                return
            for key in concerned:
                self.queue.add(key, GATHER, Cause.BEGUN)
            if self.waiting and old is None and changed is not None and changed["kind"] not in _PASSES:
                return  # while all is listed: its owner is passed over for its own sake
            if changed is not None and changed["kind"] == SECRET and not self.waiting and pull_secrets.concerns(old, new):
                self._all(key_of(changed).namespace)
            if changed is not None and is_overwritten(old, new, ours=ours):
                self.queue.add(key_of(changed), SLOWLY, Cause.LOOK)  # not at once: they may answer each of our writes
            for key in routed(old, new, cache, ours=ours):
                if changed is not None and key_of(changed) == key:
                    self.queue.add(key, cause=cause_of(changed, known=old is not None))
                else:
                    self._gather(key, old, new)

    def _gather(self, key: Key, old: Node | None, new: Node | None) -> None:
        """Has an object passed over for what happened to a part of it. While everything is listed there is no hurry, nor use in pauses."""
        if self.waiting:
            self.queue.add(key, cause=Cause.LOOK)
        else:
            told = old is not None and new is not None and meant(old) == meant(new)  # nothing but its status
            self.queue.add(key, PROGRESS if told else GATHER, Cause.BEGUN)

    def _detected(self, known: Mapping[str, Presence]) -> None:
        """What the cluster can do has changed, hence what is rendered."""
        if self.cache is None:
            return
        self._listen(self.cache, known)
        if self._acting:
            self._all()

    def _listen(self, cache: Cache, known: Mapping[str, Presence]) -> None:
        for name, resource in OPTIONAL.items():
            if known[name] is Presence.USABLE:
                cache.also(resource)
                for made, labels in MADE.get(name, ()):
                    cache.also(made, labels)
        for each in SWITCHED:
            if each.runs(self._settings.controllers, known):
                for watched, labels in each.watched:
                    cache.also(watched, labels)

    def _loaded(self, key: Key) -> None:
        """Calls to pods of a model ended: its status is written now and then while more are under way."""
        busy = self.models is not None and self.models.loader.busy(key)
        self.queue.add(key, PAUSE if busy else 0.0, Cause.BEGUN)

    def _all(self, namespace: str = "") -> None:
        for kind in _PASSES:
            for obj in self.cache.all(kind, namespace) if self.cache is not None else ():
                self.queue.add(key_of(obj), cause=cause_of(obj, known=False))
