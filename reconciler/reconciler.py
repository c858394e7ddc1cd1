"""The reconciler: elected, it listens, keeps a queue of what changed, and passes over one object after the other."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from ..api.operator.configuration import OperatorConfiguration
from ..api.operator.controllers import NONE, OFF
from ..api.operator.controllers import Models as ModelSettings
from ..kube.capability import GROVE, Detector, Presence
from ..kube.clocks import LOCAL, Clocks
from ..kube.events import Recorder
from ..kube.lease import Election, Timings
from ..kube.protocol import Cluster, Node
from ..kube.resources import PODS
from .checkpoint.index import Checkpoints
from .common.keys import Key, key_of
from .common.problems import RETRY_SLOW
from .common.resources import GRAPH, MADE, MANAGER, MODEL, OPTIONAL, SECRET, SLICE, WORKER_METADATA
from .engine.cache import EVERY, Cache, is_overwritten, read_intent, route_change
from .engine.cluster_settings import Judge
from .engine.namespaces import Territory
from .engine.queue import Cause, Queue, cause_of
from .engine.switches import SWITCHES, Waits
from .engine.work import Pace, Retries, Work
from .engine.write import Writer
from .graph.ended_pods import SELECTIONS
from .metrics.meters import Gauges, Meters, objects_by_state
from .model.shared import PAUSE, Models, models_by
from .model.worker import Workers
from .pod.controller import PodController
from .request.shared import Gpus, Requests, Scraper
from .worker import PASSES, REDUCED, Worker
from .workload import pull_secrets
from .workload.pods import Reads

LOG: Final = logging.getLogger("reconciler")
TICK: Final = 0.25  # seconds between two looks whether enough is known to begin
GATHER: Final = 0.1  # seconds for which changes of an object's children are gathered before it is passed over once for all
PROGRESS: Final = 0.5  # seconds of the same for their status: a roll-out changes that many times
DETECTION: Final = 30.0  # seconds between two questions for what the cluster can do


class Reconciler:
    """One process's part in keeping workloads as graphs say; it writes only while it leads, and only where the namespace is ours."""

    def __init__(
        self,
        cluster: Cluster,
        settings: OperatorConfiguration,
        identity: str,
        *,
        lease: Timings | None = None,
        clocks: Clocks = LOCAL,
        caller: Callable[[ModelSettings], Workers] = Workers,
        scraper: Callable[[], Scraper] = Scraper,
        policies: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        """`identity` is unique per process start; `caller` gives what calls worker pods, `scraper` what reads metrics of GPUs.

        `policies` gives users' own that are in force now, as JSON.
        """
        self._cluster, self._settings, self._clocks, self._caller = cluster, settings, clocks, caller
        self._scraper = scraper
        self.meters = Meters(settings.server.metrics.namespace_label)
        self.election: Election | None = None
        if name := settings.leader_election.lease:
            self.election = Election(cluster, name, settings.leader_namespace, identity, timings=lease, clocks=clocks)
        self.recorder = Recorder(cluster, MANAGER, clocks=clocks)
        watched = settings.namespace.watched
        self.detector = Detector(cluster, namespace=watched[0], interval=DETECTION, clocks=clocks)
        self.detector.subscribe(self._detected)
        self._judge = Judge(policies)
        self.queue = Queue(clocks)
        self.worker = Worker(self.queue, self.meters, clocks.monotonic)
        self.cache: Cache | None = None
        self.models: Models | None = None
        self.checkpoints = Checkpoints()
        self.pods = PodController(cluster, watched, clocks)
        self.territory = Territory(cluster, settings.namespace.claims, watched, self._all, clocks=clocks)
        self.waiting = "it has not been elected"
        self._acting = False  # whether what changes is put into the queue

    async def run(self) -> None:
        """Runs until it is cancelled, and then releases the Lease. It listens from the start: who stands by can take over at once."""
        cache = self.cache = Cache(self._cluster, self._settings.namespace.watched, self._changed, REDUCED, clocks=self._clocks)
        cache.start()
        pull_secrets.listen(cache, self._settings.secrets.pull, self._settings.pull_secret_namespaces)
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
            await self.pods.close()
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
        queued = {kind: 0 for kind in PASSES if kind != SECRET or opted} | self.queue.waiting()
        standing = Gauges(leading, queued, self.queue.turns, self._settings.reconciler.workers, len(self.territory.excluded), unreadable)
        objects = await objects_by_state(self.cache, self.meters) if leading and self.cache is not None else {}
        return self.meters.text(objects, standing)

    def may_write(self, namespace: str) -> bool:
        """Whether a write there is ours to make."""
        return (self.election is None or self.election.leading) and self.territory.governs(namespace)

    async def _lead(self, cache: Cache) -> None:
        clocks = self._clocks
        if self._settings.controllers.models != OFF:
            self.models = models_by(self._cluster, self._settings.models, self._caller, self._loaded, clocks)
            for obj in (*cache.all(MODEL), *cache.all(SLICE)):
                self.models.heard(None, obj)
        begun = partial(self.queue.add, cause=Cause.BEGUN)
        requests: Requests | None = None
        if self._settings.controllers.requests != OFF:
            gpus = Gpus(self._cluster, self._settings, self._scraper(), begun, clocks.monotonic)
            requests = Requests(self._cluster, self._settings, gpus)
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
            begun,
            Reads(clocks.monotonic),
            Waits(clocks.monotonic),
            self.checkpoints,
            Retries(clocks.monotonic),
            self.models,
            lacking=lambda name: self.detector.denied.get(name, ""),
            requests=requests,
            lasts=self.queue.lasts,
        )
        tasks = [asyncio.ensure_future(self.territory.run()), asyncio.ensure_future(self.pods.run(work))]
        if self.models is not None:
            tasks.append(asyncio.ensure_future(self.models.loader.run()))
        if requests is not None:
            tasks.append(asyncio.ensure_future(requests.gpus.run()))
        self._acting = True
        self._all()
        try:
            await self._ready()
            LOG.info("reconciling %d graphs", len(cache.all(GRAPH)))
            tasks += [asyncio.ensure_future(self.worker.run(work)) for _ in range(self._settings.reconciler.workers)]
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
        waiting = {kind: cache.reflectors[kind].reason or "not asked yet" for kind in sorted(cache.waiting)}
        return "; ".join(f"{kind} is not listed: {reason}" for kind, reason in waiting.items())

    def _changed(self, old: Node | None, new: Node | None, ours: bool) -> None:
        cache, models, changed = self.cache, self.models, new or old
        if cache is None or changed is None:
            return
        mine, concerned = key_of(changed), self.checkpoints.heard(old, new)
        if models is not None and mine.kind in (MODEL, SLICE):
            concerned |= models.heard(old, new)
        if not self._acting:
            return
        for key in concerned:
            self.queue.add(key, GATHER, Cause.BEGUN)
        if self.waiting and old is None and mine.kind not in PASSES:
            return  # while all is listed: its owner is passed over for its own sake
        if mine.kind == SECRET and not self.waiting and pull_secrets.concerns(old, new):
            self._all(mine.namespace)
        if is_overwritten(old, new, ours=ours):
            self.queue.add(mine, RETRY_SLOW, Cause.LOOK)  # not at once: they may answer each of our writes
        for key in route_change(old, new, cache, ours=ours):
            if key == mine:
                self.queue.add(key, cause=cause_of(changed, known=old is not None))
            else:
                self._gather(key, old, new)

    def _gather(self, key: Key, old: Node | None, new: Node | None) -> None:
        """Has an object passed over for what happened to a part of it. While everything is listed there is no hurry, nor use in pauses."""
        if self.waiting:
            self.queue.add(key, cause=Cause.LOOK)
        else:
            told = old is not None and new is not None and read_intent(old) == read_intent(new)  # nothing but its status
            self.queue.add(key, PROGRESS if told else GATHER, Cause.BEGUN)

    def _detected(self, known: Mapping[str, Presence]) -> None:
        """What the cluster can do has changed, hence what is rendered."""
        if self.cache is None:
            return
        self._listen(self.cache, known)
        if self._acting:
            self._all()

    def _listen(self, cache: Cache, known: Mapping[str, Presence]) -> None:
        cache.also(WORKER_METADATA, EVERY)
        self.pods.listen(known)
        for name, resource in OPTIONAL.items():
            if known[name] is Presence.USABLE:
                cache.also(resource)
                for made, labels in MADE.get(name, ()):
                    cache.also(made, (labels, ""))
        if known[GROVE.name] is Presence.USABLE:
            cache.also(PODS, *SELECTIONS)
        for switch in SWITCHES.values():
            if switch.is_on(self._settings.controllers, known):
                cache.also(switch.watched[0], (switch.watched[1], ""))

    def _loaded(self, key: Key) -> None:
        """Calls to pods of a model ended: its status is written now and then while more are under way."""
        busy = self.models is not None and self.models.loader.busy(key)
        self.queue.add(key, PAUSE if busy else 0.0, Cause.BEGUN)

    def _all(self, namespace: str = "") -> None:
        for kind in PASSES:
            for obj in self.cache.all(kind, namespace) if self.cache is not None else ():
                self.queue.add(key_of(obj), cause=cause_of(obj, known=False))
