"""Several serving processes on one port: forking, replacing a crashed one, passing on signals, adding up what they count."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from dynamo_webhooks.webhooks import logs, metrics, process
from dynamo_webhooks.webhooks.forked import fork
from dynamo_webhooks.webhooks.handshake import Handshake
from dynamo_webhooks.webhooks.logs import Lines
from dynamo_webhooks.webhooks.meters import Meter
from dynamo_webhooks.webhooks.probes import Probes
from dynamo_webhooks.webhooks.process import AT_ONCE, LOOK_SECONDS, Plan, SideListeners
from dynamo_webhooks.webhooks.server import self_check
from dynamo_webhooks.webhooks.worker import ASK, DRAIN, FACTS, LEVEL, PAIR, become

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG: Final = logging.getLogger("webhooks.workers")
ANSWER_SECONDS: Final = 1.0  # for a worker to say how it is
HUNG_SECONDS: Final = 5.0  # without an answer; what a worker does between two turns of its loop takes milliseconds
RESTART_SECONDS: Final = 1.0  # at least so long between two starts in one place, or a worker that can't start would eat a CPU
REPORT_LIMIT: Final = 4 * 1024 * 1024


def supervise(plan: Plan, sockets: list[socket.socket], plain: SideListeners, ready: Callable[[], None]) -> None:
    """Serves in one process for each socket until a signal; loads everything before forking, so that the memory is shared."""
    logs.install(Lines(), plan.logs)
    self_check(plan.settings)
    process.settle()
    with asyncio.Runner() as runner:
        runner.run(Supervisor(plan, sockets, plain).run(ready))


class Worker:
    """A forked process as its supervisor sees it."""

    __slots__ = ("answered", "asked", "certificate", "gauges", "meter", "pid", "place", "reasons", "started", "trouble", "writer")

    def __init__(self, place: int, pid: int, writer: asyncio.StreamWriter) -> None:
        """`place` is the socket that it serves, `writer` leads to it."""
        self.place = place
        self.pid = pid
        self.started = self.asked = time.monotonic()
        self.writer = writer
        self.answered = asyncio.Event()
        self.meter: dict[str, Any] | None = None  # the last snapshot, so that nothing is uncounted when the process dies
        self.gauges: dict[str, float] = {}
        self.reasons = ["it has not answered yet"]
        self.certificate: dict[str, str] = {}
        self.trouble = ""

    def told(self, report: dict[str, Any]) -> None:
        """Takes what the process says of itself."""
        self.asked = time.monotonic()
        self.reasons, self.meter = report["reasons"], report["meter"]
        self.certificate, self.trouble = report["certificate"], report["trouble"]
        self.gauges = report["gauges"]
        self.answered.set()


class Supervisor:
    """Keeps one worker on each socket. It serves the side listeners itself and no webhook."""

    def __init__(self, plan: Plan, sockets: list[socket.socket], plain: SideListeners) -> None:
        """Forks nothing yet."""
        self._plan = plan
        self._sockets = sockets
        self._plain = plain
        self._workers: dict[int, Worker] = {}
        self._gone = Meter()  # what workers had counted that are no more
        self._ending = False
        self._watches: set[asyncio.Task[None]] = set()
        self._source = plan.certificate_source()
        self._feed = process.feed_of(plan, self._pass_on, self._source, self._deliver)
        self._pair = self._source.line() if self._source is not None else b""  # the workers' current pair
        self._handshake = Handshake(sockets[0], plan.server_name)
        self._told: dict[bytes, bytes] = {}  # lines for all workers, later ones too: facts and log level

    async def run(self, ready: Callable[[], None]) -> None:
        """Serves until a signal, then lets all workers finish."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        process.on_signals(lambda: self._end(stop), self._end_at_once)
        for place in range(len(self._sockets)):
            await self._start(place)
        probes = Probes(self, self.details)
        await self._plain.serve(probes, self._source, process.metrics_access_of(self._feed, self._gone))
        announce = loop.create_task(self._announce(ready))
        hung = loop.create_task(self._watch_hung())
        delivering = loop.create_task(self._keep_delivering())
        feeding = loop.create_task(self._feed.run()) if self._feed is not None else None
        levelling = process.follow_level(self._plan, self._set_level)
        await stop.wait()
        announce.cancel()
        hung.cancel()
        if levelling is not None:
            levelling.cancel()
        while self._watches:
            await asyncio.wait(self._watches)
        delivering.cancel()
        if self._feed is not None and feeding is not None:
            await self._feed.stop()
            feeding.cancel()
        await probes.close()

    async def checks(self) -> dict[str, list[str]]:
        """Why not all workers are ready; a handshake is tried when nothing else is wrong."""
        await self._ask_all()
        told = ["draining"] if self._ending else []
        for place in range(len(self._sockets)):
            worker = self._workers.get(place)
            told += [f"worker {place}: {reason}" for reason in (worker.reasons if worker is not None else ["it is being replaced"])]
        found = {"server": told, "facts": self._feed.reasons() if self._feed is not None else []}
        bundle = self._source.bundle() if self._source is not None else b""
        return {**found, "handshake": [] if any(found.values()) else await self._handshake.reasons(bundle)}

    async def details(self) -> list[str]:
        """The workers' pair; call it after `checks`."""
        told: list[str] = []
        for place, worker in sorted(self._workers.items()):
            told += [f"worker {place}: {line}" for line in process.details(worker.certificate, worker.trouble, None)]
        return [*told, *process.details({}, "", self._source), *process.degraded(self._feed)]

    async def metrics(self) -> bytes:
        """The sum of all workers' metrics, those of ended ones included."""
        checks = await self.checks()
        total = Meter()
        total.add(self._gone.snapshot())
        gauges = {**process.ready_gauge(checks), "workers": float(len(self._workers))}
        for worker in self._workers.values():
            if worker.meter is not None:
                total.add(worker.meter)
            for name, value in worker.gauges.items():
                # times and switches are the same in all workers but for moments; connections are theirs alone
                combined = sum if name == "open_connections" else max
                gauges[name] = combined((value, gauges[name])) if name in gauges else value
        certificate = next((worker.certificate for worker in self._workers.values() if worker.certificate), {})
        if self._feed is None:
            return metrics.export(total, gauges, certificate)
        return metrics.export(total, {**gauges, **self._feed.gauges()}, certificate, self._feed.traffic())

    def _deliver(self) -> None:
        """Send a new pair to all workers, later ones too."""
        line = self._source.line() if self._source is not None else b""
        if line != self._pair:
            self._pair = line
            for worker in self._workers.values():
                worker.writer.write(PAIR + line)

    async def _keep_delivering(self) -> None:
        while True:
            await asyncio.sleep(self._plan.limits.poll_seconds)
            try:
                self._deliver()
            except Exception:  # noqa: BLE001 - a file system's mood must not end the watch
                _LOG.exception("the certificate could not be looked at")

    def _pass_on(self, facts: dict[str, Any]) -> None:
        """Tells all workers what is known of the cluster now."""
        self._tell(FACTS, orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))

    def _set_level(self, level: str) -> None:
        """Tells everybody from which level to log."""
        logs.set_level(level)
        self._tell(LEVEL, level.encode() + b"\n")
        if self._feed is not None:
            self._feed.log_level(level)

    def _tell(self, what: bytes, line: bytes) -> None:
        """Send a line to all workers, later ones too."""
        self._told[what] = what + line
        for worker in self._workers.values():
            worker.writer.write(what + line)

    def _end(self, stop: asyncio.Event) -> None:
        self._ending = True
        # the kernel must stop handing out connections when the workers close their sockets
        for sock in self._sockets:
            sock.close()
        for worker in self._workers.values():
            worker.writer.write(DRAIN)
        stop.set()

    def _end_at_once(self) -> None:
        for worker in self._workers.values():
            _kill(worker.pid, signal.SIGKILL)
        os._exit(AT_ONCE)

    async def _start(self, place: int) -> None:
        """Raises: OSError when there is no room for another process."""
        ours, theirs = socket.socketpair()
        for channel in (ours, theirs):
            channel.setblocking(False)
        try:
            pid = fork(lambda: become(self._plan, self._sockets[place], theirs, self._pair))
        except OSError:
            ours.close()
            theirs.close()
            raise
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=REPORT_LIMIT)
        worker = self._workers[place] = Worker(place, pid, writer)
        watch = asyncio.get_running_loop().create_task(self._watch(worker, reader))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        writer.write(b"".join(self._told.values()))
        if self._ending:
            writer.write(DRAIN)

    async def _watch(self, worker: Worker, reader: asyncio.StreamReader) -> None:
        """Hears a worker until its end, which closes its channel, and replaces it unless all are to end."""
        with contextlib.suppress(OSError, ValueError):
            while report := await reader.readline():
                worker.told(orjson.loads(report))
        # its channel is closed, so the process is at its end
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])  # noqa: ASYNC222 - nothing to wait for
        worker.writer.close()
        if worker.meter is not None:
            self._gone.add({**worker.meter, "reading": []})
        del self._workers[worker.place]
        if self._ending:
            if code:
                _LOG.error("worker %d (process %d) ended with %d while draining", worker.place, worker.pid, code)
            return
        self._gone.count("workers_replaced")
        _LOG.error("worker %d (process %d) ended unexpectedly with %d and is replaced", worker.place, worker.pid, code)
        await asyncio.sleep(max(0.0, worker.started + RESTART_SECONDS - time.monotonic()))
        await self._replace(worker.place)

    async def _replace(self, place: int) -> None:
        """Starts a worker again, as soon as there is room for a process."""
        while not self._ending:
            try:
                await self._start(place)
            except OSError as error:
                _LOG.error("worker %d can't be started, and is tried again: %s", place, error.strerror)
                await asyncio.sleep(RESTART_SECONDS)
            else:
                return

    async def _ask_all(self) -> None:
        await asyncio.gather(*(self._ask(worker) for worker in list(self._workers.values())))

    async def _ask(self, worker: Worker) -> None:
        worker.answered.clear()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                worker.writer.write(ASK)
                await worker.answered.wait()
        except (TimeoutError, OSError):
            worker.reasons = ["it does not answer"]

    async def _announce(self, ready: Callable[[], None]) -> None:
        while any((await self.checks()).values()):  # noqa: ASYNC110 - readiness is asked for, nobody announces it
            await asyncio.sleep(LOOK_SECONDS)
        ready()

    async def _watch_hung(self) -> None:
        """Ends workers that haven't answered for long; they are replaced as crashed ones."""
        while True:
            await asyncio.sleep(HUNG_SECONDS / 5)
            await self._ask_all()
            for worker in list(self._workers.values()):
                if time.monotonic() - worker.asked > HUNG_SECONDS:
                    _LOG.error("worker %d (process %d) hangs and is ended", worker.place, worker.pid)
                    _kill(worker.pid, signal.SIGKILL)


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
