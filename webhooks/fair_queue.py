"""A queue that is fair to client addresses: next is the client that has used the least CPU, and its small entries before its large ones.

This is start-time fair queueing. Virtual time is the CPU time that each waiting client has been given; after a pause, a client starts at
the present virtual time. A pause is therefore no credit: new clients don't go before one that sends little, but steadily.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable, Container, Iterator
from ipaddress import IPv6Address
from typing import Any, Final, Generic, TypeVar

from .envelope import Answer

T = TypeVar("T")

BYTES_A_SECOND: Final = 2 * 1024 * 1024  # a larger entry waits as if it had come so much later, so that it isn't passed by for ever
MAX_COST: Final = 0.05  # the most that is expected of an entry: a client with longer ones doesn't wait longer for that
_KNOWN: Final = 1_000  # clients that are remembered before those that owe nothing are dropped
STEPS_SECONDS: Final = 0.0005  # of steps that make one piece of work
TURN_SECONDS: Final = 0.004  # of work between two looks at the sockets; a request that has begun is finished
_UNCOUNTED: Final = 0.001  # of work that may be of earlier turns: to be called in each costs more than a request's answer is written in


class FairQueue(Generic[T]):
    """Entries that wait, by client. Taking one costs a look at each waiting client; there are at most as many as connections."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, list[tuple[float, int, T]]] = {}
        self._virtual, self._seen = 0.0, clock()  # the virtual time, and when that was so
        self._starts: dict[str, float] = {}  # by client: the virtual time from which on its next entry may be taken
        self._costs: dict[str, float] = {}  # by client: seconds of CPU that an entry takes, as a moving average
        self._average = 0.0  # of all clients, which is expected of a new one
        self._order = itertools.count()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, client: str, size: int, entry: T) -> None:
        """Adds an entry of so many bytes; of one client's entries that come at one time the smallest is taken first."""
        if client not in self._waiting:
            self._starts[client] = self._start(client)
            self._waiting[client] = []
        due = self._clock() + size / BYTES_A_SECOND
        heapq.heappush(self._waiting[client], (due, next(self._order), entry))
        self._length += 1

    def take(self, without: Container[str] = ()) -> tuple[str, T] | None:
        """Removes the next entry that isn't of a client in `without`, and returns its client and itself; None when there is none."""
        client = min((client for client in self._waiting if client not in without), key=self._expected_end, default=None)
        if client is None:
            return None
        self._virtual = max(self._virtual, self._starts[client])
        entries = self._waiting[client]
        entry = heapq.heappop(entries)[2]
        self._length -= 1
        if not entries:
            self._forget(client)
        return client, entry

    def remove(self, client: str, entry: T) -> None:
        """Removes an entry that waits, if it does. Costs a look at each entry of its client."""
        entries = self._waiting.get(client, [])
        kept = [each for each in entries if each[2] is not entry]
        self._length -= len(entries) - len(kept)
        heapq.heapify(kept)
        if kept:
            self._waiting[client] = kept
        elif entries:
            self._forget(client)

    def charge(self, client: str, seconds: float) -> None:
        """Notes that a client has used so many seconds of CPU."""
        self._starts[client] = self._start(client) + seconds
        self._costs[client] = (self._costs.get(client, seconds) + seconds) / 2
        self._average = (self._average + seconds) / 2
        if len(self._starts) > _KNOWN:
            self._starts = {each: start for each, start in self._starts.items() if each in self._waiting or start > self._virtual}
            self._costs = {each: cost for each, cost in self._costs.items() if each in self._starts}

    def _start(self, client: str) -> float:
        """The virtual time at which a client may go on. While no entry waits, virtual time passes as the clock's does."""
        now = self._clock()
        if not self._waiting:
            self._virtual += now - self._seen
        self._seen = now
        return max(self._virtual, self._starts.get(client, 0.0))

    def _forget(self, client: str) -> None:
        del self._waiting[client]
        self._seen = self._clock()

    def _expected_end(self, client: str) -> float:
        return self._starts[client] + min(MAX_COST, self._costs.get(client, self._average))


def client_address(peer: object) -> str:
    """The client that a socket's peer name belongs to: its IPv4 address, or the 64 bits of an IPv6 one that name its network."""
    host = peer[0] if isinstance(peer, (tuple, list)) and peer else ""
    if not isinstance(host, str) or ":" not in host:
        return str(host)
    try:
        address = IPv6Address(host)
    except ValueError:
        return host
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


class ShortRequests:
    """Answers short requests in the event loop: at once while it is idle, else in a fair order.

    Without an order, a client with hundreds of connections would make all others wait for all of its requests. Here the loop spends at
    most a few milliseconds on answers between two looks at its sockets.
    """

    __slots__ = ("_clock", "_queue", "_reset", "_spent")

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._queue: FairQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = FairQueue()
        self._spent = 0.0  # seconds of work since the loop last looked at its sockets
        self._reset = False  # whether `_next` is called in the next turn of the loop

    async def through(self, client: str, size: int, steps: Iterator[Answer | None]) -> Answer:
        """Does work of so many bytes in steps, some of them as if they were a request; the first that is not None is the answer."""
        while (found := await self.run(client, lambda: self._some(steps), size)) is None:
            pass
        return found

    def _some(self, steps: Iterator[Answer | None]) -> Answer | None:
        """Does steps for as long as a request takes; a turn for each would cost 6 µs more."""
        end = self._clock() + STEPS_SECONDS
        while (found := next(steps)) is None and self._clock() < end:
            pass
        return found

    @property
    def free(self) -> bool:
        """Whether no client waits and this turn of the loop has time left."""
        return not self._queue and self._spent < TURN_SECONDS

    async def run(self, client: str, work: Callable[[], T], size: int = 0) -> T:
        """Works at once if `free`, else at the client's turn."""
        if self.free:
            return self.do(client, work)
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(client, size, (work, done))
        self._call_next()
        return await done

    def do(self, client: str, work: Callable[[], T]) -> T:
        """Works at once, which the caller has found free."""
        began = self._clock()
        try:
            return work()
        finally:
            seconds = self._clock() - began
            self._spent += seconds
            self._queue.charge(client, seconds)
            if self._queue or self._spent > _UNCOUNTED:
                self._call_next()

    def _call_next(self) -> None:
        if not self._reset:
            self._reset = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Begins a turn: answers those who wait, for as long as a turn may take."""
        self._reset, self._spent = False, 0.0
        while self._spent < TURN_SECONDS and (found := self._queue.take()) is not None:
            client, (work, done) = found
            if done.done():  # its client has left
                continue
            try:
                done.set_result(self.do(client, work))
            except Exception as error:  # noqa: BLE001 - the request's own handler deals with it
                done.set_exception(error)
