"""Provisioner and reconciler as processes that run until they are stopped: probes, metrics, a connection, an orderly end.

Over TLS their metrics are served with a pair made in memory, as the Go operator's is, since no authority is published for them: it encrypts
a token, and proves nothing about the server. A scraper has to skip verification.
"""

import asyncio
import contextlib
import gc
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol

from prometheus_client import ProcessCollector

from ...certs.authority import issue_leaf, make_authority
from ...certs.context import Offer, ReloadingContext
from ...certs.files import local_names
from ...kube.client import Client, connect
from ...kube.config import ConfigError, find_replica_name
from ...kube.lease import Election
from ...kube.metrics import COUNTER, GAUGE, MetricSpec, Values, export
from ...kube.protocol import Cluster, Traffic
from ...webhooks.cluster.reviews import AccessReviewer
from ...webhooks.limits import Limits
from ...webhooks.metrics import CLIENT, DECLARED, OWN
from ...webhooks.probes import MetricsAccess, Probes
from ...webhooks.reload import Reload
from ..console.output import write_stderr
from ..console.signals import on_first_signal

LEADING: Final = MetricSpec("leader_election_master_status", GAUGE, "1 if this process holds the Lease of that name", ("name",))
REFUSED: Final = DECLARED[f"{OWN}metrics_access_denied"]
REQUESTS: Final = DECLARED[CLIENT]
# `process_*` come from the client library, only on Linux
PROCESS_METRICS: Final = (
    LEADING,
    REFUSED,
    REQUESTS,
    MetricSpec("process_cpu_seconds", COUNTER, "CPU time"),
    MetricSpec("process_resident_memory_bytes", GAUGE, "Resident memory"),
    MetricSpec("process_virtual_memory_bytes", GAUGE, "Virtual memory"),
    MetricSpec("process_start_time_seconds", GAUGE, "Start of the process, as Unix time"),
    MetricSpec("process_open_fds", GAUGE, "Open file descriptors"),
    MetricSpec("process_max_fds", GAUGE, "Maximum of open file descriptors"),
)
PAIR_LIFETIME: Final = timedelta(days=365)
PAIR_RENEWAL_AGE: Final = timedelta(days=240)
CONNECT_PAUSE_SECONDS: Final = 10.0  # before the address of the API server is looked for again
_GC: Final = (50_000, 20, 50)  # usual thresholds walk through all that is cached again and again
MAX_LISTING_SECONDS: Final = 60.0  # in which all is listed, mostly
_POLL_SECONDS: Final = 0.5


def read_process_metrics(election: Election | None, refused: int, traffic: Traffic) -> bytes:
    """The metrics of a process in the Prometheus text format; without an `election` there is no Lease."""
    metrics: list[tuple[MetricSpec, Values]] = [(REFUSED, {(): refused}), (REQUESTS, traffic)]
    if election is not None:
        metrics.insert(0, (LEADING, {(election.name,): election.leading}))
    return export(metrics, ProcessCollector(registry=None))


class SelfSignedPair:
    """A source of pairs that makes them itself; no key is ever written to a file that stays."""

    def __init__(self, names: tuple[str, ...], clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._names, self._clock = names, clock
        self._pair: tuple[datetime, Offer] | None = None

    def offer(self) -> Offer:
        """The pair to serve now."""
        now = self._clock()
        if self._pair is None or not timedelta() <= now - self._pair[0] < PAIR_RENEWAL_AGE:
            authority = make_authority(now, life=PAIR_LIFETIME)
            leaf = issue_leaf(authority, self._names, now, life=PAIR_LIFETIME)
            self._pair = now, Offer(leaf.certificate, leaf.key, authority.certificate, source="own")
        return self._pair[1]


class MetricsGuard:
    """Guards the metrics of one process."""

    def __init__(self) -> None:
        """Refuses all readers until a cluster can be asked."""
        self._desk = AccessReviewer(lambda _report: None)
        self.refused = 0
        self.context = ReloadingContext(SelfSignedPair(local_names(find_replica_name())))
        self.gate = MetricsAccess(self._desk.ask, self._count)

    def use(self, cluster: Cluster) -> None:
        """From now on `cluster` is asked."""
        self._desk.cluster = cluster

    def _count(self) -> None:
        self.refused += 1


class MainTask(Protocol):
    """The main task of the process: a provisioner or a reconciler."""

    @property
    def election(self) -> Election | None:
        """Leader election; None for a process that needs none."""

    async def run(self) -> None:
        """Works until it is cancelled."""

    async def reasons(self) -> list[str]:
        """Returns why the part is neither active nor standby; empty when it is."""

    async def details(self) -> list[str]:
        """Lines for people."""

    async def metrics(self) -> bytes:
        """Its metrics in the Prometheus text format."""


class SideListeners(NamedTuple):
    """Listeners beside the main task."""

    probes: socket.socket  # bound
    metrics: socket.socket  # the same one when both are served at one address
    secure: bool = False  # metrics over TLS, and only to those whom the API server lets
    policies: Reload | None = None  # of users' own


class ProcessState:
    """State for probes and metrics, also before there is a connection."""

    def __init__(self, name: str, guard: MetricsGuard | None) -> None:
        """`name` is that of the readiness check."""
        self._name, self._guard = name, guard
        self.part: MainTask | None = None
        self.traffic: Traffic = Counter()
        self.reason = f"the {name} has not started yet"

    async def checks(self) -> dict[str, list[str]]:
        """One check: an active or standby process is ready."""
        return {self._name: await self.part.reasons() if self.part else [self.reason]}

    async def details(self) -> list[str]:
        """Lines for people."""
        return await self.part.details() if self.part else [f"waiting: {self.reason}"]

    async def metrics(self) -> bytes:
        """All metrics; before there is a connection those of the process alone."""
        refused = self._guard.refused if self._guard is not None else 0
        own = await self.part.metrics() if self.part else b""
        return own + read_process_metrics(self.part.election if self.part else None, refused, self.traffic)


async def run_daemon(name: str, component: str, kubeconfig: str, make: Callable[[Client], MainTask], side: SideListeners) -> None:
    """Serves probes and metrics, and runs the part, until SIGTERM or SIGINT; `component` names it in the User-Agent of requests."""
    gc.set_threshold(*_GC)
    guard = MetricsGuard() if side.secure else None
    state = ProcessState(name, guard)

    async def work() -> None:
        client = await _connected(component, kubeconfig, state)
        if guard is not None:
            guard.use(client)
        try:
            state.part = make(client)
            await state.part.run()
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await client.close()

    listener = Probes(state)
    listener.serve(side.probes, side.metrics, *((guard.context, guard.gate) if guard is not None else ()))
    beside = [asyncio.ensure_future(_uncollected(state))]
    if side.policies is not None:
        beside.append(asyncio.ensure_future(side.policies.run(Limits().poll_seconds)))
    try:
        await _until_stopped(work())
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await listener.close()


async def _uncollected(state: ProcessState) -> None:
    """Disables the garbage collector until all objects are listed, and excludes these: millions of maps and lists without a cycle.

    Up to a fifth of the time that lists of large clusters take. At most `MAX_LISTING_SECONDS` long, as others make cycles meanwhile.
    """
    gc.disable()
    try:
        for _ in range(int(MAX_LISTING_SECONDS / _POLL_SECONDS)):
            await asyncio.sleep(_POLL_SECONDS)
            if state.part is not None and not await state.part.reasons():
                return
    finally:
        gc.freeze()
        gc.enable()


async def _until_stopped(work: Coroutine[None, None, None]) -> None:
    """Does the work until SIGTERM or SIGINT; the work is then cancelled, and ends as it will."""
    stopped = asyncio.Event()
    on_first_signal(stopped.set)
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def _connected(component: str, kubeconfig: str, state: ProcessState) -> Client:
    """Returns a client once the address of the API server is known; until then, `state.reason` names the missing part."""
    while True:
        try:
            return await connect(component, kubeconfig, traffic=state.traffic)
        except ConfigError as error:
            if str(error) != state.reason:
                write_stderr(f"no API server yet: {error}")
            state.reason = str(error)
            await asyncio.sleep(CONNECT_PAUSE_SECONDS)


def make_identity() -> str:
    """Returns an identity that is unique per process start."""
    return f"{find_replica_name()}_{secrets.token_hex(4)}"
