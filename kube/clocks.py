"""The clocks by which a process waits, retries and lets things expire, of which tests bring their own, and waits after errors."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from .times import now


@dataclass(frozen=True, slots=True)
class Clocks:
    """The local clocks; `chance` gives numbers from 0 to 1, by which replicas don't act at the same moment."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], datetime] = now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


LOCAL = Clocks()


class Backoff:
    """The time to wait before asking again after an error: doubled each time, up to a limit, and never the same for two replicas."""

    def __init__(self, first: float = 0.5, most: float = 30.0, chance: Callable[[], float] = random.random) -> None:
        """`first` and `most` are seconds; `chance` gives a number from 0 to 1."""
        self._first, self._most, self._chance = first, most, chance
        self.errors = 0  # in a row

    def next(self) -> float:
        """Seconds to wait after one more error: between half and the whole of the doubled time."""
        whole = min(self._most, self._first * 2.0 ** min(self.errors, 32))
        self.errors += 1
        return whole * (0.5 + self._chance() / 2)

    def slow(self) -> float:
        """Seconds to wait for what a person has to change: near the limit at once."""
        return self._most * (0.5 + self._chance() / 2)

    def reset(self) -> None:
        """An answer came."""
        self.errors = 0
