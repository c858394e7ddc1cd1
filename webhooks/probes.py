"""The side listeners: /healthz and /readyz for the kubelet, /metrics for Prometheus. What they report comes from a `ProbedState`."""

import asyncio
import contextlib
import hashlib
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import parse_qsl

from ..api.wording import shorten
from ..certs.certificate import read_certificates
from ..certs.context import ReloadingContext
from .connection import Connection
from .connections import Connections
from .http1 import Head
from .limits import SIDE
from .listener import Listener
from .reply import Reply
from .service import Service

PROBES = frozenset({"/healthz", "/readyz"})
METRICS = frozenset({"/metrics"})
_ALSO = {"/healthz/healthz": "/healthz", "/readyz/readyz": "/readyz"}  # the only check of each, as the Go operator names it
_METRICS_TYPE: Final = b"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
_PLAIN_TYPE: Final = b"Content-Type: text/plain; charset=utf-8\r\n"
_SCRAPE_SECONDS: Final = 1.0  # for which one rendering of the metrics counts
_Answer: TypeAlias = tuple[int, "str | bytes", bytes]  # status, text or metrics, and header lines
_POLL_SECONDS = 5.0  # between two looks at the certificate of a listener with TLS
SUCCESS_LIFETIME_SECONDS: Final = 60.0  # authorities expire, too
ALLOW_SECONDS: Final = 60.0  # as long as the Go operator caches the user of a token
DENY_SECONDS: Final = 30.0  # as long as it caches a denial
STALE_ALLOW_SECONDS: Final = 900.0  # for which a positive review counts while the API server is unreachable
MAX_CACHED_ANSWERS: Final = 256  # a client that tries many tokens costs no more memory


class Refusal(NamedTuple):
    """An HTTP status and its message."""

    status: int
    text: str


UNKNOWN: Final = Refusal(401, "a bearer token is needed")
DENIED: Final = Refusal(403, "this token is invalid, or its user may not get /metrics")
UNDECIDED: Final = Refusal(503, "whether this token's user may get /metrics can't be asked now")


class MetricsAccess:
    """Decides by the header `Authorization`; it keeps digests of tokens, never a token."""

    def __init__(
        self, ask: Callable[[str], Awaitable[bool | None]], refused: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`ask` reviews a token and returns None while it can't; `refused` is called for each refused request."""
        self._ask, self._refused, self._clock = ask, refused, clock
        self._known: dict[bytes, tuple[bool, float]] = {}  # the newest last

    async def refusal(self, header: str) -> Refusal | None:
        """Returns why the bearer may not read; None when it may."""
        refusal = await self._judge(header)
        if refusal is not None:
            self._refused()
        return refusal

    async def _judge(self, header: str) -> Refusal | None:
        scheme, _, token = header.strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or not token.isascii():  # as no token is
            return UNKNOWN
        digest = hashlib.sha256(token.encode()).digest()
        allowed, when = self._known.get(digest, (None, 0.0))
        age = self._clock() - when
        if allowed is None or age >= (ALLOW_SECONDS if allowed else DENY_SECONDS):
            answer = await self._ask(token)
            if answer is None:
                return None if allowed and age < STALE_ALLOW_SECONDS else UNDECIDED
            allowed = answer
            self._remember(digest, allowed)
        return None if allowed else DENIED

    def _remember(self, digest: bytes, allowed: bool) -> None:
        self._known.pop(digest, None)
        self._known[digest] = (allowed, self._clock())
        if len(self._known) > MAX_CACHED_ANSWERS:
            # a no goes first: many tries must not push out those who may
            victim = next((each for each, (yes, _) in self._known.items() if not yes), next(iter(self._known)))
            del self._known[victim]


class ProbedState(Protocol):
    """The probes' view of a process."""

    async def checks(self) -> dict[str, list[str]]:
        """By the name of each check why requests must not be sent here; all lists are empty when ready."""

    async def details(self) -> list[str]:
        """Lines for people who ask verbosely; nothing that readiness depends on."""

    async def metrics(self) -> bytes:
        """All metrics as text."""


class Scrapes:
    """All scrapes of a process: one rendering a second, for which those that come meanwhile wait."""

    def __init__(self, render: Callable[[], Coroutine[Any, Any, bytes]], seconds: float = _SCRAPE_SECONDS) -> None:
        """Renders nothing yet; a rendering counts for so many seconds."""
        self._render, self._seconds = render, seconds
        self._last: asyncio.Task[bytes] | None = None
        self._fresh = 0.0  # until when the last rendering counts, by the loop's clock

    async def text(self) -> bytes:
        """The metrics of this second."""
        loop = asyncio.get_running_loop()
        if self._last is None or (self._last.done() and loop.time() >= self._fresh):
            self._fresh = loop.time() + self._seconds
            self._last = loop.create_task(self._render())
        return await asyncio.shield(self._last)


class Probes:
    """One or two HTTP listeners, open until the process ends, so that draining is visible. Bounds are those of `SIDE`."""

    def __init__(self, state: ProbedState) -> None:
        """Listens on nothing yet."""
        self._state = state
        self._scrapes = Scrapes(state.metrics)
        self._listeners: list[Listener] = []
        self._connections: list[Connections] = []
        self._watches: list[asyncio.Task[None]] = []

    def serve(
        self, probes: socket.socket, metrics: socket.socket, context: ReloadingContext | None = None, access: MetricsAccess | None = None
    ) -> None:
        """Begins to listen on bound sockets, or on one for both. Metrics have TLS if there is a context, and are guarded by `access`."""
        if probes is metrics:
            self._listen(probes, PROBES | METRICS)
        else:
            self._listen(probes, PROBES)
            self._listen(metrics, METRICS, context, access)

    def _listen(
        self, sock: socket.socket, paths: frozenset[str], context: ReloadingContext | None = None, access: MetricsAccess | None = None
    ) -> None:
        service = _Side(lambda head: self._answer(head, paths, access))
        connections = Connections(service, SIDE, _uncounted, _uncounted)
        self._connections.append(connections)
        if context is not None:
            context.refresh()
            self._watches.append(asyncio.get_running_loop().create_task(_follow(context)))
        self._listeners.append(Listener(sock, context, SIDE, connections, _uncounted))

    async def close(self) -> None:
        """Stops listening and closes all connections."""
        for watch in self._watches:
            watch.cancel()
        for listener in self._listeners:
            listener.close()
        for connections in self._connections:
            await connections.drain()

    async def _answer(self, head: Head, paths: frozenset[str], access: MetricsAccess | None) -> _Answer:
        path, _, query = head.target.partition("?")
        path = _ALSO.get(path, path)
        if path not in paths:
            return 404, f"not found; served here: {', '.join(sorted(paths))}\n", b""
        if head.method not in (b"GET", b"HEAD"):
            return 405, "must be read with GET\n", b"Allow: GET, HEAD\r\n"
        if path == "/healthz":
            return 200, "ok\n", b""
        if path in METRICS:
            refusal = await access.refusal(head.header(b"authorization")) if access is not None else None
            if refusal is not None:
                return refusal.status, refusal.text + "\n", b"WWW-Authenticate: Bearer\r\n" if refusal.status == 401 else b""
            return 200, await self._scrapes.text(), b""
        parameters = parse_qsl(query, keep_blank_values=True)
        return await self._readiness(
            verbose=any(key == "verbose" for key, _ in parameters), exclude={value for key, value in parameters if key == "exclude"}
        )

    async def _readiness(self, *, verbose: bool, exclude: set[str]) -> _Answer:
        """`verbose` lists all checks, and problems that don't affect readiness; excluded checks count as passed."""
        checks = await self._state.checks()
        wrong = [f"not ready: {reason}" for name, reasons in checks.items() if name not in exclude for reason in reasons]
        lines = [*wrong] if wrong else ["ok"]
        if verbose:
            listed = [
                f"[+]{name} excluded" if name in exclude else f"[-]{name} failed" if reasons else f"[+]{name} ok"
                for name, reasons in checks.items()
            ]
            strange = sorted(exclude - checks.keys())
            warned = [f"warn: no check is called {shorten(name, 60)}" for name in strange[:5]]
            lines = [*listed, *warned, *await self._state.details(), *lines]
        return 503 if wrong else 200, "".join(f"{line}\n" for line in lines), b""


class _Side(Service[Connection]):
    """Answers a side port by the head of a request; a body is not read."""

    def __init__(self, answer: Callable[[Head], Awaitable[_Answer]]) -> None:
        self._answer = answer

    async def answer_long(self, connection: Connection, head: Head) -> None:
        """Sends the answer."""
        status, text, lines = await self._answer(head)
        kind, body = (_PLAIN_TYPE, text.encode()) if isinstance(text, str) else (_METRICS_TYPE, text)
        await connection.send(Reply(status, body, kind + lines))


def _uncounted(_name: str) -> None:
    """Bounds of side ports are in no metric."""


async def _follow(context: ReloadingContext) -> None:
    """Reloads the certificate; the server of webhooks, which serves the same one, reports its problems."""
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        context.refresh()


class Handshake:
    """Check by a TLS handshake in memory, once a minute for each pair and bundle, that clients trust the listener's certificate."""

    def __init__(self, context: ReloadingContext, server_name: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Without a server name nothing is verified."""
        self._context, self._server_name, self._clock = context, server_name, clock
        self._good: tuple[object, bytes, float] | None = None  # the leaf, the bundle, and when they went together

    def reasons(self, bundle: bytes) -> list[str]:
        """Lists why a client that trusts the bundle would not get through; empty when it does."""
        leaf, now = self._context.leaf, self._clock()
        if self._good is not None and self._good[:2] == (leaf, bundle) and now - self._good[2] < SUCCESS_LIFETIME_SECONDS:
            return []
        try:
            self._shake(bundle)
        except ssl.SSLCertVerificationError as error:
            return [f"a handshake with ourselves as {self._server_name} failed: {error.verify_message}"]
        except OSError as error:
            return [f"a handshake with ourselves failed: {getattr(error, 'reason', None) or type(error).__name__}"]
        self._good = leaf, bundle, now
        return []

    def _shake(self, bundle: bytes) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = bool(self._server_name)
        context.verify_mode = ssl.CERT_REQUIRED if self._server_name else ssl.CERT_NONE
        if self._server_name:
            for each in read_certificates(bundle):
                context.load_verify_locations(cadata=each.der)
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(back, there, server_hostname=self._server_name or "localhost")
        server = self._context.tls.wrap_bio(there, back, server_side=True)
        for _ in range(2):
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
            with contextlib.suppress(ssl.SSLWantReadError):
                server.do_handshake()
        client.do_handshake()  # done, or an error
