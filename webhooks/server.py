"""The webhook server of one process: request in, answer out; readiness, certificate watch and drain. Signals and probes: process.py."""

import asyncio
import logging
import socket
import time
from collections import Counter
from functools import partial
from typing import Final

import orjson

from ..admission.pipeline import Settings
from ..admission.registration import Purpose
from ..api.unknown_fields import describe_later_release
from ..certs.context import ReloadingContext
from . import convert
from .access_log import access_line
from .admission import answer, example
from .bodies import Bodies
from .callers import Callers
from .certificate_source import ServedCertificate
from .connection import Connection
from .connections import Connections
from .envelope import Answer, RejectedError, reject_http
from .executor.executor import Executor, LongAnswer
from .http1 import Head
from .jobs import Jobs
from .limits import Limits
from .listener import Listener
from .log_lines import Lines
from .log_text import stamp
from .meters import Meter
from .reply import JSON, Reply
from .routes import ROUTES, Route, find_route
from .service import Work
from .spool import Spool

_LOG: Final = logging.getLogger("webhooks.server")
_ACCESS: Final = logging.getLogger("webhooks.access")  # only for its level: meters.py makes the lines
_ALLOW: Final = b"Allow: POST\r\n"
_CLOSING: Final = (408, 413, 429)  # what ends the connection: its state is unknown, or it is to be used no more
CLIENT_CLOSED: Final = "the client closed the connection"


class Webhooks:
    """Answers webhooks on one or more sockets; `start`, then `drain` once."""

    def __init__(self, settings: Settings, context: ReloadingContext, lines: Lines, executor: Executor, limits: Limits) -> None:
        """Must be made inside the running loop; listens on nothing yet."""
        self.meter = Meter()
        self.listening = asyncio.Event()
        self.settings = settings
        self.certificate = ServedCertificate(context, self.meter)
        self._callers = Callers(context.clients, self.meter)
        self._lines = lines
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._bodies = Bodies(self._limits, self.meter.count_bound)
        self.small_body = limits.small_body
        self.connections = Connections(
            self, limits, self.meter.count_bound, self.meter.count, self._callers.generation, self._bodies.trim.begin
        )
        self._executor, self._jobs = executor, Jobs(limits, executor)
        self._sockets: list[socket.socket] = []
        self._listeners: list[Listener] = []
        self._watch: asyncio.Task[None] | None = None
        self._failed = "the server has not answered its own test requests yet"

    async def start(self, sockets: list[socket.socket]) -> None:
        """Judges a request of its own on every path, and listens as soon as there is a certificate; keeps looking for newer ones."""
        self._sockets = sockets
        self._executor.watch(self._lines.add)
        self._failed = self_check(self.settings)
        if self._failed:
            _LOG.error("not ready: %s", self._failed)
        if later := describe_later_release(str(self.settings.facts.operatorVersion), self.settings.line, ()):
            _LOG.warning("%s; `dynamo-webhooks facts --cluster` lists fields that are unknown", later)
        await self._refresh_certificate()
        self._watch = self._loop.create_task(self._follow())

    def use(self, settings: Settings) -> None:
        """Answers by other settings from the next request on; one that is being answered keeps its own."""
        self.settings = settings

    def reasons(self) -> list[str]:
        """Lists why this server must not be sent requests; empty when it is ready."""
        reasons = [*([self._failed] if self._failed else []), *self.certificate.reasons()]
        reasons += [reason for each in self._listeners for reason in each.reasons()] if self._listeners else ["not listening"]
        if self.connections.draining:
            reasons.append("draining")
        if self._executor.lost.is_set():
            reasons.append("the process that answers long requests has ended")
        return reasons

    def gauges(self) -> dict[str, float]:
        """The current measurements, by name."""
        return {**self.certificate.gauges(), "open_connections": float(len(self.connections.open))}

    def snapshot(self) -> Meter:
        """The counters, brought up to date."""
        self.meter.counts["log_lines_dropped"] = self._lines.dropped
        self.meter.reading = Counter(_route(each.head).path for each in self.connections.open if each.reading and each.head is not None)
        return self.meter

    async def drain(self, lag: float = 0) -> None:
        """Stops: not ready at once, stops accepting after `lag` seconds, finishes what has arrived, closes all connections."""
        self.connections.begin_drain()
        await asyncio.sleep(lag)
        if self._watch is not None:
            self._watch.cancel()
        for listener in self._listeners:
            listener.close()
        await self.connections.drain()

    async def _follow(self) -> None:
        while True:
            await self.certificate.pause(self._limits.poll_seconds)
            try:
                await self._refresh_certificate()
            except Exception:  # noqa: BLE001 - a file system's mood must not end the watch
                _LOG.exception("the certificate could not be read")

    async def _refresh_certificate(self) -> None:
        self.certificate.refresh()
        if self.certificate.context.loaded and not self._listeners:
            for sock in self._sockets:
                listener = Listener(sock, self.certificate.context, self._limits, self.connections, self.meter.count_bound)
                self._listeners.append(listener)
            self.listening.set()

    def begin(self, connection: Connection, head: Head) -> Reply | None:
        """The reply to a request whose body needn't be read, and to a caller who must not ask; else None."""
        route = head.route = find_route(head.target)
        response = _unfit(route, head)
        if response is None and route is not None:
            response = self._callers.refusal(route, connection)
            try:
                self._bodies.check_length(route, head)
            except RejectedError as error:
                response = response or reject_http(error.status, error.sentence, error.bound)
        return None if response is None else self._account(head, response, time.perf_counter())

    def answer(self, connection: Connection, head: Head, body: bytes) -> Reply | Work:
        """The reply to a short body, or the work that sends it."""
        started, route = time.perf_counter(), _route(head)
        if not self._jobs.is_short(body):
            return partial(self.answer_long, connection, head, body)
        response = self._jobs.answer_now(route, connection.client, body, self.settings)
        if response is None:
            return partial(self._answer_in_turn, connection, head, body, started)
        return self._account(head, response, started, len(body))

    async def answer_long(self, connection: Connection, head: Head, text: bytes = b"") -> None:
        """Answers a review with a long body, and sees to it that the answer is taken: until then it has room in memory.

        `text` is a short body that has come and is no work for the loop.
        """
        route, started = _route(head), time.perf_counter()
        with self._bodies.reserve(route) as reservation, Spool() as body:
            body.write(text)
            try:
                await self._bodies.read(route, connection, head, reservation, body)
                started = time.perf_counter()
                response = await self._jobs.answer_long(route, connection.client, body, self.settings)
            except RejectedError as error:
                response = reject_http(error.status, error.sentence, error.bound)
            except asyncio.CancelledError:  # the API server asks again
                self._account(head, reject_http(408, CLIENT_CLOSED), started, body.size)
                raise
            reply = self._account(head, response, started, body.size)
            body.close()
            reservation.change(len(response.body))
            del response
            await connection.send(reply, reservation)
        self._bodies.trim.begin()

    def body_seconds(self, head: Head) -> float:
        """The time in which a short body must come."""
        return self._bodies.seconds(_route(head))

    def too_slow(self, head: Head) -> Reply:
        """The reply to a client that was slower."""
        error = self._bodies.too_slow(_route(head))
        return self._account(head, reject_http(error.status, error.sentence, error.bound), time.perf_counter())

    async def _answer_in_turn(self, connection: Connection, head: Head, body: bytes, started: float) -> None:
        response = await self._jobs.answer_in_turn(_route(head), connection.client, body, self.settings)
        await connection.send(self._account(head, response, started, len(body)))

    def _account(self, head: Head, response: Answer | LongAnswer, started: float, size: int = 0) -> Reply:
        """Counts an answer and logs it, with the trace that its request belongs to; `size`: of the body, if that was judged."""
        route, seconds = head.route, time.perf_counter() - started
        self.meter.answered(route, response.verdict, seconds, size)
        if response.verdict.outcome == "fault" or _ACCESS.isEnabledFor(logging.INFO):
            self._lines.add(access_line(stamp(time.time()), route, response.verdict, seconds, head.header(b"traceparent")))
        lines = JSON + _ALLOW if response.status == 405 else JSON
        return Reply(response.status, response.body, lines, closes=response.status in _CLOSING)


def _route(head: Head) -> Route:
    """The route of a request that has been begun."""
    assert head.route is not None  # noqa: S101 - without one it is unfit
    return head.route


def _unfit(route: Route | None, head: Head) -> Answer | None:
    """The answer to a request that has no review in it by its path, method or content type."""
    if route is None:
        return reject_http(404, "no webhook is served at this path")
    if head.method != b"POST":
        return reject_http(405, "a webhook must be called with POST")
    kind = head.headers.get(b"content-type", b"")
    if kind != b"application/json" and kind.partition(b";")[0].strip().lower() != b"application/json":
        return reject_http(415, "the content type must be application/json")
    return None


def self_check(settings: Settings) -> str:
    """Answer a small request on every path, which also loads all modules; returns the failure, or an empty string."""
    for route in ROUTES.values():
        converting = route.purpose is Purpose.CONVERT
        response = answer(route, convert.example() if converting else example(route), settings)
        bad = response.verdict.outcome != "converted" if converting else response.verdict.outcome == "fault"
        if response.status != 200 or bad or orjson.loads(response.body)["response"]["uid"] != "ready":
            return f"the server's own test request at {route.path} failed"
    return ""
