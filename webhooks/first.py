"""The first process of a container: when it ends, the kernel kills all others, so that it must not be the one that may crash.

It waits, passes signals on and buries the dead, nothing else. Where the serving process is killed or crashes, its workers go on until the
cluster has heard of it (see worker.py); only then does the container end, with the exit code of the serving process.
"""

from __future__ import annotations

import os
import signal
from typing import Final

PASSED_ON: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2})
_HEARD: Final = PASSED_ON | {signal.SIGCHLD}


def step_aside() -> None:
    """Returns in a child when this is the first process of a container, and at once anywhere else. Call it before anything is loaded."""
    if os.getpid() == 1:
        fork_below()


def fork_below() -> None:
    """Returns in a child; the calling process waits for all that there will be below it, and exits as the child did."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    child = os.fork()
    if child:
        os._exit(_outlive(child))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)


def _outlive(child: int) -> int:
    """The exit code of the child, once nobody is left: its orphans are the first process's children then."""
    code: int | None = None
    while True:
        number = signal.sigwait(_HEARD)
        if number in PASSED_ON and code is None:
            os.kill(child, number)  # not reaped yet, so that it is this child still, dead or alive
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    code = _code(ended[1])
        except ChildProcessError:
            return code or 0


def _code(status: int) -> int:
    """As shells and container runtimes say it: 128 and the number of the signal that killed."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
