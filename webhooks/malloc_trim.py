"""Giving memory back to the system when long reviews are over. How much of it they may have is the business of body_memory.py.

The C library keeps what they leave between small things that live on: after a storm of them twice what a worker needs, for as long
as it runs. To give that back takes milliseconds, in which nothing is answered, so that it waits for a quiet moment; the next long reviews
find the system's pages a little later than those kept.
"""

from __future__ import annotations

import asyncio
import ctypes
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET_SECONDS: Final = 5.0  # without a long review; a stream of them needs the memory itself
_LIBRARY: Final = ctypes.CDLL(None)


def trim() -> None:
    """Gives back what is free now; nothing where the C library has no word for that, as musl's."""
    give_back: Any = getattr(_LIBRARY, "malloc_trim", None)
    if give_back is not None:
        give_back(ctypes.c_size_t(0))


class IdleTrim:
    """Looks whether it is quiet, from one long review on until it is."""

    __slots__ = ("_busy", "_give_back", "_last", "_seconds", "_timer")

    def __init__(self, busy: Callable[[], bool], give_back: Callable[[], None] = trim, seconds: float = QUIET_SECONDS) -> None:
        """`busy` returns whether a long review is in progress."""
        self._busy, self._give_back, self._seconds = busy, give_back, seconds
        self._last = 0.0  # when a long review began, by the loop's clock
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A long review begins."""
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._look)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if self._busy() or loop.time() < self._last + self._seconds:
            self._timer = loop.call_later(self._seconds, self._look)
            return
        self._timer = None
        self._give_back()
