"""One serving process: loop, signals, log and the webhook server in it, for a lone process and for a worker alike."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from typing import TYPE_CHECKING, Final, NamedTuple

import uvloop

from certs.context import ReloadingContext
from webhooks import logs, metrics
from webhooks.logs import Lines
from webhooks.probes import METRICS, PROBES, Probes
from webhooks.server import Webhooks

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from webhooks.admission import Settings
    from webhooks.limits import Limits

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
SAME_SECONDS: Final = 0.2
AT_ONCE: Final = 130  # exit code after a second signal
# Objects of one request die by reference counting; cycles come from connections alone, so that looking for them may be rare.
GC_THRESHOLD: Final = (50_000, 20, 50)


class Plan(NamedTuple):
    """What a serving process is to do."""

    settings: Settings
    directory: Path  # of tls.crt and tls.key
    limits: Limits
    lag: float  # seconds from not ready to not accepting, in which endpoints learn of it


class Plain(NamedTuple):
    """Bound sockets of the plain listeners; the same one when both are to be served at one address."""

    probes: socket.socket
    metrics: socket.socket

    async def serve(self, probes: Probes) -> None:
        """Starts to listen on both."""
        loop = asyncio.get_running_loop()
        if self.probes is self.metrics:
            await probes.listen(loop, self.probes, PROBES | METRICS)
        else:
            await probes.listen(loop, self.probes, PROBES)
            await probes.listen(loop, self.metrics, METRICS)


class Alone:
    """The state of a lone process, for its probes."""

    def __init__(self, server: Webhooks) -> None:
        """Speaks of one server."""
        self._server = server

    async def reasons(self) -> list[str]:
        """Why the server is not ready."""
        return self._server.reasons()

    async def metrics(self) -> bytes:
        """The server's metrics."""
        return metrics.export(self._server.snapshot(), self._server.gauges())


def run(main: Coroutine[None, None, None]) -> None:
    """Runs a serving process to its end on the fast loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


async def serve_alone(plan: Plan, sockets: list[socket.socket], plain: Plain, ready: Callable[[], None]) -> None:
    """Serves in this one process until a signal; `ready` is called once, when requests may come."""
    loop = asyncio.get_running_loop()
    lines = Lines()
    logs.install(lines)
    server = Webhooks(plan.settings, ReloadingContext(plan.directory), lines, plan.limits)
    stop = asyncio.Event()
    on_signals(stop.set, lambda: os._exit(AT_ONCE))
    probes = Probes(Alone(server))
    await plain.serve(probes)
    lines.start(loop)
    await server.start(sockets)
    settle()
    announce = loop.create_task(_announce(server, ready))
    await stop.wait()
    announce.cancel()
    await server.drain(plan.lag)
    await probes.close()
    lines.close()


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


async def _announce(server: Webhooks, ready: Callable[[], None]) -> None:
    await server.listening.wait()
    if not server.reasons():
        ready()
