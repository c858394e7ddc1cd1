"""Limits how often pods are read."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

SETTLE_SECONDS: Final = 5.0  # in which pods are placed and images found, mostly
READ_SECONDS: Final = 60.0  # between two reads for one object, once it has waited for so long; before, as long as it has waited
MAX_WAITS: Final = 4  # that one object begins in that time and that are looked at soon: its start, a roll, its undo and one more
MAX_READS: Final = 20  # for all graphs within a tenth of that time


class Reads:
    """Whose pods were read lately: in a rush the reasons of some objects are reported later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, tuple[float, str, float]] = {}  # uid of the object -> when, its namespace, the pause after it; oldest first
        self._waits: dict[str, list[tuple[datetime, float]]] = {}  # uid of the object -> since when it waits, and when that was noted
        self.texts: dict[str, str] = {}  # uid of the object -> what was read, as long as it counts as read

    def is_early(self, uid: str, since: datetime) -> bool:
        """Whether an object that waits since a moment ago is looked at soon: for `MAX_WAITS` such moments in `READ_SECONDS`.

        Moments near each other count once. Another writer of its status may set the moment anew each time, and a pass for each
        would fight over the status.
        """
        now = self._clock()
        self._waits = {one: waits for one, waits in self._waits.items() if now - waits[-1][1] < READ_SECONDS}
        waits = [wait for wait in self._waits.get(uid, ()) if now - wait[1] < READ_SECONDS]
        if not any(abs((since - moment).total_seconds()) < SETTLE_SECONDS for moment, _ in waits):
            if len(waits) == MAX_WAITS:
                return False
            waits.append((since, now))
        self._waits[uid] = waits
        return True

    def may(self, uid: str, namespace: str, pause: float = READ_SECONDS) -> bool:
        """Whether an object's pods may be read now, and then are: not within `pause` seconds, and half of all reads for a namespace."""
        return not self.seconds_until(uid, namespace, pause)

    def seconds_until(self, uid: str, namespace: str, pause: float) -> float:
        """Seconds until an object's pods may be read; 0.0 when they may now, and then are, and not again within `pause` seconds."""
        now = self._clock()
        for one in [*self._last]:
            if now - self._last[one][0] < READ_SECONDS:
                break
            del self._last[one]
            self.texts.pop(one, None)
        lately = here = 0
        for when, where, _ in reversed(self._last.values()):
            if now - when >= READ_SECONDS / 10:
                break
            lately += 1
            here += where == namespace
        read, _, earlier = self._last.get(uid, (now - READ_SECONDS, "", READ_SECONDS))
        left = max(read + min(earlier, pause) - now, 0.0)
        if left:
            return left
        if lately >= MAX_READS or here >= MAX_READS // 2:
            return READ_SECONDS / 10
        self._last.pop(uid, None)  # to be the last again
        self._last[uid] = now, namespace, pause
        return 0.0
