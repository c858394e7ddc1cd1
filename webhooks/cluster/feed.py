"""The serving side of the facts: starts and restarts the watching process, and keeps its last report."""

import asyncio
import itertools
import logging
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import orjson

from ...policies.facts import Facts, FactsError, facts_from
from .. import child_process
from ..meters import TrafficKey
from . import ACCESS, STOP

_LOG: Final = logging.getLogger("webhooks.cluster")
FIRST_SECONDS: Final = 10.0  # for the first facts; after that the server is ready without them, for conversion needs none
RETRY_SECONDS: Final = 1.0  # before the watching process is started again; doubled each time, up to
MAX_RETRY_SECONDS: Final = 30.0
STOP_SECONDS: Final = 5.0  # for it to end in good order, which includes giving back a Lease
SILENCE_SECONDS: Final = 60.0  # without a report; there is one at least every few seconds
MAX_LINE_BYTES: Final = 16 * 1024 * 1024  # thousands of ClusterTopologies
ANSWER_SECONDS: Final = 5.0  # for the answer
STALE_SECONDS: Final = 60.0  # older sources are reported: a healthy watch is never older than its last event or a second
COMMAND: Final = child_process.command("dynamo_webhooks.webhooks.cluster")
SOURCES: Final = {
    "scope_watch": "Seconds since the claims of namespaces were last known to be complete",
    "topology_watch": "Seconds since the ClusterTopologies were last known to be complete, or not to be served",
    "api_groups": "Seconds since the served API groups were last read",
}


class Feed:
    """One watching process and its last report. `on_facts` gets all facts, validated, in the form of the file, when one changed."""

    def __init__(
        self,
        orders: dict[str, Any],
        on_facts: Callable[[dict[str, Any]], None],
        *,
        on_delivery: Callable[[dict[str, Any]], None] = lambda _report: None,
        on_offers: Callable[[dict[str, dict[str, str]]], None] = lambda _offers: None,
        command: tuple[str, ...] = COMMAND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`orders` are sent to the process first. `on_delivery` gets the reports of `SecretWatch`, `on_offers` those of `SnapshotWatch`."""
        self._orders = orjson.dumps(orders, option=orjson.OPT_APPEND_NEWLINE)
        self._on_facts, self._on_delivery, self._on_offers = on_facts, on_delivery, on_offers
        self._command = command
        self._clock = clock
        self._began = clock()
        self._reported: float | None = None
        self._stale: dict[str, float | None] = {}
        self._facts: Facts | None = None
        self._restarts = 0
        self._traffic: Counter[TrafficKey] = Counter()  # of the process that runs now
        self._earlier: Counter[TrafficKey] = Counter()  # of those that ended
        self._refused = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._stopping = False
        self._questions = itertools.count()
        self._pending: dict[int, asyncio.Future[bool | None]] = {}

    def reasons(self) -> list[str]:
        """Lists why the server had better wait; nothing once facts are there, or when they are long in coming."""
        waiting = self._facts is None and self._clock() - self._began < FIRST_SECONDS
        reasons = ["the facts of the cluster are not known yet"] if waiting else []
        return [*reasons, self._refused] if self._refused else reasons

    def gauges(self) -> dict[str, float]:
        """Returns the current measurements, by name: the age of the facts among them."""
        now = self._clock()
        gauges = {f"{name}_stale_seconds": self._age(name, now) for name in SOURCES}
        names = self._facts.excludedNamespaces if self._facts is not None else ()
        gauges["excluded_namespaces"] = float(len(names) if isinstance(names, frozenset) else 0)
        gauges["cluster_watch_restarts"] = float(self._restarts)
        return gauges

    def traffic(self) -> Counter[TrafficKey]:
        """Requests to the API server, as of the last report; those of processes that ended are among them."""
        return self._earlier + self._traffic

    def degraded(self) -> list[str]:
        """Lists what may be out of date, for people; the last known facts are used meanwhile."""
        now = self._clock()
        ages = {text: self._age(name, now) for name, text in SOURCES.items()}
        return [f"{text}: {age:.0f}" for text, age in ages.items() if age > STALE_SECONDS]

    async def ask(self, token: str) -> bool | None:
        """Whether the bearer of a token may read metrics; None if unknown."""
        number = next(self._questions)
        answer: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            if not self._send(ACCESS + orjson.dumps({"id": number, "token": token}, option=orjson.OPT_APPEND_NEWLINE)):
                return None
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._pending[number]

    async def run(self) -> None:
        """Keeps the process running until `stop`."""
        pause = RETRY_SECONDS
        while not self._stopping:
            began = self._clock()
            try:
                await self._once()
            except OSError as error:  # no room for another process, or for its channel
                _LOG.error("the process that watches the cluster can't be started: %s", error.strerror)
            if self._stopping:
                return
            self._restarts += 1
            pause = RETRY_SECONDS if self._clock() - began > MAX_RETRY_SECONDS else min(pause * 2, MAX_RETRY_SECONDS)
            _LOG.error("the process that watches the cluster ended and is started again in %g s; the last known facts stay", pause)
            await asyncio.sleep(pause)

    async def stop(self) -> None:
        """Ends the process cleanly, so that it releases its Lease."""
        self._stopping = True
        process = self._process
        if process is None:
            return
        reached = self._send(STOP)  # else it has ended, or was started just now and holds nothing
        end = self._clock() + STOP_SECONDS
        while reached and process.poll() is None and self._clock() < end:  # noqa: ASYNC110 - a process's end is only to be asked for
            await asyncio.sleep(0.02)
        if process.poll() is None:
            if reached:
                _LOG.error("the process that watches the cluster does not end and is killed")
            process.kill()
            process.wait()

    async def _once(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            # its own session: a signal to our group must not end it early
            end = theirs.fileno()
            try:
                self._process = subprocess.Popen(  # noqa: S603, ASYNC220 - our own module; starting takes no longer than a fork
                    self._command, stdin=end, stdout=end, start_new_session=True, env=child_process.environment()
                )
            except OSError:
                ours.close()
                raise
        reader, writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE_BYTES)
        self._writer = writer
        try:
            writer.write(self._orders)
            while line := await asyncio.wait_for(reader.readline(), SILENCE_SECONDS):  # a silent process hangs and is restarted
                self._read_report(line)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _LOG.error("the process that watches the cluster sent something unreadable: %s", type(error).__name__)
            self._process.kill()
        finally:
            self._earlier, self._traffic = self.traffic(), Counter()
            writer.close()
            self._writer = None
            for number in self._pending:
                self._answer(number, None)
            if not self._stopping:
                self._process.kill()
                self._process.wait()

    def _send(self, line: bytes) -> bool:
        """Write to the process; False if it is closed. Writing to a closed transport of uvloop raises RuntimeError."""
        writer = self._writer
        if writer is None or writer.is_closing():
            return False
        writer.write(line)
        return True

    def _read_report(self, line: bytes) -> None:
        """Take one report: all facts, the age of each source, why this operator must not work, and counts of API calls."""
        report = orjson.loads(line)
        if "access" in report:
            self._answer(report["access"]["id"], report["access"]["allowed"])
            return
        if "delivery" in report:
            self._on_delivery(report["delivery"])
            return
        if "offers" in report:
            self._on_offers(report["offers"])
            return
        self._reported, self._stale, self._refused = self._clock(), report["stale"], report["refused"]
        self._traffic = Counter({(code, method, host): count for code, method, host, count in report["traffic"]})
        try:
            facts = facts_from(report["facts"])
        except FactsError as error:
            _LOG.error("facts of the cluster are ignored: %s", error)
            return
        if facts != self._facts:
            self._facts = facts
            self._on_facts(report["facts"])

    def _answer(self, number: int, allowed: bool | None) -> None:
        answer = self._pending.get(number)
        if answer is not None and not answer.done():
            answer.set_result(allowed)

    def _age(self, name: str, now: float) -> float:
        stale = self._stale.get(name)
        return now - self._began if self._reported is None or stale is None else now - self._reported + stale
