"""The webhook server of one process: request in, answer out; readiness, certificate watch and drain. Signals and probes: process.py."""

import asyncio
import contextlib
import logging
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeVar, cast

import orjson
from aiohttp.web import BaseRequest, StreamResponse

from ..admission.pipeline import Settings
from ..admission.registration import Purpose
from ..certs.context import CLIENT_KEY, ClientTrust, ReloadingContext
from . import convert
from .admission import answer, example
from .bodies import Bodies
from .certificate_source import ServedCertificate
from .connection import UNREADABLE, Connection, is_framed, is_last
from .connections import Connections
from .convert import NotDivisibleError
from .envelope import Answer, RejectedError, reject_http
from .executor.executor import Executor, LongAnswer
from .executor.spool import Spool
from .known_heads import KnownHeads
from .limits import Limits, is_light
from .listener import Listener
from .logs import Lines, stamp
from .meters import Meter, access_line
from .reply import JSON, Reply, date_line
from .routes import ROUTES, Route, find_route
from .short_requests import ShortRequests

_LOG: Final = logging.getLogger("webhooks.server")
_ACCESS: Final = logging.getLogger("webhooks.access")  # only for its level: meters.py makes the lines
_ALLOW: Final = b"Allow: POST\r\n"
_CLOSING: Final = (408, 413, 429)  # what ends the connection: its state is unknown, or it is to be used no more
B = TypeVar("B")
VERIFIED: Final = "verified"
UNVERIFIED: Final = "unverified"
_NO_AUTHORITIES: Final = f"{CLIENT_KEY}: no authority of client certificates could be read"
_NONE: Final = f"the caller must present a client certificate of an authority in {CLIENT_KEY}, and presented none"
_EXPIRED: Final = "the caller's client certificate must be valid, and has expired since the connection began"
_STRANGER: Final = "the caller's client certificate must bear one of the names in server.webhook.clientNames"


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
        self._bodies = Bodies(self._limits, self.meter.met)
        self.connections = Connections(
            self._handle,
            limits,
            self.meter.met,
            self.meter.count,
            self._callers.generation,
            self._bodies.trim.begin,
            self._at_once,
            self._by_head,
        )
        self._executor = executor
        self._short_requests, self._heads = ShortRequests(), KnownHeads()
        self._shortest_bound = min(limits.small_body, limits.body, limits.conversion_body)
        self._sockets: list[socket.socket] = []
        self._listeners: list[Listener] = []
        self._watch: asyncio.Task[None] | None = None
        self._draining = False
        self._failed = "the server has not answered its own test requests yet"

    async def start(self, sockets: list[socket.socket]) -> None:
        """Judges a request of its own on every path, and listens as soon as there is a certificate; keeps looking for newer ones."""
        self._sockets = sockets
        self._executor.watch(self._lines.add)
        self._failed = self_check(self.settings)
        if self._failed:
            _LOG.error("not ready: %s", self._failed)
        await self._look()
        self._watch = self._loop.create_task(self._follow())

    def use(self, settings: Settings) -> None:
        """Answers by other settings from the next request on; one that is being answered keeps its own."""
        self.settings = settings

    def reasons(self) -> list[str]:
        """Why this server must not be sent requests; empty when it is ready."""
        told = [*([self._failed] if self._failed else []), *self.certificate.reasons()]
        told += [reason for each in self._listeners for reason in each.reasons()] if self._listeners else ["not listening"]
        if self._draining:
            told.append("draining")
        if self._executor.lost.is_set():
            told.append("the process that answers long requests has ended")
        return told

    def gauges(self) -> dict[str, float]:
        """The current measurements, by name."""
        return {**self.certificate.gauges(), "open_connections": float(len(self.connections.open))}

    def snapshot(self) -> Meter:
        """The counters, brought up to date."""
        self.meter.counts["log_lines_dropped"] = self._lines.dropped
        return self.meter

    async def drain(self, lag: float = 0) -> None:
        """Stops: not ready at once, stops accepting after `lag` seconds, finishes what has arrived, closes all connections."""
        self._draining = True
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
                await self._look()
            except Exception:  # noqa: BLE001 - a file system's mood must not end the watch
                _LOG.exception("the certificate could not be read")

    async def _look(self) -> None:
        self.certificate.look()
        if self.certificate.context.loaded and not self._listeners:
            for sock in self._sockets:
                listener = Listener(sock, self.certificate.context, self._limits, self.connections, self.meter.met)
                self._listeners.append(listener)
            self.listening.set()

    def _at_once(self, request: BaseRequest) -> Reply | None:
        """The reply to a request with a short body that has come; None while others wait for their turn, and for all that takes longer."""
        started, route = time.perf_counter(), find_route(request.raw_path)
        if route is None or self._bodies.long(request) or not self._short_requests.free:
            return None
        found, size = self._refusal(route, request), 0
        if found is None:
            body = request.content.read_nowait()
            client, settings = cast("Connection", request.protocol).client, self.settings
            found = self._too_long(route, request, body)
            if found is None and not is_light(body, self._limits.small_body):
                cast("Connection", request.protocol).heavy = body
                return None
            if found is None:
                found, size = self._short_requests.do(client, lambda: answer(route, body, settings)), len(body)
        return self._respond(route, request, found, started, size)

    def _by_head(self, connection: Connection, data: bytes) -> Reply | None:
        """The reply to a request with a known head and a short body; None where `_at_once` returns none, too."""
        started, known = time.perf_counter(), self._heads.find(data)
        if known is None or self._draining or not self._short_requests.free or not is_light(known[1], self._shortest_bound):
            return None
        (route, body), settings = known, self.settings
        refused = self._callers.refusal(route, connection)
        found = refused or self._short_requests.do(connection.client, lambda: answer(route, body, settings))
        self._told(route, found, started, 0 if refused else len(body), "")
        keep_alive = not (refused or connection.last or found.status in _CLOSING)
        return Reply(found.status, JSON + date_line(), found.body, self._limits, self.meter.met, keep_alive=keep_alive)

    async def _handle(self, request: BaseRequest) -> StreamResponse:
        connection = cast("Connection", request.protocol)
        if connection.ready is not None:
            reply, connection.ready = connection.ready, None
            return cast("StreamResponse", reply)
        started, route, size = time.perf_counter(), find_route(request.raw_path), 0
        found = None if connection.heavy else self._refusal(route, request)  # which has been asked for then
        if found is None and route is not None:
            if self._bodies.long(request):
                return await self._long(route, request)
            body, started = await self._short_body(route, request)
            if isinstance(body, bytes) and not is_light(body, self._limits.small_body):
                return await self._long(route, request, body)
            found, size = (body, 0) if isinstance(body, Answer) else (await self._answer_short(route, request, body), len(body))
        assert found is not None  # noqa: S101 - a path without a route is unfit
        return cast("StreamResponse", self._respond(route, request, found, started, size))

    def _refusal(self, route: Route | None, request: BaseRequest) -> Answer | None:
        """The answer to a request whose body needn't be read, and to a caller who must not ask."""
        connection = cast("Connection", request.protocol)
        connection.spoken = True
        connection.last |= is_last(request)
        found = _unfit(route, request)
        return self._callers.refusal(route, connection) if found is None and route is not None else found

    async def _short_body(self, route: Route, request: BaseRequest) -> tuple[bytes | Answer, float]:
        """A short body, or the answer to one that can't be had; and when it had arrived."""
        content, connection = request.content, cast("Connection", request.protocol)
        body: bytes | Answer
        if connection.heavy:
            body, connection.heavy = connection.heavy, b""
        elif content.is_eof():
            body = content.read_nowait()
        else:
            with self._held(request):
                body = await self._read(route, request, self._bodies.read(request, conversion=route.purpose is Purpose.CONVERT))
        started = time.perf_counter()
        return body if isinstance(body, Answer) else self._too_long(route, request, body) or body, started

    async def _answer_short(self, route: Route, request: BaseRequest, body: bytes) -> Answer:
        settings = self.settings
        with self._held(request):
            return await self._short_requests.run(cast("Connection", request.protocol).client, lambda: answer(route, body, settings))

    def _too_long(self, route: Route, request: BaseRequest, body: bytes) -> Answer | None:
        """The answer to a body over a bound that is shorter than one read: all of the body has arrived already."""
        converting = route.purpose is Purpose.CONVERT
        if len(body) <= (self._bodies.most(request) if converting else self._limits.body):
            return None
        error = self._bodies.too_long(request, conversion=converting)
        return reject_http(error.status, error.sentence, error.bound)

    async def _long(self, route: Route, request: BaseRequest, text: bytes = b"") -> StreamResponse:
        """Answers a review with a long body, and sees to it that the answer is taken: until then it has room in memory.

        `text` is a short body that has come and is no work for the loop.
        """
        converting = route.purpose is Purpose.CONVERT
        with self._held(request), self._bodies.reserve(conversion=converting) as reservation, Spool() as body:
            body.write(text)
            found: Answer | LongAnswer | None = await self._read(
                route, request, self._bodies.read_long(request, reservation, body, conversion=converting)
            )
            started, size = time.perf_counter(), body.size
            if found is None and not size:
                found = answer(route, b"", self.settings)
            elif found is None:
                client = cast("Connection", request.protocol).client
                found = await self._in_steps(client, body) if converting else None
            if found is None:
                found = await self._executor.run(route, client, body, self.settings, lambda: request.transport is not None)
            body.close()
            reservation.change(len(found.body))
            self._told(route, found, started, size, request.headers.get("traceparent", ""))
            reply = self._reply(request, found)
            del found
            with contextlib.suppress(ConnectionResetError):  # the client closed the connection or was too slow
                await reply.send(request, reservation)
            self._bodies.trim.begin()  # a client that has left has ended its connection, which begins one, too
            return cast("StreamResponse", reply)

    async def _in_steps(self, client: str, body: Spool) -> Answer | None:
        """Converts a list of short objects in the event loop, between short requests: a process would cost as much as all of it."""
        if body.size > self._limits.stepped_body:
            return None
        with contextlib.suppress(NotDivisibleError):
            steps = convert.steps(body.mapped(body.size), self._limits.small_body, self.settings.line)
            return await self._short_requests.through(client, body.size, steps)
        return None

    @contextlib.contextmanager
    def _held(self, request: BaseRequest) -> Iterator[None]:
        """Keeps a drain from closing a connection whose request is being worked on."""
        connection = request.protocol
        outer = connection in self.connections.busy
        self.connections.busy.add(connection)
        try:
            yield
        finally:
            if not outer:
                self.connections.busy.discard(connection)

    async def _read(self, route: Route, request: BaseRequest, reading: Awaitable[B]) -> B | Answer:
        """Waits for a body; the answer to a client that sends too much or too slowly."""
        connection = cast("Connection", request.protocol)
        connection.reading = True
        self.meter.reading[route.path] = self.meter.reading.get(route.path, 0) + 1
        try:
            return await reading
        except RejectedError as error:
            return reject_http(error.status, error.sentence, error.bound)
        except Exception as error:  # noqa: BLE001 - whatever the transport or the parser raise: no whole body will come
            # aiohttp's stream keeps the error, and this would keep all that had come of the body until the collector looks, which is rare
            error.__traceback__ = None
            return reject_http(400, "the body must arrive whole")
        finally:
            connection.reading = False
            self.meter.reading[route.path] -= 1

    def _respond(self, route: Route | None, request: BaseRequest, found: Answer, started: float, size: int) -> Reply:
        """The reply with an answer to a short request; `size`: of its body, if that was judged."""
        trace, reply = request.headers.get("traceparent", ""), self._reply(request, found)
        self._told(route, found, started, size, trace)
        head = cast("Connection", request.protocol).known
        if size and route is not None and head is not None and reply.keep_alive and not trace:
            self._heads.learn(head, route)
        return reply

    def _told(self, route: Route | None, found: Answer | LongAnswer, started: float, size: int, trace: str) -> None:
        """Counts an answer and logs it, with the trace that its request belongs to."""
        seconds = time.perf_counter() - started
        self.meter.answered(route, found.verdict, seconds, size)
        if found.verdict.outcome == "fault" or _ACCESS.isEnabledFor(logging.INFO):
            self._lines.add(access_line(stamp(time.time()), route, found.verdict, seconds, trace))

    def _reply(self, request: BaseRequest, found: Answer | LongAnswer) -> Reply:
        # a connection in an unknown state, or about to be closed anyway, is not used again
        whole = request.content.exception() is None and request.content.at_eof() and found.status not in _CLOSING
        if not whole and request.transport is not None:
            cast("Connection", request.protocol).unread = request.content
        keep_alive = (
            whole
            and not (self._draining or cast("Connection", request.protocol).last)
            and request.keep_alive
            and request.version.minor == 1
        )
        extra = _ALLOW if found.status == 405 else b""
        bare = request.method == "HEAD"
        head = JSON + date_line()
        return Reply(found.status, head, found.body, self._limits, self.meter.met, keep_alive=keep_alive, extra=extra, bare=bare)


class Callers:
    """Checks callers: if configured, admission requires a verified and allowed client certificate. Conversion doesn't."""

    __slots__ = ("_clock", "_meter", "_trust")

    def __init__(self, trust: ClientTrust | None, meter: Meter, clock: Callable[[], float] = time.time) -> None:
        """Without `trust` no certificate is required."""
        self._trust, self._meter, self._clock = trust, meter, clock

    def generation(self) -> int:
        """The number of the current set of authorities; set it on a connection before its handshake."""
        return self._trust.generation if self._trust is not None else 0

    def refusal(self, route: Route, connection: Connection) -> Answer | None:
        """Counts a request by its caller, and answers it when that must not call this path."""
        wrong = self._wrong(connection)
        self._meter.callers[route.path, UNVERIFIED if wrong else VERIFIED] += 1
        # a caller verified by earlier authorities gets one more response: an authority may only have been added
        connection.last |= connection.generation != self.generation()
        return reject_http(403, wrong) if wrong and self._trust is not None and route.purpose is not Purpose.CONVERT else None

    def _wrong(self, connection: Connection) -> str:
        if self._trust is None:
            return UNVERIFIED
        if not self._trust.authorities:
            return _NO_AUTHORITIES
        if connection.caller is None:
            connection.caller = self._seen(connection)
        wrong, until = connection.caller
        return wrong or (_EXPIRED if self._clock() >= until else "")

    def _seen(self, connection: Connection) -> tuple[str, float]:
        """The reason to refuse a caller, and the end of its certificate."""
        tls = connection.transport.get_extra_info("ssl_object") if connection.transport is not None else None
        try:
            certificate = tls.getpeercert() if tls is not None else None
        except ValueError:  # before the end of a handshake, and for what OpenSSL can't show
            certificate = None
        if not certificate or self._trust is None:
            return _NONE, 0.0
        if not self._trust.bears(certificate):
            return _STRANGER, 0.0
        return "", ssl.cert_time_to_seconds(certificate["notAfter"])


def _unfit(route: Route | None, request: BaseRequest) -> Answer | None:
    """The answer to a request that has no review in it by its path, method or content type."""
    if not is_framed(request):
        return reject_http(400, UNREADABLE)
    if route is None:
        return reject_http(404, "no webhook is served at this path")
    if request.method != "POST":
        return reject_http(405, "a webhook must be called with POST")
    kind = request.headers.get("Content-Type", "")
    if kind != "application/json" and kind.partition(";")[0].strip().lower() != "application/json":
        return reject_http(415, "the content type must be application/json")
    return None


def self_check(settings: Settings) -> str:
    """Answer a small request on every path, which also loads all modules; returns the failure, or an empty string."""
    for route in ROUTES.values():
        converting = route.purpose is Purpose.CONVERT
        found = answer(route, convert.example() if converting else example(route), settings)
        bad = found.verdict.outcome != "converted" if converting else found.verdict.outcome == "fault"
        if found.status != 200 or bad or orjson.loads(found.body)["response"]["uid"] != "ready":
            return f"the server's own test request at {route.path} failed"
    return ""
