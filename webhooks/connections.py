"""The open connections of a process, and the bounds of their number: in all and of a client."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final, cast

from aiohttp.web import BaseRequest, RequestHandler, Server, StreamResponse

from .connection import Connection
from .limits import Bound, Limits
from .reply import Reply

_LOOK_SECONDS: Final = 0.02  # aiohttp does not report its last connection
# Connections beyond the bound, for clients with few, while others are accepted and not open yet: these can't go
_SPARE: Final = 32
_FEW: Final = 4  # a kubelet asks for liveness and readiness at once, and its last connections may not have ended


class Connections:
    """Open connections, and those whose handshake is not finished."""

    def __init__(
        self,
        handle: Callable[[BaseRequest], Awaitable[StreamResponse]],
        limits: Limits,
        met: Callable[[Bound], None],
        count: Callable[[str], None],
        generation: Callable[[], int] = lambda: 0,
        left: Callable[[], None] = lambda: None,
        at_once: Callable[[BaseRequest], Reply | None] | None = None,
        by_head: Callable[[Connection, bytes], Reply | None] | None = None,
    ) -> None:
        """`met` counts bounds, `count` connections; `generation` is that of `Callers`, `left` is called at an end.

        `at_once` returns the reply to a request that has come whole, or None to have it handled as any other; `by_head` that to the bytes
        of a request, or None to have them parsed.
        """
        self.http = Server(cast("Any", handle))
        self.busy: set[object] = set()  # connections whose request has begun to arrive, is being converted, or is being answered at length
        self._left, self._at_once, self._by_head = left, at_once, by_head
        self._limits, self._met, self._count, self._generation = limits, met, count, generation
        self._loop = asyncio.get_running_loop()
        self._of: Counter[str] = Counter()  # by client
        self._all = 0

    @property
    def open(self) -> list[Connection]:
        """Those that may send requests."""
        return cast("list[Connection]", self.http.connections)

    def admit(self, client: str) -> bool:
        """Counts one more connection of a client; false if there are too many, and none of them may go. Costs no handshake."""
        if self._all >= self._limits.connections or self._of[client] >= self._limits.client_connections:
            self._met(Bound.CONNECTIONS)
            if not (self._made_room(client) or self._has_spare(client)):
                self._count("connections_refused")
                return False
        self._count("connections")
        self._of[client] += 1
        self._all += 1
        return True

    def leave(self, client: str) -> None:
        """Counts one less."""
        self._left()
        self._all -= 1
        self._of[client] -= 1
        if not self._of[client]:
            del self._of[client]

    def make(self, client: str) -> Connection:
        """The protocol of a connection that has been admitted; it leaves by itself."""
        gone = partial(self.leave, client)
        return Connection(self.http, self._loop, self._limits, self._met, self._generation(), gone, self._at_once, self._by_head)

    def close_idle(self, connections: Iterable[RequestHandler]) -> None:
        """Closes those on which nothing is being worked on; a request that has arrived is answered."""
        for connection in connections:
            if connection not in self.busy:
                connection.close()
                if cast("Connection", connection).unread is not None:  # answered without the rest of its body
                    connection.force_close()

    async def drain(self) -> None:
        """Finishes what has arrived, and closes all connections."""
        deadline = self._loop.time() + self._limits.drain_seconds
        self.close_idle(self.open)
        while self.open and self._loop.time() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
            # an earlier response doesn't announce the end of its connection
            self.close_idle([each for each in self.open if each.answered])
        for _ in self.open:
            self._met(Bound.DRAIN_SECONDS)
        await self.http.shutdown(0.1)

    def _has_spare(self, client: str) -> bool:
        return self._of[client] < _FEW and len(self.open) < self._all < self._limits.connections + _SPARE

    def _made_room(self, client: str) -> bool:
        """Closes a connection of the client that has most, unless this one would have as many; first those without a request.

        So no client keeps others out. Visits each connection once, and drops no request that has arrived.
        """
        own = self._of[client] >= self._limits.client_connections
        [(most, count)] = [(client, 0)] if own else self._of.most_common(1)
        if not own and count <= self._of[client] + 1:
            return False
        theirs = [each for each in self.open if each.client == most and not each.last]
        if (idle := next((each for each in theirs if each not in self.busy), None)) is not None:
            idle.last = True
            idle.leave()
            self.close_idle([idle])
            return True
        slow = next((each for each in theirs if each.reading), None)
        if own or slow is None or slow.transport is None:
            return False
        slow.last = True
        slow.leave()
        slow.transport.abort()
        return True
