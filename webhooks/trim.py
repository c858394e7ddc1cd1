"""Gives freed memory back to the system after long reviews and connections."""

import asyncio
import ctypes
from collections.abc import Callable
from typing import Any, Final

TRIM_SECONDS: Final = 5.0  # between two trims, at least
_LIBRARY: Final = ctypes.CDLL(None)


def trim() -> None:
    """Returns free memory to the system; does nothing where the C library can't, as musl's."""
    give_back: Any = getattr(_LIBRARY, "malloc_trim", None)
    if give_back is not None:
        give_back(ctypes.c_size_t(0))


class DelayedTrim:
    """Gives memory back some seconds after a long review or a connection has left some behind.

    The C library keeps freed memory, after a storm twice what a server needs. To give it back takes 12 ms at most, in which the server
    does not respond. It waits for no quiet moment: a client that comes again and again would put that off for ever.
    """

    __slots__ = ("_give_back", "_seconds", "_timer")

    def __init__(self, give_back: Callable[[], None] = trim, seconds: float = TRIM_SECONDS) -> None:
        self._give_back, self._seconds = give_back, seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A long review or a connection has ended."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._trim)

    def _trim(self) -> None:
        self._timer = None
        self._give_back()
