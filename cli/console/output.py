"""The two streams: results go to stdout, diagnostics to stderr. A reader that goes away early is no error, nor is a closed stream.

Neither stream has a line that a CI runner would obey, nor a character that a terminal would: what a repository calls its files and
writes into them is for its author to choose. Every text for people passes through here, and here it is cleaned.
"""

import os
import stat
import sys
from io import TextIOWrapper
from typing import Final

from .escaping import escape_commands, escape_controls, find_command
from .exits import UsageError

# set by the runners of GitHub and Gitea, Azure, GitLab and TeamCity
_RUNNERS: Final = ("GITHUB_ACTIONS", "TF_BUILD", "GITLAB_CI", "TEAMCITY_VERSION")


def prepare_streams() -> None:
    """Makes both streams able to print any text: what the terminal's encoding lacks is escaped instead of an error.

    Streams that the parent process closed are opened on the null device, in the order of their numbers, as long as the process lives.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, f"{mode}b")  # noqa: PTH123, SIM115 - pathlib takes long to import
            setattr(sys, name, TextIOWrapper(nothing, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_stdout(text: str, *, painted: bool = False) -> None:
    """Writes to stdout; silently nothing once its reader has gone, as the exit code is the verdict. Raises: UsageError on a full disk.

    What does not print is escaped, but for the colours of a text that is `painted`, whose author has escaped all text of others.
    """
    _print(escape_commands(escape_controls(text, painted=painted)))


def write_document(text: str) -> None:
    """Writes text as it is, since escapes would change a file, but to a terminal, which is none.

    Raises: UsageError as above, and where a CI runner would obey a line.
    """
    if any(map(os.environ.get, _RUNNERS)) and not _is_file() and (command := find_command(text)) is not None:
        line, what = command
        raise UsageError(f"line {line} of the result is not printed, since the CI runner would obey it: {what}; redirect it into a file")
    _print(escape_controls(text) if sys.stdout.isatty() else text)


def _is_file() -> bool:
    """Whether stdout is a regular file, which no runner reads meanwhile."""
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except OSError:  # a stream of the process itself
        return False


def _print(text: str) -> None:
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


def write_stderr(text: str) -> None:
    """Writes a line to stderr, in one piece: a log with a thread of its own may write there too, and must not get in between.

    What does not print is escaped: sentences quote names and values of authors, which must control neither a terminal nor a CI runner.
    """
    try:
        sys.stderr.write(escape_commands(escape_controls(text)) + "\n")
        sys.stderr.flush()
    except OSError:  # there is no stream left to report it on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
