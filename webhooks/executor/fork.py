"""Forks a process, which first resets its parent's signals and closes its open files."""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

MOST_DESCRIPTORS: Final = 65_536  # numbers are given out from below: a server never has so many


def fork(child: Callable[[], NoReturn]) -> int:
    """Returns the id of a process that runs `child`, which must begin with `settle`.

    A signal in between would be caught by the child's copy of this loop, and wake this loop instead.
    Raises: OSError when there is no room for another process.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            child()
    finally:  # never reached in the child
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return pid


def settle(kept: set[int]) -> None:
    """Makes a fresh fork a process of its own, which keeps the standard streams and the open files in `kept`.

    A terminal or a service manager may signal all processes at once: only the parent decides what that means.
    """
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _release({0, 1, 2} | kept)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _release(kept: set[int]) -> None:
    """Lets go of all open files but `kept`: what others serve, and connections, which would not end when the parent ends them.

    Their numbers stay taken, since objects of the parent that die here may close them.
    """
    nothing, _ = os.pipe()  # there need not be a /dev/null
    for descriptor in _open() - kept - {nothing}:
        with contextlib.suppress(OSError):  # it is none: the one with which the others were listed
            os.fstat(descriptor)
            os.dup2(nothing, descriptor, inheritable=False)


def _open() -> set[int]:
    try:
        return {int(path.name) for path in Path("/dev/fd").iterdir()}
    except OSError:  # /proc isn't mounted
        return set(range(MOST_DESCRIPTORS))
