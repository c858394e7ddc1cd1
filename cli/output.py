"""The two streams: stdout is the result, stderr is talk. A reader that goes away early is no error."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper


def prepare() -> None:
    """Makes both streams able to print any text: what the terminal's encoding lacks is escaped instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write(text: str) -> None:
    """Writes to stdout; silently nothing once the reader has gone, so that the exit code stays the verdict."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # the interpreter flushes stdout once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_bytes(data: bytes) -> None:
    """Writes bytes to stdout as they are."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Writes a line to stderr, in one piece: a log with a thread of its own may write there too, and must not get in between."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
