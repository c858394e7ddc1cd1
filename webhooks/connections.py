"""The open connections of a process, and the bounds of their number: in all and of a client."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Final

from .connection import Connection
from .limits import Bound, Limits
from .service import Service

# Connections beyond the bound, for clients with few, while others are accepted and not open yet: these can't go
_SPARE_CONNECTIONS: Final = 32
_MAX_SPARE_OF_CLIENT: Final = 4  # a kubelet asks for liveness and readiness at once, and its last connections may not have ended


class Connections:
    """Open connections, and those whose handshake is not finished."""

    def __init__(
        self,
        service: Service[Connection],
        limits: Limits,
        on_bound: Callable[[Bound], None],
        count: Callable[[str], None],
        generation: Callable[[], int] = lambda: 0,
        on_leave: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_bound` counts bounds, `count` connections; `generation` is that of `Callers`, `on_leave` is called at an end."""
        self.open: dict[Connection, None] = {}  # those that may send requests, the oldest first
        self._service, self._on_leave = service, on_leave
        self._limits, self._on_bound, self._count, self._generation = limits, on_bound, count, generation
        self._of: Counter[str] = Counter()  # by client
        self._all = 0
        self.draining = False  # whether each connection ends with its next answer
        self._closed = asyncio.Event()  # one more

    def admit(self, client: str) -> bool:
        """Counts one more connection of a client; false if there are too many, and none of them may go. Costs no handshake."""
        if self._all >= self._limits.connections or self._of[client] >= self._limits.client_connections:
            self._on_bound(Bound.CONNECTIONS)
            if not (self._make_room(client) or self._has_spare(client)):
                self._count("connections_refused")
                return False
        self._count("connections")
        self._of[client] += 1
        self._all += 1
        return True

    def leave(self, client: str) -> None:
        """Counts one less."""
        self._on_leave()
        self._all -= 1
        self._of[client] -= 1
        if not self._of[client]:
            del self._of[client]

    def make(self, client: str) -> Connection:
        """The protocol of a connection that has been admitted; it leaves by itself."""
        made = Connection(self._service, self._limits, self._on_bound, self._generation(), self, client)
        made.last = self.draining
        return made

    def opened(self, connection: Connection) -> None:
        """A connection may send requests."""
        self.open[connection] = None

    def closed(self, connection: Connection) -> None:
        """A connection is at its end."""
        self.open.pop(connection, None)
        self._closed.set()

    def begin_drain(self) -> None:
        """Lets each connection end with its next answer."""
        self.draining = True
        for connection in self.open:
            connection.last = True

    async def drain(self) -> None:
        """Finishes what has begun to come, and closes all connections."""
        self.begin_drain()
        for connection in list(self.open):
            connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.drain_seconds):
                while self.open:
                    self._closed.clear()
                    await self._closed.wait()
        for connection in list(self.open):
            self._on_bound(Bound.DRAIN_SECONDS)
            connection.abort()
        await asyncio.sleep(0)

    def _has_spare(self, client: str) -> bool:
        return self._of[client] < _MAX_SPARE_OF_CLIENT and len(self.open) < self._all < self._limits.connections + _SPARE_CONNECTIONS

    def _make_room(self, client: str) -> bool:
        """Closes a connection of the client that has most, unless this one would have as many; first those without a request.

        So no client keeps others out. Visits each connection once, and drops no request that has arrived.
        """
        own = self._of[client] >= self._limits.client_connections
        [(most, count)] = [(client, 0)] if own else self._of.most_common(1)
        if not own and count <= self._of[client] + 1:
            return False
        theirs = [each for each in self.open if each.client == most and not each.last]
        if (idle := next((each for each in theirs if each.head is None), None)) is not None:
            idle.last = True
            idle.leave()
            idle.end()
            return True
        slow = next((each for each in theirs if each.reading), None)
        if own or slow is None:
            return False
        slow.last = True
        slow.leave()
        slow.abort()
        return True
