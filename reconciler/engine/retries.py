"""Counts tries at things: what fails is tried less and less often."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

FIRST_PAUSE_SECONDS: Final = 10.0  # seconds before the second try; the first one is at once
MAX_RETRY_SECONDS: Final = 300.0
TRY_MEMORY_SECONDS: Final = 600.0  # seconds after which a try no longer counts
MAX_CACHED_TRIES: Final = 5000  # those that are forgotten earlier are tried at once


class Tries(NamedTuple):
    """The recent tries at one thing."""

    times: int = 0
    last: float = 0.0
    why: str = ""  # of the last one

    @property
    def pause(self) -> float:
        """Seconds between the last try and the next."""
        return min(MAX_RETRY_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self.times - 1)) if self.times else 0.0


class Retries:
    """Counts tries at things by their names."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: OrderedDict[tuple[str, ...], Tries] = OrderedDict()

    def find(self, name: tuple[str, ...]) -> Tries:
        """The recent tries."""
        tries = self._tries.get(name, Tries())
        return tries if self._clock() - tries.last < TRY_MEMORY_SECONDS else Tries()

    def left(self, name: tuple[str, ...]) -> float:
        """Seconds until the next try; 0 for now."""
        tries = self.find(name)
        return max(0.0, tries.last + tries.pause - self._clock()) if tries.times else 0.0

    def note(self, name: tuple[str, ...], why: str) -> None:
        """A try was made."""
        self._tries[name] = Tries(self.find(name).times + 1, self._clock(), why)
        self._tries.move_to_end(name)
        if len(self._tries) > MAX_CACHED_TRIES:
            self._tries.popitem(last=False)
