"""Delays writes of status: mere progress is written at most once a second."""

import math
import time
from collections.abc import Callable
from typing import Final

from ...kube.protocol import Node
from ..common.conditions import RECONCILING
from ..common.keys import Key

MAX_STATUS_DELAY_SECONDS: Final = 1.0  # of mere progress
_WRITE_MEMORY_SECONDS: Final = 60.0  # longer than a pass may wait for its turn
_FIGURES: Final = frozenset({"component", "components", "conditions"})  # conditions are compared separately, without messages


class StatusPacer:
    """Remembers recent writes of each object's status."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[Key, float] = {}  # oldest first; for an object without a status, when one was first delayed

    def __len__(self) -> int:
        return len(self._last)

    def delay(self, key: Key, before: Node, now: Node) -> float:
        """The delay of a changed status in seconds; 0 to write at once."""
        moment = self._clock()
        begins = not before and _is_beginning(now)
        last = self._last.get(key, moment if begins else -math.inf)
        left = last + MAX_STATUS_DELAY_SECONDS - moment
        if left <= 0 or not (begins or _without_progress(before) == _without_progress(now)):
            while self._last and moment - self._last[oldest := next(iter(self._last))] >= _WRITE_MEMORY_SECONDS:
                del self._last[oldest]
            self._last.pop(key, None)
            self._last[key] = moment
            return 0.0
        self._last.setdefault(key, last)
        return left


def _is_beginning(now: Node) -> bool:
    """Whether a first status only reports that work began."""
    conditions = now.get("conditions") or ()
    quiet = all(condition["status"] != "True" and condition["reason"] != RECONCILING for condition in conditions)
    return bool(conditions) and quiet and now.get("state", "pending") == "pending"


def _without_progress(status: Node) -> Node:
    """A status without numbers and messages."""
    conditions = [(condition.get("type"), condition.get("status"), condition.get("reason")) for condition in status.get("conditions") or ()]
    return {**{name: value for name, value in status.items() if name not in _FIGURES}, "conditions": conditions}
