"""Waiting and working times of keys by kind, for metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from ...kube.metrics import observe
from ..common.keys import Key

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class QueueStatistics:
    """The statistics of a queue. A waiting key that is added again isn't counted."""

    __slots__ = ("_began", "_came", "_clock", "added", "repeated", "waited", "worked")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._came: dict[Key, float] = {}
        self._began: dict[Key, float] = {}
        self.added: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()  # delayed, after an error or for another look
        self.waited: dict[str, list[float]] = {}
        self.worked: dict[str, list[float]] = {}

    def came(self, key: Key) -> None:
        """Record an added key."""
        if key not in self._came:
            self._came[key] = self._clock()
            self.added[key.kind] += 1

    def began(self, key: Key) -> None:
        """Record the begin of a pass."""
        now = self._began[key] = self._clock()
        observe(self.waited, key.kind, BUCKETS, now - self._came.pop(key, now))

    def ended(self, key: Key) -> None:
        """Record the end of a pass."""
        began = self._began.pop(key, None)
        if began is not None:
            observe(self.worked, key.kind, BUCKETS, self._clock() - began)

    def put_off(self, key: Key) -> None:
        """Record a delayed key."""
        self.repeated[key.kind] += 1

    def running(self) -> dict[str, list[float]]:
        """The seconds of each running pass, by kind."""
        now = self._clock()
        found: dict[str, list[float]] = {}
        for key, began in self._began.items():
            found.setdefault(key.kind, []).append(now - began)
        return found

    def clear(self) -> None:
        """Forget waiting and running keys; keep the counts."""
        self._came.clear()
        self._began.clear()
