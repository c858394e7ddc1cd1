"""A queue that is fair to client addresses: next is who used the least CPU lately, and of that client a small entry before a large one."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container

T = TypeVar("T")

BYTES_A_SECOND: Final = 2 * 1024 * 1024  # a larger entry waits as if it had come so much later, so that it isn't passed by for ever
HALF_SECONDS: Final = 10.0  # after which half of what a client used is forgotten
_FORGOTTEN: Final = 0.001  # seconds of CPU: whoever used less is as good as new
_KNOWN: Final = 1_000  # clients that are remembered before the forgotten ones are looked for


class FairQueue(Generic[T]):
    """Entries that wait, by client. Taking one costs a look at each waiting client; there are at most as many as connections."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Starts empty."""
        self._clock = clock
        self._waiting: dict[str, list[tuple[float, int, T]]] = {}
        self._used: dict[str, tuple[float, float]] = {}  # seconds of CPU, and when that was so
        self._order = itertools.count()
        self._length = 0

    def __len__(self) -> int:
        """How many entries wait."""
        return self._length

    def put(self, client: str, size: int, entry: T) -> None:
        """Adds an entry of so many bytes; of one client's entries that come at one time the smallest is taken first."""
        due = self._clock() + size / BYTES_A_SECOND
        heapq.heappush(self._waiting.setdefault(client, []), (due, next(self._order), entry))
        self._length += 1

    def take(self, without: Container[str] = ()) -> tuple[str, T] | None:
        """Removes the next entry that isn't of a client in `without`, and returns its client and itself; None when there is none."""
        if not self._waiting:
            return None
        now = self._clock()
        client = min((each for each in self._waiting if each not in without), key=lambda each: self._recently(each, now), default=None)
        if client is None:
            return None
        entries = self._waiting[client]
        entry = heapq.heappop(entries)[2]
        if not entries:
            del self._waiting[client]
        self._length -= 1
        return client, entry

    def charge(self, client: str, seconds: float) -> None:
        """Notes that a client has used so many seconds of CPU."""
        now = self._clock()
        self._used[client] = (self._recently(client, now) + seconds, now)
        if len(self._used) > _KNOWN:
            self._used = {each: used for each, used in self._used.items() if self._recently(each, now) >= _FORGOTTEN}

    def _recently(self, client: str, now: float) -> float:
        seconds, then = self._used.get(client, (0.0, now))
        return seconds * math.pow(0.5, (now - then) / HALF_SECONDS)


def client_of(peer: object) -> str:
    """The client that a socket's peer name belongs to: its IPv4 address, or the 64 bits of an IPv6 one that name its network."""
    host = peer[0] if isinstance(peer, (tuple, list)) and peer else ""
    if not isinstance(host, str) or ":" not in host:
        return str(host)
    try:
        address = IPv6Address(host)
    except ValueError:
        return host
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
