"""How far a run is: a line that is written over on a terminal, elsewhere a line a minute."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.cli.migrate.report import KindReport
    from dynamo_webhooks.cli.migrate.walk import Counts

_ERASE: Final = "\r\033[K"
_BAR: Final = 24  # characters
_OFTEN: Final = 0.2  # seconds between two lines on a terminal
_SELDOM: Final = 60.0  # and elsewhere


class Progress:
    """Says something at most every so often."""

    def __init__(self, say: Callable[[str], None], stream: TextIO | None = None, clock: Callable[[], float] = monotonic) -> None:
        """`say` takes whole lines, `stream` is written over when it is a terminal."""
        self._say, self._stream, self._clock = say, sys.stderr if stream is None else stream, clock
        self._live = self._stream.isatty()
        self._what, self._total, self._began = "", 0, clock()
        self._due = self._began + (_OFTEN if self._live else _SELDOM)
        self._shown = False

    def begin(self, kind: str, number: int, total: int) -> None:
        """A pass begins; `total` is how many objects there were."""
        now = self._clock()
        self._what, self._total, self._began = f"{kind}, pass {number}", total, now
        self._due = now + (_OFTEN if self._live else _SELDOM)

    def census(self, one: KindReport) -> None:
        """One more object was looked at."""
        self._tell(f"{one.kind}: {one.objects} objects looked at")

    def walked(self, counts: Counts) -> None:
        """One more object was written, or is gone."""
        done = counts.objects + counts.gone
        now = self._clock()
        if now < self._due:
            return
        rate = done / max(now - self._began, 0.001)
        left = max(self._total - done, 0) / max(rate, 0.001)
        share = min(done / max(self._total, done, 1), 1.0)
        bar = f"[{'#' * round(share * _BAR):<{_BAR}}] " if self._live else ""
        self._tell(f"{bar}{self._what}: {done} of {max(self._total, done)}, {counts.moved} moved, {rate:.0f} a second, {_time(left)} left")

    def end(self) -> None:
        """Removes the line."""
        if self._shown:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._shown = False

    def line(self, text: str) -> None:
        """A line that stays, between those that don't."""
        self.end()
        self._say(text)

    def _tell(self, text: str) -> None:
        now = self._clock()
        if now < self._due:
            return
        if self._live:
            self._stream.write(_ERASE + text)
            self._stream.flush()
            self._shown, self._due = True, now + _OFTEN
        else:
            self._say(text)
            self._due = now + _SELDOM


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
