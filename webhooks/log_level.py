"""The log level of a running server: it follows `logging.level` of the configuration file. Everything else in it waits for a restart.

A mounted ConfigMap is the one thing that an admin can change without a restart, so that no signal and no port is needed. The file is judged
as at the start, by a process of its own: the models would stay in memory for ever here. A wrong file changes nothing.
"""

import asyncio
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from . import child_process

_LOG: Final = logging.getLogger("webhooks.level")
KEY: Final = "logging.level"


class LevelSource(NamedTuple):
    """The source of the level."""

    file: Path
    command: tuple[str, ...]  # prints the effective configuration as JSON: `config -o json`


class LevelFile:
    """Polls the file; `taken` gets its level after each change."""

    def __init__(self, source: LevelSource, taken: Callable[[str], None]) -> None:
        """What the file holds now is taken to be in effect."""
        self._source, self._taken = source, taken
        self._seen = self._content()

    async def run(self, pause: float) -> None:
        """Looks again after each pause, until it is cancelled."""
        while True:
            await asyncio.sleep(pause)
            try:
                await self.look()
            except Exception:  # noqa: BLE001 - logs must not end with a file system's mood
                _LOG.exception("the configuration file could not be looked at")

    async def look(self) -> None:
        """Read the level if the file has changed; returns the outcome."""
        content = self._content()
        if content in (b"", self._seen):
            return
        level = await self._ask()
        self._seen = content  # now: where no process could be started for it, it is read again
        if level:
            self._taken(level)
            _LOG.warning("the configuration file has changed: the log level is %s; other changes take effect after a restart", level)
        else:
            _LOG.error("the configuration file has changed and can't be used; `dynamo-webhooks config --config FILE` says why")

    def _content(self) -> bytes:
        try:
            return self._source.file.read_bytes()
        except OSError:
            return b""  # it is being replaced

    async def _ask(self) -> str:
        nowhere, environment = subprocess.DEVNULL, child_process.environment()
        process = await asyncio.create_subprocess_exec(
            *self._source.command, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere, env=environment
        )
        try:
            printed, _ = await process.communicate()
        except BaseException:
            process.kill()
            raise
        return _level(printed) if process.returncode == 0 else ""


def _level(printed: bytes) -> str:
    """The level in what `config -o json` prints; empty when it isn't there."""
    try:
        return next(str(each["value"]) for each in orjson.loads(printed)["values"] if each["key"] == KEY)
    except (ValueError, TypeError, KeyError, StopIteration):
        return ""
