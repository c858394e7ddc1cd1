"""A queue that is fair to client addresses: next is the client that has used the least CPU, and its small entries before its large ones.

This is start-time fair queueing. Virtual time is the CPU time that each waiting client has been given; after a pause, a client starts at
the present virtual time. A pause is therefore no credit: new clients don't go before one that sends little, but steadily.
"""

import heapq
import itertools
import time
from collections.abc import Callable, Container
from ipaddress import IPv6Address
from typing import Final, Generic, TypeVar

T = TypeVar("T")

BYTES_PER_SECOND: Final = 2 * 1024 * 1024  # a larger entry waits as if it had come so much later, so that it isn't passed by for ever
MAX_COST: Final = 0.05  # the most that is expected of an entry: a client with longer ones doesn't wait longer for that
_MAX_CACHED_CLIENTS: Final = 1_000  # before those that owe nothing are dropped


class FairQueue(Generic[T]):
    """Entries that wait, by client. Taking one costs a look at each waiting client; there are at most as many as connections."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, list[tuple[float, int, T]]] = {}
        self._virtual, self._updated = 0.0, clock()  # the virtual time, and when that was so
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
        due = self._clock() + size / BYTES_PER_SECOND
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
        if len(self._starts) > _MAX_CACHED_CLIENTS:
            self._starts = {each: start for each, start in self._starts.items() if each in self._waiting or start > self._virtual}
            self._costs = {each: cost for each, cost in self._costs.items() if each in self._starts}

    def _start(self, client: str) -> float:
        """The virtual time at which a client may go on. While no entry waits, virtual time passes as the clock's does."""
        now = self._clock()
        if not self._waiting:
            self._virtual += now - self._updated
        self._updated = now
        return max(self._virtual, self._starts.get(client, 0.0))

    def _forget(self, client: str) -> None:
        del self._waiting[client]
        self._updated = self._clock()

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
