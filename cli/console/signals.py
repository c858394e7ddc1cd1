"""Asks running work to end at the first SIGTERM or SIGINT, and ignores later ones until the process has ended by itself."""

import asyncio
import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def on_first_signal(stop: Callable[[], object]) -> None:
    """Calls `stop` in the running loop at the first signal.

    A handler of asyncio's own ends with the loop. A second signal would then kill the process, which is about to say by its exit code what
    it has done. Programs signal a process and its group, so two signals in a row are usual.
    """
    loop = asyncio.get_running_loop()

    def received(_number: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        loop.call_soon_threadsafe(stop)

    for number in _SIGNALS:
        signal.signal(number, received)
