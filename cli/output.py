"""The two streams: stdout is the result, stderr is talk. A reader that goes away early is no error, nor is a stream that was never open."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

from dynamo_webhooks.api.wording import printable_lines
from dynamo_webhooks.cli.exits import UsageError


def prepare() -> None:
    """Makes both streams able to print any text: what the terminal's encoding lacks is escaped instead of an error."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _open_closed() -> None:
    """Opens what the parent process had closed, in the order of the numbers, so that each stream gets its own: nothing can be read from it,
    and what is written to it is lost, as whoever closed it wants it."""
    if sys.stdin is None:
        sys.stdin = _nothing("r")
    if sys.stdout is None:
        sys.stdout = _nothing("w")
    if sys.stderr is None:
        sys.stderr = _nothing("w")


def _nothing(mode: str) -> TextIOWrapper:
    # open as long as the process lives
    return TextIOWrapper(open(os.devnull, f"{mode}b"), encoding="utf-8")  # noqa: PTH123 - pathlib takes long to import


def write(text: str) -> None:
    """Writes to stdout; silently nothing once the reader has gone, so that the exit code stays the verdict.

    Raises: UsageError where stdout can't be written, such as on a full disk.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _give_up(error)


def write_bytes(data: bytes) -> None:
    """Writes bytes to stdout as they are. Raises: UsageError as above."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        _give_up(error)


def _give_up(error: OSError) -> None:
    """Writes nothing more: the interpreter flushes stdout once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        raise UsageError(f"standard output can't be written: {error.strerror}") from None


def say(text: str) -> None:
    """Writes a line to stderr, in one piece: a log with a thread of its own may write there too, and must not get in between.

    What does not print is escaped: sentences quote names and values of authors, which must not control a terminal.
    """
    try:
        sys.stderr.write(printable_lines(text) + "\n")
        sys.stderr.flush()
    except OSError:  # nobody can be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
