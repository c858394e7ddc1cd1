"""Child processes that die with the tests, free ports, and waiting with a deadline. What is started is `harness.py`'s business."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

Answer = TypeVar("Answer")
_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
_LIBC: Final = ctypes.CDLL(None, use_errno=True)  # loaded here, because the child may only make system calls
WAIT_SECONDS: Final = 240.0  # nothing waits so long but on a machine that does much else besides
_WORKER: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS: Final = range(20_000, 32_000)[_WORKER % 8 :: 8]  # a share for each process that runs tests beside others
# seconds between two questions, at least and at most: as long as the last one took, for who asks takes a CPU from others
_PAUSE: Final = (0.1, 1.0)
RUNNING: Final[list[Process]] = []  # in the order of their start; what a failing test shows the logs of


class StartError(Exception):
    """A process ended or kept silent instead of becoming ready; the text ends with the tail of its log."""


class Process:
    """One running program in a session of its own, so that Ctrl-C reaches only the tests, which then stop it in order.

    The kernel kills it when the tests are killed. Its output goes to a file.
    """

    def __init__(self, name: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        self._environment = environment
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, no lock, no allocation by us
            )
        RUNNING.append(self)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    def command(self) -> list[str]:
        """Its command line."""
        return [str(part) for part in cast("Sequence[str]", self._child.args)]

    def again(self) -> Process:
        """Starts the same program once more."""
        return Process(self.name, self.command(), self.log, self._environment)

    def ended(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._child.poll()

    def text(self) -> str:
        """All that it has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def tail(self, lines: int = 40) -> str:
        """The last lines that it wrote."""
        return "\n".join(self.text().splitlines()[-lines:])

    def stop(self, patience: float = 20) -> int:
        """Asks it to end, kills it when `patience` seconds were not enough, and returns its exit status."""
        if self in RUNNING:
            RUNNING.remove(self)
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            try:
                self._child.wait(patience)
            except subprocess.TimeoutExpired:
                self._child.kill()
        return self._child.wait()

    def kill(self) -> None:
        """Ends it without asking, where nobody needs what it would do before."""
        self._child.kill()
        self.stop()


def die_with_parent() -> None:
    """Has the kernel kill this process when the one that started it ends."""
    if sys.platform == "linux":
        _LIBC.prctl(_DIE_WITH_PARENT, signal.SIGKILL)


@contextlib.contextmanager
def running(process: Process) -> Iterator[Process]:
    """Stops the process at the end of the block, whatever happens in it."""
    try:
        yield process
    finally:
        process.stop()


def wait_until(
    question: Callable[[], Answer | None], what: str, *processes: Process, patience: float = WAIT_SECONDS, pause: float = _PAUSE[0]
) -> Answer:
    """Asks until the answer is neither None nor False and returns it; `pause` is the shortest time between two questions.

    Raises StartError when one of the processes ends meanwhile, or after `patience` seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        began = time.monotonic()
        answer = question()
        if answer is not None and answer is not False:
            return answer
        for process in processes:
            if (status := process.ended()) is not None:
                raise StartError(f"{process.name} ended with {status} before {what}:\n{process.tail()}")
        now = time.monotonic()
        if now > deadline:
            raise StartError(f"{what} did not happen in {patience:.0f} s:\n" + "\n".join(process.tail() for process in processes))
        time.sleep(min(max(pause, now - began), _PAUSE[1]))


def fetched(address: str, path: str, seconds: float = 60) -> tuple[int, str]:
    """Status and text of a path at `host:port`; 0 where nobody answers."""
    connection = http.client.HTTPConnection(address, timeout=seconds)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    return 0, ""


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """Picks ports of an address that nobody listens on now, each different.

    They lie below those that outgoing connections get: one of these might take a port that a program is about to listen on again.
    """
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        while len(ports) < count:
            port = secrets.choice(_PORTS)
            with contextlib.suppress(OSError):
                held.enter_context(socket.socket()).bind((address, port))
                ports.append(port)
    return ports
