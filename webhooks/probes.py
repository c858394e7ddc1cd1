"""The plain listeners: /healthz and /readyz for the kubelet, /metrics for Prometheus. What they report comes from a `State`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from aiohttp.web import BaseRequest, Response, Server, StreamResponse

if TYPE_CHECKING:
    import asyncio
    import socket

PROBES = frozenset({"/healthz", "/readyz"})
METRICS = frozenset({"/metrics"})


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

    def __init__(self, state: State) -> None:
        """Listens on nothing yet."""
        self._state = state
        self._listeners: list[asyncio.AbstractServer] = []
        self._servers: list[Server] = []

    async def listen(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, paths: frozenset[str]) -> None:
        """Serves some of the paths on a bound socket."""

        async def handle(request: BaseRequest) -> StreamResponse:
            path = request.raw_path.partition("?")[0]
            if path not in paths:
                return Response(status=404, text=f"not found; served here: {', '.join(sorted(paths))}\n")
            if request.method not in ("GET", "HEAD"):
                return Response(status=405, text="must be read with GET\n", headers={"Allow": "GET, HEAD"})
            return await self._answer(path)

        server = Server(handle, access_log=cast("Any", None), keepalive_timeout=60, lingering_time=0, max_line_size=4096, max_headers=64)
        self._servers.append(server)
        self._listeners.append(await loop.create_server(server, sock=sock))

    async def close(self) -> None:
        """Stops listening and closes all connections."""
        for listener in self._listeners:
            listener.close()
        for server in self._servers:
            await server.shutdown(0.1)

    async def _answer(self, path: str) -> StreamResponse:
        if path == "/healthz":
            return Response(text="ok\n")
        if path == "/metrics":
            body = await self._state.metrics()
            return Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
        reasons = await self._state.reasons()
        if reasons:
            return Response(status=503, text="".join(f"not ready: {reason}\n" for reason in reasons))
        return Response(text="ok\n")
