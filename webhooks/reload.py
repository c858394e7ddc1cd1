"""Reads a folder again when it changes, in a process of its own: the loop waits for no parser."""

import asyncio
import logging
import os
import subprocess
from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

from . import child_process

_LOG: Final = logging.getLogger("webhooks.reload")
MAX_FILES: Final = 1_000  # that are looked at


class Source(NamedTuple):
    """A folder, and the command that reads it and prints JSON."""

    path: str
    command: tuple[str, ...]
    state: object  # when it was read last


def watch(path: str, command: tuple[str, ...]) -> Source:
    """A source that is read now."""
    return Source(path, command, _state_of(path))


class Reload:
    """Polls a source; after each change, `on_change` gets the output of the command, empty if it failed."""

    def __init__(self, source: Source, on_change: Callable[[bytes], None]) -> None:
        """The content that was read is already in effect."""
        self._source, self._on_change = source, on_change

    async def run(self, pause: float) -> None:
        """Looks again after each pause, until it is cancelled."""
        while True:
            await asyncio.sleep(pause)
            try:
                await self.check()
            except Exception:  # noqa: BLE001 - a file system's mood must not end the watch
                _LOG.exception("%s could not be read", self._source.path)

    async def check(self) -> None:
        """Reads the source if it has changed."""
        state = _state_of(self._source.path)
        if state in (None, self._source.state):
            return
        printed = await self._print()
        self._source = self._source._replace(state=state)  # now: where no process could be started for it, it is read again
        self._on_change(printed)

    async def _print(self) -> bytes:
        nowhere, environment = subprocess.DEVNULL, child_process.environment()
        process = await asyncio.create_subprocess_exec(
            *self._source.command, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere, env=environment
        )
        try:
            printed, _ = await process.communicate()
        except BaseException:
            process.kill()
            raise
        return b"" if process.returncode else printed


def _state_of(path: str) -> object:
    """Names, times and sizes in a folder; None while one of its files is replaced, or where there is no folder."""
    if not os.path.isdir(path):  # noqa: PTH112 - as its files are found
        return None
    files = islice((os.path.join(root, name) for root, _, names in os.walk(path) for name in names), MAX_FILES)  # noqa: PTH118
    # a mounted ConfigMap is replaced as a whole, by a link to another folder: its files are other ones then
    states = ((file, os.stat(file)) for file in files)  # noqa: PTH116 - as above
    try:
        return sorted((file, state.st_mtime_ns, state.st_size, state.st_ino) for file, state in states)
    except OSError:
        return None
