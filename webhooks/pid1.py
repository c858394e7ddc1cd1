"""The first process of a container: when it ends, the kernel kills all others, so that it must not be the one that may crash.

It waits, passes signals on and buries the dead, nothing else. Where the serving process is killed or crashes, its workers go on until the
cluster has heard of it (see worker.py); only then does the container end, with the exit code of the serving process. It waits for nobody
else: what a `kubectl exec` left behind is a child of the first process as well, and would keep the container from ending.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSED_ON: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2})
_HEARD: Final = PASSED_ON | {signal.SIGCHLD}
# for workers whose serving process is gone: the longest drainLag and drainTimeout that a configuration may have, and a minute. One that
# hangs would otherwise keep a container from being started again where nobody probes it
PATIENCE: Final = 660.0


def step_aside() -> None:
    """Returns in a child when this is the first process of a container, and at once anywhere else. Call it before anything is loaded."""
    if os.getpid() == 1:
        fork_below()


def fork_below(patience: float = PATIENCE) -> None:
    """Returns in a child; the calling process waits for it and for its workers, these no more than `patience` seconds longer.

    It exits as the child did.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the parent may have ignored it, and ended children would be lost
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    child = os.fork()
    if child:
        os._exit(_outlive(child, patience))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _outlive(child: int, patience: float) -> int:
    """The exit code of the child, once none of its workers is left: they are the first process's children then."""
    code, end = None, float("inf")
    while code is None or (_kin() and time.monotonic() < end):
        number = _heard(end)
        if number in PASSED_ON and code is None:
            os.kill(child, number)  # not reaped yet, so that it is this child still, dead or alive
        for pid, status in _dead():
            if pid == child:
                code, end = _code(status), time.monotonic() + patience
    return code


def _heard(end: float) -> int | None:
    """The next signal; None after the time."""
    if end == float("inf"):
        return signal.sigwait(_HEARD)
    found = signal.sigtimedwait(_HEARD, max(0.0, end - time.monotonic()))
    return found.si_signo if found is not None else None


def _dead() -> Iterator[tuple[int, int]]:
    """Reap all ended children: process ids and statuses."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def _kin() -> bool:
    """Whether a child of the serving process is left, ignoring processes of an exec."""
    try:
        os.waitpid(0, os.WNOHANG)  # only of this process group
    except ChildProcessError:
        return False
    return True


def _code(status: int) -> int:
    """The exit code as in shells: 128 plus the number of a fatal signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
