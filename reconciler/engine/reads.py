"""Limits how often pods are read."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...kube.protocol import Node
from ..common.conditions import is_acted_on
from ..common.keys import uid_of

SETTLE_SECONDS: Final = 5.0  # in which pods are placed and images found, mostly
READ_SECONDS: Final = 60.0  # between two reads for one object, once it has waited for so long; before, as long as it has waited
MAX_WAIT_STARTS: Final = 4  # that one object begins in that time and that are looked at soon: its start, a roll, its undo and one more
MAX_READS: Final = 20  # for all graphs within a tenth of that time
_SETTLE: Final = timedelta(seconds=SETTLE_SECONDS)


class _WaitStart(NamedTuple):
    """A moment since which an object waits."""

    since: datetime
    noted: float  # when that was, on the monotonic clock
    generation: int | None  # of the object's spec; None while its status is about an earlier one


class PodReadLimiter:
    """Remembers whose pods were read lately: in a rush the reasons of some objects are reported later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, tuple[float, str, float]] = {}  # uid of the object -> when, its namespace, the pause after it; oldest first
        self._wait_starts: dict[str, list[_WaitStart]] = {}  # uid of the object -> since when it has waited, oldest first
        self.texts: dict[str, str] = {}  # uid of the object -> text from the last read, as long as that counts

    def begin(self, obj: Node, since: datetime, moment: datetime) -> tuple[datetime, bool]:
        """Since when an object waits: `since`, or when its spec was edited, if that is later; and whether it is looked at soon.

        It is for `MAX_WAIT_STARTS` such moments in `READ_SECONDS`, and further edits don't count. Moments near each other count once.
        Another writer of its status may set the moment anew each time, and a pass for each would fight over the status.
        """
        now, uid, generation = self._clock(), uid_of(obj), obj["metadata"].get("generation")
        self._wait_starts = {waiter: waits for waiter, waits in self._wait_starts.items() if now - waits[-1].noted < READ_SECONDS}
        known = generation if is_acted_on(obj) else None
        waits = [wait for wait in self._wait_starts.get(uid, ()) if now - wait.noted < READ_SECONDS] or [_WaitStart(since, now, known)]
        last = waits[-1]
        begun = max(since, last.since) if generation == last.generation else moment
        if abs(begun - last.since) < _SETTLE:
            waits[-1] = last._replace(generation=generation)
        elif len(waits) < MAX_WAIT_STARTS:
            waits.append(_WaitStart(begun, now, generation))
        else:
            return since, False
        self._wait_starts[uid] = waits
        return waits[-1].since, True

    def may(self, uid: str, namespace: str, pause: float = READ_SECONDS) -> bool:
        """Whether an object's pods may be read now, and then are: not within `pause` seconds, and half of all reads for a namespace."""
        return not self.seconds_until(uid, namespace, pause)

    def seconds_until(self, uid: str, namespace: str, pause: float) -> float:
        """Seconds until an object's pods may be read; 0.0 when they may now, and then are, and not again within `pause` seconds."""
        now = self._clock()
        for other in [*self._last]:
            if now - self._last[other][0] < READ_SECONDS:
                break
            del self._last[other]
            self.texts.pop(other, None)
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
