"""Keys that wait, in one line for each cause and kind, and whose turn is next. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dynamo_webhooks.reconciler.loop.causes import Cause
    from dynamo_webhooks.reconciler.loop.keys import Key

FAIR: Final = 8  # of so many turns one goes to who has waited longest, so that nobody waits for ever


class _Lane:
    """One line; `served` is when it last had a turn."""

    __slots__ = ("keys", "served")

    def __init__(self) -> None:
        self.keys: OrderedDict[Key, int] = OrderedDict()  # in the order of their numbers
        self.served = 0

    def first(self) -> int:
        """The number of who has waited longest."""
        return next(iter(self.keys.values()))


class Lanes:
    """Urgent causes go first, kinds of one cause take turns, and within one line who came first."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._lanes: dict[tuple[Cause, str], _Lane] = {}
        self._causes: dict[Key, Cause] = {}
        self._numbers = count()
        self._turn = 0

    def __len__(self) -> int:
        """How many wait."""
        return len(self._causes)

    def kinds(self) -> Counter[str]:
        """How many wait of each kind."""
        counts: Counter[str] = Counter()
        for (_, kind), lane in self._lanes.items():
            counts[kind] += len(lane.keys)
        return counts

    def put(self, key: Key, cause: Cause) -> None:
        """Waits for this cause; who waits already keeps the more urgent of both."""
        known = self._causes.get(key)
        if known is not None:
            if known <= cause:
                return
            del self._lanes[known, key.kind].keys[key]
        self._causes[key] = cause
        self._lanes.setdefault((cause, key.kind), _Lane()).keys[key] = next(self._numbers)

    def take(self) -> Key:
        """Whose turn it is. Raises: ValueError when nobody waits."""
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
        """Forgets all."""
        self._lanes.clear()
        self._causes.clear()
