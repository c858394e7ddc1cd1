"""Waiting keys, in one lane for each cause and kind, and their order. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from enum import IntEnum
from typing import Final

from ...kube.protocol import Node
from ..common.keys import Key, controller_reference


class Cause(IntEnum):
    """Smaller values come first."""

    EDIT = 0  # the object was changed or is being deleted
    BEGUN = 1  # a part of it changed, it is a new part of something else, or the last pass failed
    NEW = 2  # nothing was done for it
    LOOK = 3  # no known change: after a restart, or periodically


def cause_of(obj: Node, *, known: bool) -> Cause:
    """The cause for an object itself; `known` means that an earlier state of it was known, so it changed."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return Cause.EDIT
    if not status:
        return Cause.BEGUN if controller_reference(obj) else Cause.NEW
    acted_on = status.get("observedGeneration")
    if known or (acted_on is not None and acted_on != metadata.get("generation")):
        return Cause.EDIT
    return Cause.LOOK


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
        self._lanes: dict[tuple[Cause, str], _Lane] = {}
        self._causes: OrderedDict[Key, Cause] = OrderedDict()  # the longest waiting key first
        self._turn = 0

    def __len__(self) -> int:
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
