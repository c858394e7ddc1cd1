"""How long keys wait for their turn and how long it takes, by kind: plain numbers, for metrics. What comes next is the queue's business."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.series import observe

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.reconciler.loop.keys import Key


class QueueStatistics:
    """What a queue tells of itself. A key that comes while it waits already is not counted again."""

    __slots__ = ("_began", "_came", "_clock", "added", "repeated", "waited", "worked")

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begins at zero."""
        self._clock = clock
        self._came: dict[Key, float] = {}
        self._began: dict[Key, float] = {}
        self.added: Counter[tuple[str]] = Counter()
        self.repeated: Counter[tuple[str]] = Counter()  # put off until later, after an error or to look again
        self.waited: dict[tuple[str], list[float]] = {}
        self.worked: dict[tuple[str], list[float]] = {}

    def came(self, key: Key) -> None:
        """It is to be worked on, as soon as somebody is free and nobody works on it."""
        if key not in self._came:
            self._came[key] = self._clock()
            self.added[key.kind,] += 1

    def began(self, key: Key) -> None:
        """Somebody works on it."""
        now = self._began[key] = self._clock()
        observe(self.waited, (key.kind,), now - self._came.pop(key, now))

    def ended(self, key: Key) -> None:
        """Nobody does any more."""
        began = self._began.pop(key, None)
        if began is not None:
            observe(self.worked, (key.kind,), self._clock() - began)

    def put_off(self, key: Key) -> None:
        """It will come again by itself."""
        self.repeated[key.kind,] += 1

    def running(self) -> dict[str, list[float]]:
        """The seconds for which each key is being worked on by now, by kind."""
        now = self._clock()
        found: dict[str, list[float]] = {}
        for key, began in self._began.items():
            found.setdefault(key.kind, []).append(now - began)
        return found

    def clear(self) -> None:
        """Forgets what waits and what is being worked on; what was counted stays."""
        self._came.clear()
        self._began.clear()
