"""Waiting and working times of keys by kind, for metrics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.series import observe

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.reconciler.loop.keys import Key


class QueueStatistics:
    """The statistics of a queue. A waiting key that is added again isn't counted."""

    __slots__ = ("_began", "_came", "_clock", "added", "repeated", "waited", "worked")

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start at zero."""
        self._clock = clock
        self._came: dict[Key, float] = {}
        self._began: dict[Key, float] = {}
        self.added: Counter[tuple[str]] = Counter()
        self.repeated: Counter[tuple[str]] = Counter()  # delayed, after an error or for another look
        self.waited: dict[tuple[str], list[float]] = {}
        self.worked: dict[tuple[str], list[float]] = {}

    def came(self, key: Key) -> None:
        """Record an added key."""
        if key not in self._came:
            self._came[key] = self._clock()
            self.added[key.kind,] += 1

    def began(self, key: Key) -> None:
        """Record the begin of a pass."""
        now = self._began[key] = self._clock()
        observe(self.waited, (key.kind,), now - self._came.pop(key, now))

    def ended(self, key: Key) -> None:
        """Record the end of a pass."""
        began = self._began.pop(key, None)
        if began is not None:
            observe(self.worked, (key.kind,), self._clock() - began)

    def put_off(self, key: Key) -> None:
        """Record a delayed key."""
        self.repeated[key.kind,] += 1

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
