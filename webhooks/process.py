"""One serving process: loop, signals, log and the webhook server in it, for a lone process and for a worker alike."""

from __future__ import annotations

import asyncio
import gc
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import uvloop

from dynamo_webhooks.api.operator.settings import Logs
from dynamo_webhooks.certs.clients import ClientTrust
from dynamo_webhooks.certs.context import ReloadingContext
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks import logs, metrics
from dynamo_webhooks.webhooks.certificate_source import CertificateSource, SecretNames
from dynamo_webhooks.webhooks.cluster.feed import Feed
from dynamo_webhooks.webhooks.executor.executor import Executor
from dynamo_webhooks.webhooks.forked import SIGNALS
from dynamo_webhooks.webhooks.handshake import Handshake
from dynamo_webhooks.webhooks.log_level import LevelFile, LevelSource
from dynamo_webhooks.webhooks.logs import Lines
from dynamo_webhooks.webhooks.metrics_access import MetricsAccess
from dynamo_webhooks.webhooks.probes import METRICS, PROBES, Probes
from dynamo_webhooks.webhooks.server import Webhooks, self_check

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from dynamo_webhooks.admission.pipeline import Settings
    from dynamo_webhooks.certs.context import Pairs
    from dynamo_webhooks.webhooks.limits import Limits
    from dynamo_webhooks.webhooks.meters import Meter

SAME_SECONDS: Final = 0.2
LOOK_SECONDS: Final = 0.1  # between two looks while waiting to be ready
AT_ONCE: Final = 130  # exit code after a second signal
# Objects of a request are freed by reference counting; only connections make cycles, so the collector may run rarely.
GC_THRESHOLD: Final = (50_000, 20, 50)


class Plan(NamedTuple):
    """What a serving process is to do."""

    settings: Settings
    directory: Path  # of tls.crt and tls.key
    limits: Limits
    lag: float  # seconds from not ready to not accepting, for endpoints to be updated
    orders: dict[str, Any] | None = None  # for the process that watches the cluster; None: there is none
    logs: Logs = Logs("info", console=False)
    secret_names: SecretNames | None = None  # how the cluster delivers certificates; None: only the directory
    level: LevelSource | None = None  # source of the log level while the server runs; None: fixed
    callers: tuple[Path, tuple[str, ...]] | None = None  # the file of client authorities, and the names of callers; None: all may call

    @property
    def server_name(self) -> str:
        """What the certificate must name; empty when nothing is known of that."""
        return self.secret_names.server_name if self.secret_names is not None else ""

    def context(self, pairs: Pairs | None) -> ReloadingContext:
        """The TLS context of a serving process; without `pairs` the directory's are served."""
        return ReloadingContext(pairs or self.directory, clients=ClientTrust(*self.callers) if self.callers is not None else None)

    def certificate_source(self) -> CertificateSource | None:
        """What brings the pair, if the cluster delivers any."""
        return CertificateSource(self.secret_names, self.directory) if self.secret_names is not None else None


class SideListeners(NamedTuple):
    """Bound sockets of the side listeners; the same one when both are to be served at one address."""

    probes: socket.socket
    metrics: socket.socket
    directory: Path | None = None  # of the pair with which metrics are served; None: plain HTTP

    async def serve(self, probes: Probes, source: CertificateSource | None, access: MetricsAccess | None) -> None:
        """Starts to listen on both; the source's pair is used before the directory's. Over TLS, `access` decides who reads metrics."""
        loop = asyncio.get_running_loop()
        if self.probes is self.metrics:
            await probes.listen(loop, self.probes, PROBES | METRICS)
        else:
            await probes.listen(loop, self.probes, PROBES)
            context = ReloadingContext(source or self.directory) if self.directory else None
            await probes.listen(loop, self.metrics, METRICS, context, access if context is not None else None)


class SingleProcess:
    """The state of a lone process, for its probes."""

    def __init__(self, server: Webhooks, feed: Feed | None, source: CertificateSource | None, handshake: Handshake) -> None:
        """Speaks of one server, and of its view of the cluster if it has one."""
        self._server, self._feed, self._source, self._handshake = server, feed, source, handshake

    async def checks(self) -> dict[str, list[str]]:
        """Why the server is not ready; a handshake is tried when nothing else is wrong."""
        found = {"server": self._server.reasons(), "facts": self._feed.reasons() if self._feed is not None else []}
        return {**found, "handshake": [] if any(found.values()) else await self._handshake.reasons(self._server.certificate.bundle)}

    async def details(self) -> list[str]:
        """What is served."""
        return [*details(**self._server.certificate.report(), source=self._source), *degraded(self._feed)]

    async def metrics(self) -> bytes:
        """The server's metrics."""
        gauges = {**self._server.gauges(), **ready_gauge(await self.checks()), **(self._feed.gauges() if self._feed is not None else {})}
        traffic = self._feed.traffic() if self._feed is not None else {}
        return metrics.export(self._server.snapshot(), gauges, self._server.certificate.report()["certificate"], traffic)


def run(main: Coroutine[None, None, None]) -> None:
    """Runs a serving process to its end on the fast loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


def serve_alone(plan: Plan, sockets: list[socket.socket], plain: SideListeners, ready: Callable[[], None]) -> None:
    """Serve in this process until a signal; `ready` is called once when the server is ready."""
    self_check(plan.settings)  # what it loads is there before the executor is forked
    run(_serve_alone(plan, sockets, plain, ready, Executor(plan.limits)))


async def _serve_alone(
    plan: Plan, sockets: list[socket.socket], plain: SideListeners, ready: Callable[[], None], executor: Executor
) -> None:
    loop = asyncio.get_running_loop()
    lines = Lines()
    logs.install(lines, plan.logs)
    source = plan.certificate_source()
    server = Webhooks(plan.settings, plan.context(source), lines, executor, plan.limits)
    stop = asyncio.Event()
    on_signals(stop.set, lambda: os._exit(AT_ONCE))
    feed = feed_of(plan, lambda facts: server.use(plan.settings._replace(facts=facts_from(facts))), source, server.certificate.hurry)
    state = SingleProcess(server, feed, source, Handshake(sockets[0], plan.server_name))
    probes = Probes(state, state.details)
    await plain.serve(probes, source, metrics_access_of(feed, server.meter))
    lines.start(loop)
    await server.start(sockets)
    settle()
    feeding = loop.create_task(feed.run()) if feed is not None else None

    def set_level(level: str) -> None:
        logs.set_level(level)
        if feed is not None:
            feed.log_level(level)

    tasks = [loop.create_task(_announce(server, state, ready)), follow_level(plan, set_level)]
    await ended(stop, executor)
    for task in tasks:
        if task is not None:
            task.cancel()
    await server.drain(plan.lag)
    if feed is not None and feeding is not None:
        await feed.stop()
        feeding.cancel()
    await probes.close()
    executor.close()
    lines.close()


async def ended(stop: asyncio.Event, executor: Executor) -> None:
    """Waits until the process is to stop, or can no longer answer everything."""
    waiting = [asyncio.ensure_future(event.wait()) for event in (stop, executor.lost)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()


def on_signals(first: Callable[[], None], again: Callable[[], None]) -> None:
    """Calls `first` at the first SIGTERM or SIGINT, and `again` at a later one.

    One that follows at once is the same: some programs signal a process and then its whole group.
    """
    loop = asyncio.get_running_loop()
    began: list[float] = []

    def received() -> None:
        if not began:
            began.append(loop.time())
            first()
        elif loop.time() - began[0] > SAME_SECONDS:
            again()

    for number in SIGNALS:
        loop.add_signal_handler(number, received)


def settle() -> None:
    """Tells the collector that what has been loaded stays, so that it never walks it again (and forked pages stay shared)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)


def feed_of(plan: Plan, taken: Callable[[dict[str, Any]], None], source: CertificateSource | None, news: Callable[[], None]) -> Feed | None:
    """What brings facts from the cluster, if the plan wants any, and certificates to their source; `news` is called after these."""

    def delivered(report: dict[str, Any]) -> None:
        if source is not None:
            source.delivered(report)
            news()

    orders = plan.orders
    return (
        Feed({**orders, "certificates": plan.secret_names and plan.secret_names.orders()}, taken, delivered=delivered)
        if orders is not None
        else None
    )


def degraded(feed: Feed | None) -> list[str]:
    """Lines about the cluster: what is not known as it is now, though requests are served by what was known."""
    return [f"degraded: {each}" for each in feed.degraded()] if feed is not None else []


def ready_gauge(checks: Mapping[str, list[str]]) -> dict[str, float]:
    """Readiness as a metric."""
    return {"ready": float(not any(checks.values()))}


def follow_level(plan: Plan, taken: Callable[[str], None]) -> asyncio.Task[None] | None:
    """Begins to watch for another log level, if there is a file where it stands."""
    if plan.level is None:
        return None
    return asyncio.get_running_loop().create_task(LevelFile(plan.level, taken).run(plan.limits.poll_seconds))


def metrics_access_of(feed: Feed | None, meter: Meter) -> MetricsAccess | None:
    """The check of metrics readers, if there is a cluster."""
    return MetricsAccess(feed.ask, lambda: meter.count("metrics_access_denied")) if feed is not None else None


def details(certificate: Mapping[str, str], trouble: str, source: CertificateSource | None) -> list[str]:
    """Lines about the certificate that is served, and about what is wrong though requests can be served."""
    told = ["certificate: " + ", ".join(f"{name} {value or 'unknown'}" for name, value in certificate.items())] if certificate else []
    told += [f"degraded: {trouble}"] if certificate and trouble else []
    return [*told, f"degraded: the serving Secret is not seen: {source.away}"] if source is not None and source.away else told


async def _announce(server: Webhooks, state: SingleProcess, ready: Callable[[], None]) -> None:
    await server.listening.wait()
    while any((await state.checks()).values()):  # noqa: ASYNC110 - readiness is asked for, nobody announces it
        await asyncio.sleep(LOOK_SECONDS)
    ready()
