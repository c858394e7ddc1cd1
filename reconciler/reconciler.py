"""The reconciler: it watches from the start and, while elected, queues changed objects and reconciles one after the other."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from ..api.operator.configuration import OperatorConfiguration
from ..kube.capability import Detector
from ..kube.clocks import LOCAL, Clocks
from ..kube.events import Recorder
from ..kube.lease import Election, Timings
from ..kube.protocol import Cluster
from .common.keys import Key, key_of
from .common.problems import SLOW_RETRY_SECONDS
from .common.resources import GRAPH, MANAGER
from .controllers import CONTROLLERS
from .engine.cache import Cache
from .engine.context import Context
from .engine.controller import Controller
from .engine.judge import Judge
from .engine.namespaces import WatchedNamespaces
from .engine.queue import Cause, Queue, cause_of
from .engine.reads import PodReadLimiter
from .engine.retries import Retries
from .engine.routing import is_overwritten, route_change
from .engine.watch import GATHER_SECONDS, Change, Known, Watch, read_intent
from .engine.write import Writer
from .metrics.meters import Gauges, Meters, count_objects
from .pod.controller import PodController
from .worker import Worker

LOG: Final = logging.getLogger("reconciler")
TICK_SECONDS: Final = 0.25  # seconds between two checks whether enough is known to begin
DETECTION_SECONDS: Final = 30.0  # seconds between two detections of the cluster's capabilities


class Reconciler:
    """One process's part in keeping workloads as graphs declare. It writes only while it leads, and only in namespaces that it governs."""

    def __init__(
        self,
        cluster: Cluster,
        settings: OperatorConfiguration,
        identity: str,
        *,
        lease: Timings | None = None,
        clocks: Clocks = LOCAL,
        controllers: Iterable[Controller] = (),
        policies: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        """`identity` is unique per process start; `controllers` replace those of the same kinds.

        `policies` returns the users' own policies that are in force now, as JSON.
        """
        self._cluster, self._settings, self._clocks = cluster, settings, clocks
        made = (*(make() for make in CONTROLLERS), *controllers)
        self.controllers = {each.kind: each for each in made}
        self.meters = Meters(settings.server.metrics.namespace_label)
        self.election: Election | None = None
        if name := settings.leader_election.lease:
            self.election = Election(cluster, name, settings.leader_namespace, identity, timings=lease, clocks=clocks)
        self.recorder = Recorder(cluster, MANAGER, clocks=clocks)
        watched = settings.namespace.watched
        self.detector = Detector(cluster, namespace=watched[0], interval=DETECTION_SECONDS, clocks=clocks)
        self.detector.subscribe(self._on_detected)
        self._judge = Judge(policies)
        self.queue = Queue(clocks)
        self.worker = Worker(self.queue, self.meters, self.controllers, clocks.monotonic)
        self.cache: Cache | None = None
        self.pods = PodController(cluster, watched, clocks)
        self.namespaces = WatchedNamespaces(cluster, settings.namespace.claims, watched, self._requeue_all, clocks=clocks)
        self.waiting = "it has not been elected"
        self._acting = False  # whether changed objects are queued

    async def run(self) -> None:
        """Runs until it is cancelled, and then releases the Lease. It watches from the start, so that a standby can take over at once."""
        cache = self.cache = Cache(self._cluster, self._on_change, clocks=self._clocks)
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
        """Lists why it neither reconciles nor waits as a standby. It serves no clients, but a roll-out waits until this list is empty."""
        if self.election is not None and self.election.unknown:
            return [f"it is not known who leads: {self.election.unknown}"]
        leading = self.election is None or self.election.leading
        lacking = self.waiting if leading else self._explain_unknown()
        return [lacking] if lacking else []

    async def details(self) -> list[str]:
        """Describes its work for people: why it waits, or how many objects are queued and which kinds can't be read."""
        if self.waiting:
            return [f"waiting: {self.waiting}"]
        lacking = self.cache.unavailable() if self.cache is not None else {}
        return [f"{len(self.queue)} objects wait", *(f"{kind} can't be read: {reason}" for kind, reason in lacking.items())]

    async def metrics(self) -> bytes:
        """Exports the text for the metrics endpoint."""
        leading = self.election is None or self.election.leading
        unreadable = len(self.cache.unreadable()) if self.cache is not None else 0
        queued = {kind: 0 for kind in self.controllers if self.cache is None or kind in self.cache.reflectors} | self.queue.waiting()
        gauges = Gauges(leading, queued, self.queue.turns, self._settings.reconciler.workers, len(self.namespaces.excluded), unreadable)
        objects = await count_objects(self.cache.all, self.meters) if leading and self.cache is not None else {}
        return self.meters.export_text(objects, gauges)

    def may_write(self, namespace: str) -> bool:
        """Whether this process may write in a namespace."""
        return (self.election is None or self.election.leading) and self.namespaces.governs(namespace)

    async def _lead(self, cache: Cache) -> None:
        clocks, clock = self._clocks, self._clocks.monotonic
        context = Context(
            cluster=self._cluster,
            cache=cache,
            writer=Writer(self._cluster, cache, self.may_write, clock, partial(self.queue.add, cause=Cause.IN_PROGRESS)),
            recorder=self.recorder,
            clocks=clocks,
            settings=self._settings,
            detector=self.detector,
            judge=self._judge,
            queue=self.queue,
            reads=PodReadLimiter(clock),
            retries=Retries(clock),
        )
        running = (self.namespaces.run(), self.pods.run(context), *(each.run(context) for each in self.controllers.values()))
        tasks = [asyncio.ensure_future(coroutine) for coroutine in running]
        self._acting = True
        self._requeue_all()
        try:
            await self._ready()
            LOG.info("reconciling %d graphs", len(cache.all(GRAPH)))
            tasks += [asyncio.ensure_future(self.worker.run(context)) for _ in range(self._settings.reconciler.workers)]
            await asyncio.gather(*tasks)
        finally:
            self.waiting, self._acting = "it does not lead", False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.queue.close()
            self.queue.clear()

    async def _ready(self) -> None:
        """Waits until enough is known to decide anything; `waiting` names the missing facts."""
        while True:
            self.waiting = self._explain_unknown()
            if not self.waiting and not self.namespaces.known:
                self.waiting = f"which namespaces other operators claim is not known: {self.namespaces.reason or 'not asked yet'}"
            if not self.waiting:
                return
            await self._clocks.sleep(TICK_SECONDS)

    def _explain_unknown(self) -> str:
        """Names the facts of the cluster that are needed to act and aren't known; empty when all are."""
        cache = self.cache
        if cache is None or self.detector.stale_seconds() is None:
            return f"what the cluster serves is not known: {self.detector.reason or 'not asked yet'}"
        waiting = {kind: cache.reflectors[kind].reason or "not asked yet" for kind in sorted(cache.unsynced)}
        return "; ".join(f"{kind} is not listed: {reason}" for kind, reason in waiting.items())

    def _on_change(self, change: Change) -> None:
        if not self._acting or self.cache is None:
            return
        mine = change.key
        if self.waiting and change.old is None:  # during the first lists, an object queues only itself
            if mine.kind in self.controllers:
                self.queue.add(mine, cause=cause_of(change.obj, known=False))
            return
        if is_overwritten(change, self.controllers):
            self.queue.add(mine, SLOW_RETRY_SECONDS, Cause.RESYNC)  # not at once: the other writer may answer each write of this process
        for key in route_change(change, self.cache, self.controllers):
            if key == mine:
                self.queue.add(key, cause=cause_of(change.obj, known=change.old is not None))
            else:
                self._gather(key, change, self.cache.watches[mine.kind])

    def _gather(self, key: Key, change: Change, watch: Watch) -> None:
        """Queues an object because another one changed. During the first lists this isn't urgent, and pauses are of no use."""
        if self.waiting:
            self.queue.add(key, cause=Cause.RESYNC)
        else:
            reported = change.exists and not change.differs(read_intent)  # only its status changed
            self.queue.add(key, watch.pause if reported else GATHER_SECONDS, watch.cause)

    def _on_detected(self, known: Known) -> None:
        """Adapts the watches to changed capabilities of the cluster; while acting, requeues all objects, as they may render otherwise."""
        if self.cache is None:
            return
        self._listen(self.cache, known)
        if self._acting:
            self._requeue_all()

    def _listen(self, cache: Cache, known: Known) -> None:
        self.pods.listen(known)
        cache.listen([watch for each in self.controllers.values() for watch in each.watches], self._settings, known)

    def _requeue_all(self, namespace: str = "") -> None:
        for kind in self.controllers:
            for obj in self.cache.all(kind, namespace) if self.cache is not None else ():
                self.queue.add(key_of(obj), cause=cause_of(obj, known=False))
