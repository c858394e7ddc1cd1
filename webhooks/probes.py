"""The side listeners: /healthz and /readyz for the kubelet, /metrics for Prometheus. What they report comes from a `State`."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Protocol, cast

from aiohttp.web import BaseRequest, Response, Server, StreamResponse

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    from certs.context import ReloadingContext

PROBES = frozenset({"/healthz", "/readyz"})
METRICS = frozenset({"/metrics"})
_POLL_SECONDS = 5.0  # between two looks at the certificate of a listener with TLS


class State(Protocol):
    """What a serving process, or a supervisor of several, tells of itself."""

    async def reasons(self) -> list[str]:
        """Why requests must not be sent here; empty when ready."""
        ...

    async def metrics(self) -> bytes:
        """All metrics as text."""
        ...


class Probes:
    """One or two plain HTTP listeners; they live until the process ends, so that a draining server can say so."""

    def __init__(self, state: State, details: Callable[[], Awaitable[list[str]]] | None = None) -> None:
        """Listens on nothing yet. `details` are lines for people who ask verbosely; nothing that readiness depends on."""
        self._state, self._details = state, details
        self._listeners: list[asyncio.AbstractServer] = []
        self._servers: list[Server] = []
        self._watches: list[asyncio.Task[None]] = []

    async def listen(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, paths: frozenset[str], context: ReloadingContext | None = None
    ) -> None:
        """Serves some of the paths on a bound socket, over TLS when there is a context, which is kept fresh."""

        async def handle(request: BaseRequest) -> StreamResponse:
            path, _, query = request.raw_path.partition("?")
            if path not in paths:
                return Response(status=404, text=f"not found; served here: {', '.join(sorted(paths))}\n")
            if request.method not in ("GET", "HEAD"):
                return Response(status=405, text="must be read with GET\n", headers={"Allow": "GET, HEAD"})
            return await self._answer(path, verbose="verbose" in re.split("[&=]", query))

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

    async def _answer(self, path: str, *, verbose: bool) -> StreamResponse:
        if path == "/healthz":
            return Response(text="ok\n")
        if path == "/metrics":
            body = await self._state.metrics()
            return Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
        reasons = await self._state.reasons()
        details = await self._details() if verbose and self._details is not None else []
        lines = [*(f"not ready: {reason}" for reason in reasons), *details, *([] if reasons else ["ok"])]
        return Response(status=503 if reasons else 200, text="".join(f"{line}\n" for line in lines))


async def _follow(context: ReloadingContext) -> None:
    """Keeps a certificate fresh; what is wrong with one is told by the server that serves webhooks with it."""
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        context.refresh()
