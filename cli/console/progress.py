"""A line on a terminal that shows how far a run is, from its second second on; it goes when the run ends, and no file or pipe gets it."""

import sys
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Final

WAIT_SECONDS: Final = 1.0  # a run that takes less has no line
_PAUSE_SECONDS: Final = 0.2
_ERASE: Final = "\r\x1b[K"


class Progress:
    """Shows what `tell` says while the block runs, as often as `tick` is called, but at most five times a second."""

    def __init__(self, tell: Callable[[], str]) -> None:
        """Without a terminal, `tell` is never called."""
        self._tell, self._visible = tell, False
        self._due = float("inf")

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            self._due = monotonic() + WAIT_SECONDS
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._visible:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()

    def tick(self) -> None:
        """Shows the line if it is time."""
        if (now := monotonic()) >= self._due:
            self._due, self._visible = now + _PAUSE_SECONDS, True
            sys.stderr.write(_ERASE + self._tell())
            sys.stderr.flush()
