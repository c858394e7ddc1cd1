"""The side listeners: /healthz and /readyz for the kubelet, /metrics for Prometheus. What they report comes from a `Probed` process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import parse_qsl

from aiohttp.web import BaseRequest, Response, Server, StreamResponse

from dynamo_webhooks.api.wording import shortened

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Collection

    from dynamo_webhooks.certs.context import ReloadingContext
    from dynamo_webhooks.webhooks.metrics_access import MetricsAccess

PROBES = frozenset({"/healthz", "/readyz"})
METRICS = frozenset({"/metrics"})
_ALSO = {"/healthz/healthz": "/healthz", "/readyz/readyz": "/readyz"}  # the only check of each, as the Go operator names it
_POLL_SECONDS = 5.0  # between two looks at the certificate of a listener with TLS


class Probed(Protocol):
    """The probes' view of a serving process, or of a supervisor."""

    async def checks(self) -> dict[str, list[str]]:
        """By the name of each check why requests must not be sent here; all lists are empty when ready."""
        ...

    async def metrics(self) -> bytes:
        """All metrics as text."""
        ...


class Probes:
    """One or two plain HTTP listeners, open until the process ends, so that draining is visible."""

    def __init__(self, state: Probed, details: Callable[[], Awaitable[list[str]]] | None = None) -> None:
        """Listens on nothing yet. `details` are lines for people who ask verbosely; nothing that readiness depends on."""
        self._state, self._details = state, details
        self._listeners: list[asyncio.AbstractServer] = []
        self._servers: list[Server] = []
        self._watches: list[asyncio.Task[None]] = []

    async def listen(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        paths: frozenset[str],
        context: ReloadingContext | None = None,
        access: MetricsAccess | None = None,
    ) -> None:
        """Serves some of the paths on a bound socket, over TLS when there is a context, which is kept fresh; `access` guards metrics."""

        async def handle(request: BaseRequest) -> StreamResponse:
            path, _, query = request.raw_path.partition("?")
            path = _ALSO.get(path, path)
            asked = parse_qsl(query, keep_blank_values=True)
            if path not in paths:
                return Response(status=404, text=f"not found; served here: {', '.join(sorted(paths))}\n")
            if request.method not in ("GET", "HEAD"):
                return Response(status=405, text="must be read with GET\n", headers={"Allow": "GET, HEAD"})
            refusal = await access.refusal(request.headers.get("Authorization", "")) if access is not None and path in METRICS else None
            if refusal is not None:
                headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
                return Response(status=refusal.status, text=refusal.text + "\n", headers=headers)
            return await self._answer(path, dict.fromkeys(key for key, _ in asked), {value for key, value in asked if key == "exclude"})

        server = Server(handle, access_log=cast("Any", None), keepalive_timeout=60, lingering_time=0, max_line_size=4096, max_headers=64)
        self._servers.append(server)
        if context is not None:
            context.refresh()
            self._watches.append(loop.create_task(_follow(context)))
        self._listeners.append(await loop.create_server(server, sock=sock, ssl=context.tls if context is not None else None))

    async def close(self) -> None:
        """Stops listening and closes all connections."""
        for watch in self._watches:
            watch.cancel()
        for listener in self._listeners:
            listener.close()
        for server in self._servers:
            await server.shutdown(0.1)

    async def _answer(self, path: str, asked: Collection[str], exclude: set[str]) -> StreamResponse:
        if path == "/healthz":
            return Response(text="ok\n")
        if path == "/metrics":
            body = await self._state.metrics()
            return Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
        return await self._readiness(verbose="verbose" in asked, exclude=exclude)

    async def _readiness(self, *, verbose: bool, exclude: set[str]) -> StreamResponse:
        """`verbose` lists all checks, and what is wrong though requests can be served; excluded checks count as passed."""
        checks = await self._state.checks()
        wrong = [f"not ready: {reason}" for name, reasons in checks.items() if name not in exclude for reason in reasons]
        lines = [*wrong] if wrong else ["ok"]
        if verbose:
            listed = [
                f"[+]{name} excluded" if name in exclude else f"[-]{name} failed" if reasons else f"[+]{name} ok"
                for name, reasons in checks.items()
            ]
            strange = sorted(exclude - checks.keys())
            warned = [f"warn: no check is called {shortened(name, 60)}" for name in strange[:5]]
            lines = [*listed, *warned, *(await self._details() if self._details is not None else []), *lines]
        return Response(status=503 if wrong else 200, text="".join(f"{line}\n" for line in lines))


async def _follow(context: ReloadingContext) -> None:
    """Keeps a certificate fresh; what is wrong with one is told by the server that serves webhooks with it."""
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        context.refresh()
