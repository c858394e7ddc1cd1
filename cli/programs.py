"""Runs programs of the user, such as git and kustomize, for a bounded time, and leaves nothing of them behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence


def run(
    words: Sequence[str], patience: float, *, given: bytes = b"", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """What a program printed on its streams, and its exit code.

    It gets a session of its own: it can ask nothing on the terminal, and what it started itself is killed with it when it takes longer than
    `patience` seconds, or when we are interrupted. Raises: OSError when it can't be started, subprocess.TimeoutExpired.
    """
    # no shell; the caller vouches for the words
    with subprocess.Popen(  # noqa: S603
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    ) as process:
        try:
            out, err = process.communicate(given, timeout=patience)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so that the group is this one still
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)
