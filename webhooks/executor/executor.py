"""The server's side: long requests wait for their turn, are handed to a process of their own, and their answers come back."""

import asyncio
import contextlib
import logging
import os
import pickle
from collections.abc import Callable
from typing import Final, NamedTuple

from ...admission.pipeline import Settings
from ...admission.registration import Purpose
from ..envelope import Answer, Verdict, reject_http
from ..fair_queue import FairQueue
from ..limits import Bound, Limits
from ..routes import Route
from ..spool import Spool
from . import forker
from .forker import JobResult, Order, decode_outcome

_LOG: Final = logging.getLogger("webhooks.executor")
_MAX_RESULT_BYTES: Final = 64 * 1024  # its statistics have a row for each kind, version and outcome
MAX_CONCURRENT_CONVERSIONS: Final = 2  # a list that takes long must not keep the lists of other clients waiting
PROCESS_ENDED: Final = "the request exceeded the memory or CPU time of one request, and its process was ended; make it smaller"


class LongAnswer(NamedTuple):
    """An `Answer` whose body is in memory that another process wrote."""

    status: int
    body: memoryview
    verdict: Verdict


class Executor:
    """Answers long requests: one of admission and two conversions at a time, these for different clients."""

    def __init__(self, limits: Limits) -> None:
        """Forks the process that forks; see forker.py for when that may be."""
        self._limits = limits
        self._pid, self._channel = forker.launch()
        self._lanes = {False: _Lane(1), True: _Lane(MAX_CONCURRENT_CONVERSIONS)}
        self._settings: tuple[Settings, Spool] | None = None
        self._log: Callable[[bytes], None] = lambda _line: None
        self.lost = asyncio.Event()  # when the process that forks has ended: nothing long can be answered any more

    def watch(self, log: Callable[[bytes], None]) -> None:
        """Begins to notice the end of the process that forks; must be called inside the running loop. `log` takes log lines."""
        self._log = log
        self._channel.setblocking(True)  # an order fits into the socket's buffer: there are three at most
        asyncio.get_running_loop().add_reader(self._channel.fileno(), self._hear)

    def _hear(self) -> None:
        asyncio.get_running_loop().remove_reader(self._channel.fileno())
        _LOG.error("the process that answers long requests has ended")
        self.lost.set()

    async def run(self, route: Route, client: str, body: Spool, settings: Settings) -> Answer | LongAnswer:
        """Answers a request at the client's turn; to cancel it ends its process."""
        converting = route.purpose is Purpose.CONVERT
        lane = self._lanes[converting]
        await lane.enter(client, body.size)
        outcome = None
        try:
            with Spool() as out:
                limits, cpu = self._limits, self._limits.request_cpu
                if converting:
                    wanted = cpu + limits.conversion_cpu_seconds_per_mib * body.size / 2**20
                    cpu = max(cpu, min(wanted, limits.max_conversion_cpu_seconds))
                order = Order(route.path, body.size, cpu, limits.request_memory, logging.getLogger().level)
                outcome = await self._perform(order, body, out, settings)
                if outcome is None:
                    return reject_http(503, PROCESS_ENDED, Bound.REQUEST_MEMORY)
                for line in outcome.lines:
                    self._log(line)
                return LongAnswer(outcome.status, memoryview(out.mapped(outcome.size)), outcome.verdict)
        finally:
            lane.leave(client, outcome.seconds if outcome is not None else self._limits.request_cpu)

    async def _perform(self, order: Order, body: Spool, out: Spool, settings: Settings) -> JobResult | None:
        """Performs an order and returns what came of it; None when its process was ended."""
        reading, writing = os.pipe()
        try:
            forker.order(self._channel, order, (body.descriptor, out.descriptor, self._written(settings), writing))
        except OSError:
            os.close(reading)
            return None
        finally:
            os.close(writing)
        line = await _line(reading)
        return decode_outcome(line) if line.endswith(b"\n") else None

    def _written(self, settings: Settings) -> int:
        """The descriptor from which a request's process reads the settings; they are written once, as they seldom change."""
        if self._settings is None or self._settings[0] is not settings:
            self._forget_settings()
            spool = Spool()
            spool.write(pickle.dumps(settings))
            self._settings = (settings, spool)
        return self._settings[1].descriptor

    def _forget_settings(self) -> None:
        """Closes their file; a request that is being answered has it open itself."""
        if self._settings is not None:
            self._settings[1].close()
            self._settings = None

    def close(self) -> None:
        """Ends the process that forks; requests that are being answered end by themselves."""
        with contextlib.suppress(RuntimeError):  # no loop runs any more
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
        self._channel.close()
        self._forget_settings()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


class _Lane:
    """A few slots, at most one for each client, and a fair queue for them."""

    def __init__(self, slots: int) -> None:
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue()
        self._slots = slots
        self._running: set[str] = set()

    async def enter(self, client: str, size: int) -> None:
        """Waits for a place."""
        if len(self._running) < self._slots and client not in self._running:
            self._running.add(client)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put(client, size, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was this one's turn in the same moment
                self.leave(client, 0)
            raise

    def leave(self, client: str, seconds: float) -> None:
        """Gives the place to the next."""
        self._queue.charge(client, seconds)
        self._running.discard(client)
        while (found := self._queue.take(self._running)) is not None:
            waiting, turn = found
            if not turn.done():
                self._running.add(waiting)
                turn.set_result(None)
                return


async def _line(descriptor: int) -> bytes:
    """Reads a pipe to its end, and closes it, which also ends the process that would write."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    parts: list[bytes] = []
    os.set_blocking(descriptor, False)

    def read() -> None:
        try:
            part = os.read(descriptor, _MAX_RESULT_BYTES)
        except BlockingIOError:
            return
        parts.append(part)
        if not part:
            done.set()

    loop.add_reader(descriptor, read)
    try:
        await done.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return b"".join(parts)
