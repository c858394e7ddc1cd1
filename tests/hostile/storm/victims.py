"""Clients that mean no harm, beside a storm: what each was answered, and how long the server worked before the answer.

Their clock is the CPU time of the server: it tells how much it does for others first, however busy the machine is.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from tests.footprint import spent
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import Client

WAIT_SECONDS: Final = 10.0  # as an API server
PROBE_WAIT_SECONDS: Final = 5.0  # as the manifests have it
PAUSE: Final = 1.0  # seconds between two fresh connections, and between two probes
_BODY: Final = review(graph())
SOURCE: Final = "127.0.1.1"  # an address of its own, as an API server's: none of the generator shares its turns


@dataclass(slots=True)
class Seen:
    """What one victim has seen."""

    name: str
    answered: int = 0
    longest: float = 0.0  # seconds, in all
    behind: float = 0.0  # seconds of CPU that the server used meanwhile, at most
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        waited = f"the longest in {self.longest:.2f} s, behind {self.behind:.2f} s of work"
        return f"{self.name}: {self.answered} answered, {waited}, {len(self.failures)} failed {self.failures[:3]}"


class Victims:
    """All victims of one server. `lag` is how late their own loop was at worst, which is part of each time."""

    def __init__(self, process: int, at: tuple[str, int], probes: int, context: ssl.SSLContext, name: str) -> None:
        """`process` is the server's, `name` that of the certificate."""
        self._process = process
        self._at, self._probes, self._context, self._name = at, probes, context, name
        self.kept, self.fresh, self.ready, self.alive = (Seen(name) for name in ("kept", "fresh", "/readyz", "/healthz"))
        self.lag = 0.0
        self._connection: Client | None = None

    @property
    def all(self) -> tuple[Seen, ...]:
        """What each has seen."""
        return self.kept, self.fresh, self.ready, self.alive

    async def until(self, end: asyncio.Event) -> None:
        """Asks until the end."""
        async with asyncio.TaskGroup() as group:
            for seen, pause, patience, ask in (
                (self.kept, 0.1, WAIT_SECONDS, self._ask),
                (self.fresh, PAUSE, WAIT_SECONDS, self._ask_anew),
                (self.ready, PAUSE, PROBE_WAIT_SECONDS, lambda: self._probe("/readyz")),
                (self.alive, PAUSE, PROBE_WAIT_SECONDS, lambda: self._probe("/healthz")),
            ):
                group.create_task(self._repeat(seen, pause, patience, ask, end))
            group.create_task(self._watch_lag(end))
        if self._connection is not None:
            self._connection.writer.transport.abort()

    async def _ask(self) -> str:
        if self._connection is None:
            self._connection = await self._connect()
        try:
            complaint = await _judged(self._connection)
        except BaseException:
            self._connection.writer.transport.abort()
            self._connection = None
            raise
        return complaint

    async def _ask_anew(self) -> str:
        connection = await self._connect()
        try:
            return await _judged(connection)
        finally:
            connection.writer.transport.abort()

    async def _connect(self) -> Client:
        opened = asyncio.open_connection(*self._at, ssl=self._context, server_hostname=self._name, local_addr=(SOURCE, 0))
        return Client(*await opened)

    async def _probe(self, path: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._probes)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
            return "" if answer.startswith(b"HTTP/1.1 200 ") else repr(answer[-200:])
        finally:
            writer.close()

    async def _repeat(self, seen: Seen, pause: float, patience: float, ask: Callable[[], Awaitable[str]], end: asyncio.Event) -> None:
        clock = asyncio.get_running_loop().time
        while not end.is_set():
            began, worked = clock(), spent(self._process)
            try:
                async with asyncio.timeout(patience):
                    complaint = await ask()
            except (OSError, EOFError, TimeoutError) as error:
                complaint = repr(error)
            took = clock() - began
            seen.longest = max(seen.longest, took)
            seen.behind = max(seen.behind, spent(self._process) - worked)
            if complaint:
                seen.failures.append(f"after {took:.2f} s: {complaint}")
            else:
                seen.answered += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, began + pause - clock())):
                    await end.wait()

    async def _watch_lag(self, end: asyncio.Event) -> None:
        clock = asyncio.get_running_loop().time
        while not end.is_set():
            due = clock() + 0.02
            await asyncio.sleep(0.02)
            self.lag = max(self.lag, clock() - due)


async def _judged(connection: Client) -> str:
    """What is wrong with the answer to a review."""
    answer = await connection.post(GRAPHS, _BODY)
    return "" if answer.status == 200 else f"{answer.status} {answer.body[:200]!r}"
