"""Bounds the CPU that a file takes on its way through a command: what would take longer ends with a sentence, as at the server."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..yaml.errors import InputError

MAX_FILE_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 1.0  # until the next try, where the first one was caught on its way


class _SpentError(BaseException):
    """Raised in the middle of the work; no Exception, which rules and reports catch."""


@contextmanager
def limit_cpu(name: str) -> Iterator[None]:
    """Ends the work on a file that has used `MAX_FILE_SECONDS` of CPU. Raises: InputError.

    Needs a system with timers of CPU, and the main thread, the only one that gets signals; elsewhere a file has no bound.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    working = True

    def stop(_number: int, _frame: object) -> None:
        if working:
            raise _SpentError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MAX_FILE_SECONDS, _AGAIN_SECONDS)
    try:
        yield
    except _SpentError:
        text = f"takes more than {MAX_FILE_SECONDS:g} s of CPU, which is all that a file may have; split it, or make its objects smaller"
        raise InputError(text, name) from None
    finally:
        working = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
