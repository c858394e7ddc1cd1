"""Says how far a run is, in a line from time to time."""

import sys
from collections.abc import Callable
from time import monotonic

from .report import KindReport, PassCounts


class Progress:
    """A line every few seconds on a terminal, elsewhere a line a minute."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = monotonic) -> None:
        self._say, self._clock = say, clock
        self._pause = 5.0 if sys.stderr.isatty() else 60.0
        self.begin("", 0, 0)

    def begin(self, kind: str, number: int, total: int) -> None:
        """A pass begins; `total` is how many objects there were."""
        self._what, self._total, self._began = f"{kind}, pass {number}", total, self._clock()
        self._due = self._began + self._pause

    def census(self, kind_report: KindReport) -> None:
        """One more object was looked at."""
        self._tell(f"{kind_report.kind}: {kind_report.objects} objects examined")

    def walked(self, counts: PassCounts) -> None:
        """One more object was written, or is gone."""
        done = counts.objects + counts.gone
        rate = done / max(self._clock() - self._began, 0.001)
        left = max(self._total - done, 0) / max(rate, 0.001)
        self._tell(f"{self._what}: {done} of {max(self._total, done)}, {counts.moved} moved, {rate:.0f} a second, {_time(left)} left")

    def _tell(self, text: str) -> None:
        if (now := self._clock()) >= self._due:
            self._say(text)
            self._due = now + self._pause


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
