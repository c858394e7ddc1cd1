"""Refreshes the outputs in a page: runs each command of its `console` blocks, and leaves the rest unchanged.

A page may hold, beside `console` blocks whose commands begin with `$ `:

- `<!-- file: NAME -->` before a block: the block is written to that file first;
- `<!-- run: LINE -->`: a line that is run and not shown;
- `<!-- fresh -->`: what follows happens in another empty folder;
- `<!-- made: NAME -->` and `<!-- end -->`: the function of that name writes the text between them.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from unittest.mock import patch

from dynamo_webhooks.cli.console.exits import BUG
from dynamo_webhooks.cli.console.program import PROGRAM
from dynamo_webhooks.cli.main import main
from tools.written import ROOT

_SHELL: Final = frozenset("|<>;&$`*?~(){}")  # characters that make a line the shell's business
INHERITED_VARIABLES: Final = ("TMPDIR", "LD_LIBRARY_PATH")  # all that lines learn of this machine
_WHEN: Final = "2026-01-01T00:00:00Z"
_TIMEOUT_SECONDS: Final = 120  # for one line
_GIT: Final = {
    **{f"GIT_{role}_{what}": "you@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    **{f"GIT_{role}_DATE": _WHEN for role in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class TerminalError(Exception):
    """A line whose output no page may show: it would differ on another machine, or is an internal error."""


class Terminal:
    """One session; lines without anything of a shell run in this process, which is what makes pages quick to write."""

    def __init__(self, folder: Path, programs: Path) -> None:
        """`programs` is a folder for commands that the lines may name; our own is put there."""
        self._folder = folder
        self.code = 0  # of the last line
        for name, words in ((PROGRAM, "-P -m dynamo_webhooks.cli.main"), ("python", "-P")):
            shim = programs / name
            shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', "utf-8")
            shim.chmod(0o755)
        path = os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)])
        self._changes = {**_GIT, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def write(self, name: str, text: str) -> None:
        """Puts a file into the folder."""
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def run(self, line: str) -> str:
        """Runs a line and returns its output, of either stream. Raises: TerminalError for the folder's name, and for a bug."""
        if line == "echo $?":
            return f"{self.code}\n"
        words = shlex.split(line)
        own = words[0] == PROGRAM and not _SHELL & {*line}
        self.code, printed = self._within(words[1:]) if own else self._shell(line)
        if str(self._folder) in printed:
            raise TerminalError(f"{line}: prints where the session's folder is")
        if self.code == BUG:
            raise TerminalError(f"{line}: fails with an internal error: {printed.strip()}")
        return printed

    def _within(self, words: list[str]) -> tuple[int, str]:
        both = io.BytesIO()
        out, err = (io.TextIOWrapper(both, encoding="utf-8", write_through=True) for _ in range(2))
        streams = patch.multiple(sys, stdin=io.TextIOWrapper(io.BytesIO()), stdout=out, stderr=err)
        with contextlib.chdir(self._folder), patch.dict(os.environ, _session_environment(self._changes), clear=True), streams:
            return main(words), both.getvalue().decode()

    def _shell(self, line: str) -> tuple[int, str]:
        done = subprocess.run(  # noqa: S603 - the lines are those of pages of this repository
            ["/bin/bash", "-o", "pipefail", "-c", line],
            cwd=self._folder,
            env=_session_environment(self._changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        # one after the other: in which order two processes print is chance
        return done.returncode, (done.stdout + done.stderr).decode()


@contextlib.contextmanager
def terminal() -> Iterator[Terminal]:
    """A terminal in an empty folder, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as programs:
        yield Terminal(Path(folder).resolve(), Path(programs))


def _session_environment(changes: dict[str, str]) -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | changes


_DIRECTIVE: Final = re.compile(r"<!-- (file|run|fresh|made)(?:: (.+))? -->")
_FENCE: Final = re.compile(r"(`{3,})(\w*)\s*")
_CONSOLE: Final = "console"
_PROMPT: Final = "$ "
_END: Final = "<!-- end -->"


class PageError(Exception):
    """A page whose blocks or directives don't fit together; the text names the line."""


def refresh(text: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """The page with current outputs and made parts.

    Raises: PageError for a block or part without an end, or a part without a generator; TerminalError for outputs that can't be kept.
    """
    with contextlib.ExitStack() as stack:
        return "".join(_lines(text, parts, lambda: stack.enter_context(terminal())))


def _lines(text: str, parts: Mapping[str, Callable[[], str]], fresh: Callable[[], Terminal]) -> Iterator[str]:
    session, target = fresh(), ""
    lines = iter(text.splitlines(keepends=True))
    for line in lines:
        yield line
        match = _DIRECTIVE.fullmatch(line.strip())
        what, name = (match[1], match[2]) if match else ("", "")
        if what == "fresh":
            session = fresh()
        elif what == "run":
            session.run(name)
        elif what == "file":
            target = name
        elif what == "made":
            yield from _expand(name, lines, parts)
        elif fence := _FENCE.fullmatch(line):
            block = [*_until(lines, fence[1], line)]
            yield from _run(block[:-1], session, fence[1]) if fence[2] == _CONSOLE else block[:-1]
            yield block[-1]
            if target:
                session.write(target, "".join(block[:-1]))
                target = ""


def _expand(name: str, lines: Iterator[str], parts: Mapping[str, Callable[[], str]]) -> Iterator[str]:
    if name not in parts:
        raise PageError(f"<!-- made: {name} -->: no generator has that name")
    *_, end = _until(lines, _END, f"<!-- made: {name} -->")
    yield f"\n{parts[name]().strip()}\n\n"
    yield end


def _until(lines: Iterator[str], end: str, begun: str) -> Iterator[str]:
    """The lines up to the first that is the end, that one included."""
    for line in lines:
        yield line
        if line.strip() == end:
            return
    raise PageError(f"{begun.strip()} has no end")


def _run(block: Iterable[str], session: Terminal, fence: str) -> Iterator[str]:
    """The commands of a block, each with its current output."""
    for line in block:
        if line.startswith(_PROMPT):
            yield line
            printed = [each.rstrip() for each in session.run(line.removeprefix(_PROMPT).strip()).splitlines()]
            if fence in printed:
                raise PageError(f"{line.strip()} prints {fence}: begin and end its block with one backtick more")
            yield "".join(f"{each}\n" for each in printed)
