"""Runs programs of the user, such as git, helm and kustomize, with limits of time and output, and leaves nothing of them behind."""

import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from ...api.wording import shorten
from ..console.exits import UsageError
from ..yaml.load import InputError, Source
from .find import CHART
from .read import LIMIT, decode

LONGEST: Final = 500  # characters of what the program says
_PATIENCE: Final = 120  # seconds, to read and write local files
# git may use no protocol, and HTTP goes to a proxy that is not there
_OFFLINE: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    **{name: "http://127.0.0.1:1" for word in ("http_proxy", "https_proxy") for name in (word, word.upper())},
    "no_proxy": "",
    "NO_PROXY": "",
}


class _TooMuchError(Exception):
    """A program printed more than its caller takes."""


def run(
    words: Sequence[str], patience: float, *, given: bytes = b"", environment: Mapping[str, str] | None = None, most: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs a program in its own session, without a terminal; with `most` its standard input is empty.

    Its process group is killed if it takes longer than `patience` seconds, prints more than `most` bytes on a stream, or if this process is
    interrupted. Raises: OSError if it can't be started, subprocess.TimeoutExpired, _TooMuchError.
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
                    raise _TooMuchError
    process.wait(max(0.0, deadline - time.monotonic()))
    out, err = (bytes(text) for text in printed.values())
    return out, err


def render(words: Sequence[str], name: str) -> Source | InputError:
    """What a command prints, under a name, or why there is nothing. No shell reads the words."""
    try:
        done = run(words, _PATIENCE, environment={**os.environ, **_OFFLINE}, most=LIMIT)
        if done.returncode:
            return InputError(f"can't be rendered: {_said(done.stderr)}", name)
        return Source(name, decode(done.stdout, name))
    except InputError as error:
        return error
    except _TooMuchError:
        return InputError(f"renders to more than {LIMIT // 2**20} MiB", name)
    except OSError as error:
        return InputError(f"{words[0]} can't be run: {error.strerror}", name)
    except subprocess.TimeoutExpired:
        return InputError(f"{words[0]} did not finish within {_PATIENCE} seconds", name)


def _said(stderr: bytes) -> str:
    """The complaint: the last line that the program wrote; those before may be warnings."""
    said = stderr.decode("utf-8", "replace")
    if block := re.search(r" err=<\n(.*)\n >\s*\Z", said, re.DOTALL):  # kubectl writes several lines so
        return shorten(" ".join(block[1].split()), LONGEST)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    logged = re.search(r' err="((?:[^"\\]|\\.)*)"$', lines[-1])  # kubectl writes it into a line of its log
    text = re.sub(r"\\(.)", r"\1", logged[1]) if logged else re.sub("^error: ", "", lines[-1], flags=re.IGNORECASE)
    return shorten(text, LONGEST)


def chart_command(folder: str, values: Sequence[str]) -> tuple[str, ...]:
    """What renders a chart here. Raises: UsageError when helm can't be found, the folder is no chart, or values are no local file."""
    if not folder or folder.startswith("-") or "\0" in folder or not (Path(folder) / CHART).is_file():
        raise UsageError(f"--helm {folder!a}: must be a local folder with a {CHART}")
    for file in values:
        # helm would fetch addresses, and takes a comma for the end of a name
        if "," in file or "\0" in file or not Path(file).is_file():
            raise UsageError(f"--values {file!a}: must be a local file, and have no comma in its name")
    if not shutil.which("helm"):
        raise UsageError("--helm needs helm, which can't be found; render the chart elsewhere, and check the output")
    return ("helm", "template", folder, *(f"--values={file}" for file in values))


def render_chart(folder: str, words: Sequence[str]) -> Source | InputError:
    """What a chart renders to by a command, named after it, or why there is nothing. Lines are those of the rendered text."""
    return render(words, f"helm:{folder}")
