"""Waiting keys, in one lane for each cause and kind, and their order. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dynamo_webhooks.reconciler.loop.causes import Cause
    from dynamo_webhooks.reconciler.loop.keys import Key

FAIR: Final = 8  # one of so many turns goes to the longest waiting key, against starvation


class _Lane:
    """One lane; `served` is the number of its last turn."""

    __slots__ = ("keys", "served")

    def __init__(self) -> None:
        self.keys: OrderedDict[Key, int] = OrderedDict()  # ordered by number
        self.served = 0

    def first(self) -> int:
        """The number of the longest waiting key."""
        return next(iter(self.keys.values()))


class Lanes:
    """Orders keys by cause, then by turns of kinds, then first in, first out."""

    def __init__(self) -> None:
        """Start empty."""
        self._lanes: dict[tuple[Cause, str], _Lane] = {}
        self._causes: dict[Key, Cause] = {}
        self._numbers = count()
        self._turn = 0

    def __len__(self) -> int:
        """The number of waiting keys."""
        return len(self._causes)

    def kinds(self) -> Counter[str]:
        """The number of waiting keys of each kind."""
        counts: Counter[str] = Counter()
        for (_, kind), lane in self._lanes.items():
            counts[kind] += len(lane.keys)
        return counts

    def put(self, key: Key, cause: Cause) -> None:
        """Add a key; one that waits already keeps the more urgent cause."""
        known = self._causes.get(key)
        if known is not None:
            if known <= cause:
                return
            del self._lanes[known, key.kind].keys[key]
        self._causes[key] = cause
        self._lanes.setdefault((cause, key.kind), _Lane()).keys[key] = next(self._numbers)

    def take(self) -> Key:
        """Remove the next key. Raises: ValueError if none waits."""
        self._turn += 1
        standing = {at: lane for at, lane in self._lanes.items() if lane.keys}
        if self._turn % FAIR == 0:
            lane = min(standing.values(), key=_Lane.first)
        else:
            lane = min(standing.items(), key=lambda each: (each[0][0], each[1].served))[1]
        lane.served = self._turn
        key, _ = lane.keys.popitem(last=False)
        del self._causes[key]
        return key

    def clear(self) -> None:
        """Remove all keys."""
        self._lanes.clear()
        self._causes.clear()
