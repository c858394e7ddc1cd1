"""Waiting keys, in one lane for each cause and kind, and their order. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dynamo_webhooks.reconciler.loop.causes import Cause
    from dynamo_webhooks.reconciler.loop.keys import Key

FAIR: Final = 8  # one of so many turns goes to the longest waiting key, against starvation


class _Lane:
    """One lane, whose namespaces take turns; `served` is the number of its last turn."""

    __slots__ = ("namespaces", "served")

    def __init__(self) -> None:
        self.namespaces: OrderedDict[str, OrderedDict[Key, None]] = OrderedDict()  # the next one first, each with its keys as they came
        self.served = 0

    def put(self, key: Key) -> None:
        """Add a key that isn't there."""
        self.namespaces.setdefault(key.namespace, OrderedDict())[key] = None

    def remove(self, key: Key) -> None:
        """Remove a key that is there."""
        keys = self.namespaces[key.namespace]
        del keys[key]
        if not keys:
            del self.namespaces[key.namespace]

    def first(self) -> Key:
        """The first key of the namespace whose turn it is; then it is the next one's."""
        namespace, keys = next(iter(self.namespaces.items()))
        self.namespaces.move_to_end(namespace)
        return next(iter(keys))


class Lanes:
    """Orders keys by cause, then by turns of kinds, then of namespaces, then first in, first out."""

    def __init__(self) -> None:
        """Start empty."""
        self._lanes: dict[tuple[Cause, str], _Lane] = {}
        self._causes: OrderedDict[Key, Cause] = OrderedDict()  # the longest waiting key first
        self._turn = 0

    def __len__(self) -> int:
        """The number of waiting keys."""
        return len(self._causes)

    def kinds(self) -> Counter[str]:
        """The number of waiting keys of each kind."""
        return Counter(key.kind for key in self._causes)

    def put(self, key: Key, cause: Cause) -> None:
        """Add a key; one that waits already keeps the more urgent cause."""
        known = self._causes.get(key)
        if known is not None:
            if known <= cause:
                return
            self._lanes[known, key.kind].remove(key)
            del self._causes[key]
        self._causes[key] = cause
        self._lanes.setdefault((cause, key.kind), _Lane()).put(key)

    def take(self) -> Key:
        """Remove the next key. Raises: ValueError if none waits."""
        self._turn += 1
        if self._turn % FAIR == 0 and self._causes:
            key = next(iter(self._causes))
            lane = self._lanes[self._causes[key], key.kind]
        else:
            standing = {at: lane for at, lane in self._lanes.items() if lane.namespaces}
            lane = min(standing.items(), key=lambda each: (each[0][0], each[1].served))[1]
            key = lane.first()
        lane.served = self._turn
        lane.remove(key)
        del self._causes[key]
        return key

    def clear(self) -> None:
        """Remove all keys."""
        self._lanes.clear()
        self._causes.clear()
