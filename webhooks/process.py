"""The serving process: loop, signals, log, and the webhook server in it. Kubernetes scales by pods, so there is one for each."""

import asyncio
import gc
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import uvloop

from ..admission.pipeline import Settings
from ..api.operator.server import Logging
from ..certs.context import ClientTrust, Pairs, ReloadingContext
from ..kube.metrics import Values
from ..policies.facts import facts_from
from . import logs, metrics
from .certificate_source import CertificateSource, SecretNames
from .cluster.feed import Feed
from .executor.executor import Executor
from .executor.forker import SIGNALS
from .limits import Limits
from .log_lines import Lines
from .policies import Policies, PolicySet
from .probes import Handshake, MetricsAccess, Probes
from .reload import Reload, Source
from .server import Webhooks, self_check

SAME_SECONDS: Final = 0.2
POLL_SECONDS: Final = 0.1  # between two looks while waiting to be ready
SECOND_SIGNAL_EXIT_CODE: Final = 130
# Objects of a request are freed by reference counting; only connections make cycles, so the collector may run rarely.
GC_THRESHOLD: Final = (50_000, 20, 50)


class ServerPlan(NamedTuple):
    """The plan of the serving process."""

    settings: Settings
    directory: Path  # of tls.crt and tls.key
    limits: Limits
    lag: float  # seconds from not ready to not accepting, for endpoints to be updated
    orders: dict[str, Any] | None = None  # for the process that watches the cluster; None: there is none
    logs: Logging = Logging()
    secret_names: SecretNames | None = None  # how the cluster delivers certificates; None: only the directory
    callers: tuple[Path, tuple[str, ...]] | None = None  # the file of client authorities, and the names of callers; None: all may call
    pair: Pairs | None = None  # the pair that is served instead of the directory's
    policies: PolicySet | None = None  # users' own; None where none are wanted
    policy_source: Source | None = None  # of newer ones


class SideListeners(NamedTuple):
    """Bound sockets of the side listeners; the same one when both are to be served at one address."""

    probes: socket.socket
    metrics: socket.socket
    directory: Path | None = None  # of the pair with which metrics are served; None: plain HTTP


class State:
    """The state of the server, for its probes."""

    def __init__(self, server: Webhooks, feed: Feed | None, source: CertificateSource | None, handshake: Handshake) -> None:
        """`feed` is the view of the cluster, if there is one."""
        self._server, self._feed, self._source, self._handshake = server, feed, source, handshake
        self.policies: Policies | None = None  # users' own

    async def checks(self) -> dict[str, list[str]]:
        """Lists why the server is not ready; its certificate is verified by a handshake if all other checks pass."""
        reasons = {"server": self._server.reasons(), "facts": self._feed.reasons() if self._feed is not None else []}
        return {**reasons, "handshake": [] if any(reasons.values()) else self._handshake.reasons(self._server.certificate.bundle)}

    async def details(self) -> list[str]:
        """The served certificate, and outdated parts that don't affect readiness."""
        report = self._server.certificate.report()
        certificate, trouble = report["certificate"], report["trouble"]
        lines = ["certificate: " + ", ".join(f"{name} {value or 'unknown'}" for name, value in certificate.items())] if certificate else []
        degraded = [trouble] if certificate and trouble else []
        degraded += [f"the serving Secret can't be read: {self._source.stale}"] if self._source is not None and self._source.stale else []
        degraded += self._feed.degraded() if self._feed is not None else []
        if self.policies is not None:
            in_force, *problems = self.policies.current.details()
            lines.append(f"policies: {in_force}")
            degraded += [f"policies: {each}" for each in problems]
        return [*lines, *(f"degraded: {each}" for each in degraded)]

    async def metrics(self) -> bytes:
        """The server's metrics."""
        gauges: dict[str, float | Values] = {**self._server.gauges(), "ready": float(not any((await self.checks()).values()))}
        gauges |= self._feed.gauges() if self._feed is not None else {}
        gauges |= self.policies.current.gauges() if self.policies is not None else {}
        certificate = self._server.certificate.report()["certificate"]
        return metrics.export(self._server.snapshot(), gauges, certificate, self._feed.traffic() if self._feed is not None else {})


def serve(plan: ServerPlan, sock: socket.socket, side: SideListeners, ready: Callable[[], None]) -> bool:
    """Serves until a signal, or until it can answer no long requests any more: False. `ready` is called once when the server is ready."""
    self_check(plan.settings)  # loads all modules, which the executor's processes then share
    settle()
    executor = Executor(plan.limits)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(plan, sock, side, ready, executor))


async def _serve(plan: ServerPlan, sock: socket.socket, side: SideListeners, ready: Callable[[], None], executor: Executor) -> bool:
    loop = asyncio.get_running_loop()
    lines = Lines(shared=plan.orders is not None)
    logs.install(lines, plan.logs)
    source = CertificateSource(plan.secret_names, plan.directory) if plan.secret_names is not None else None
    context = ReloadingContext(
        source or plan.pair or plan.directory, clients=ClientTrust(*plan.callers) if plan.callers is not None else None
    )
    server = Webhooks(plan.settings, context, lines, executor, plan.limits)
    stop = asyncio.Event()
    on_signals(stop.set, lambda: os._exit(SECOND_SIGNAL_EXIT_CODE))
    feed = _start_feed(plan, server, source)
    server_name = plan.secret_names.server_name if plan.secret_names is not None else ""
    state = State(server, feed, source, Handshake(context, server_name))
    probes = Probes(state)
    secured = ReloadingContext(source or side.directory) if side.directory else None
    access = None
    if feed is not None and secured is not None:
        access = MetricsAccess(feed.ask, lambda: server.meter.count("metrics_access_denied"))
    probes.serve(side.probes, side.metrics, secured, access)
    lines.start(loop)
    await server.start([sock])

    feeding = loop.create_task(feed.run()) if feed is not None else None
    beside = [loop.create_task(_announce(server, state, ready))]
    if plan.policies is not None and plan.policy_source is not None:
        state.policies = Policies(plan.policies, lambda documents: server.use(server.settings._replace(policies=documents)))
        beside.append(loop.create_task(Reload(plan.policy_source, state.policies.replace).run(plan.limits.poll_seconds)))
    waiting = [asyncio.ensure_future(event.wait()) for event in (stop, executor.lost)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in (*waiting, *beside):
        task.cancel()
    await server.drain(plan.lag)
    if feed is not None and feeding is not None:
        await feed.stop()
        feeding.cancel()
    await probes.close()
    executor.close()
    lines.close()
    return stop.is_set()


def on_signals(first: Callable[[], None], again: Callable[[], None]) -> None:
    """Calls `first` at SIGTERM or SIGINT, and `again` at a later one, but not for one at once: programs signal a process and its group."""
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
    """Keeps the collector from everything that is loaded, for good: it would also copy pages that are shared with forked processes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)


async def _announce(server: Webhooks, state: State, ready: Callable[[], None]) -> None:
    await server.listening.wait()
    while any((await state.checks()).values()):  # noqa: ASYNC110 - readiness has no event
        await asyncio.sleep(POLL_SECONDS)
    ready()


def _start_feed(plan: ServerPlan, server: Webhooks, source: CertificateSource | None) -> Feed | None:
    """The view of the cluster, if the plan wants one: it brings facts to the server, and certificates to their source."""
    if plan.orders is None:
        return None

    def on_delivery(report: dict[str, Any]) -> None:
        if source is not None:
            source.on_delivery(report)
            server.certificate.hurry()

    def on_facts(facts: dict[str, Any]) -> None:
        server.use(server.settings._replace(facts=facts_from(facts)))

    def on_offers(offers: dict[str, dict[str, str]]) -> None:
        server.use(server.settings._replace(new_pods=server.settings.new_pods._replace(offers=offers)))

    orders = {**plan.orders, "certificates": plan.secret_names and plan.secret_names._asdict()}
    return Feed(orders, on_facts, on_delivery=on_delivery, on_offers=on_offers)
