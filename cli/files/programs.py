"""Runs programs of the user, such as git and kustomize, for a bounded time, and leaves nothing of them behind."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO


class TooMuchError(Exception):
    """A program printed more than its caller takes."""


def run(
    words: Sequence[str], patience: float, *, given: bytes = b"", environment: Mapping[str, str] | None = None, most: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in its own session, and return its output and exit code.

    The program has no terminal. Its process group is killed if it takes longer than `patience` seconds, prints more than `most` bytes on a
    stream, or if this process is interrupted; with `most` its standard input is empty.

    Raises: OSError if it can't be started, subprocess.TimeoutExpired, TooMuchError.
    """
    # no shell; the caller vouches for the words
    with subprocess.Popen(  # noqa: S603
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    ) as process:
        try:
            out, err = process.communicate(given, timeout=patience) if most is None else _bounded(process, patience, most)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so that the group is this one still
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _bounded(process: subprocess.Popen[bytes], patience: float, most: int) -> tuple[bytes, bytes]:
    """Both streams to their ends; never holds more than `most` bytes of one."""
    deadline = time.monotonic() + patience
    streams: list[IO[bytes]] = [stream for stream in (process.stdout, process.stderr) if stream is not None]
    printed = {stream.fileno(): bytearray() for stream in streams}
    if process.stdin is not None:
        process.stdin.close()
    with selectors.DefaultSelector() as waiting:
        for number in printed:
            waiting.register(number, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, patience)
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                printed[key.fd] += data
                if not data:
                    waiting.unregister(key.fd)
                elif len(printed[key.fd]) > most:
                    raise TooMuchError
    process.wait(max(0.0, deadline - time.monotonic()))
    out, err = (bytes(text) for text in printed.values())
    return out, err
