"""The log level of a running server follows the configuration file."""

import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.webhooks import logs
from dynamo_webhooks.webhooks.logs import LevelFile, LevelSource
from tests.webhooks.processes import Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_facts_serving import stored
from tests.webhooks.test_processes import eventually, proc_only


def printing(*values: Any) -> tuple[str, ...]:
    return (sys.executable, "-c", f"print({json.dumps({'values': values})!r})")


PLAIN: dict[str, Any] = {"server": {"metrics": {"secure": False}}}
LEVEL = {"key": "logging.level", "value": "debug", "from": "default"}


async def looked(tmp_path: Path, command: tuple[str, ...], after: bytes | None) -> list[str]:
    """What a level file passes on when its content becomes `after`."""
    file = tmp_path / "config.yaml"
    file.write_bytes(b"before")
    taken: list[str] = []
    level = LevelFile(LevelSource(file, command), taken.append)
    if after is None:
        file.unlink()
    else:
        file.write_bytes(after)
    await level.look()
    await level.look()
    return taken


async def test_a_changed_file_is_asked_once(tmp_path: Path) -> None:
    assert await looked(tmp_path, printing({"key": "kind", "value": "x"}, LEVEL), b"after") == ["debug"]


@pytest.mark.parametrize("after", [b"before", b"", None])
async def test_the_same_file_or_none_changes_nothing(tmp_path: Path, after: bytes | None) -> None:
    assert await looked(tmp_path, printing(LEVEL), after) == []


@pytest.mark.parametrize(
    "command",
    [printing({"key": "kind", "value": "x"}), (sys.executable, "-c", "print('no json')"), (sys.executable, "-c", "raise SystemExit(2)")],
)
async def test_a_file_that_cant_be_used_changes_nothing_and_is_told_of(
    tmp_path: Path, command: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    assert await looked(tmp_path, command, b"after") == []
    assert "can't be used" in caplog.text


async def test_a_change_waits_for_room_for_a_process(tmp_path: Path) -> None:
    file, program, taken = tmp_path / "config.yaml", tmp_path / "program", list[str]()
    file.write_bytes(b"before")
    level = LevelFile(LevelSource(file, (str(program),)), taken.append)
    file.write_bytes(b"after")
    with pytest.raises(OSError, match="No such file"):
        await level.look()
    level._source = LevelSource(file, printing(LEVEL))
    await level.look()
    assert taken == ["debug"]


def test_every_level_of_the_configuration_is_one() -> None:
    before = logging.getLogger().level
    try:
        for name in ("debug", "info", "warn", "warning", "error"):
            logs.set_level(name)
            assert logging.getLogger().level == logging.getLevelNamesMapping()[name.upper()]
    finally:
        logging.getLogger().setLevel(before)


def say(command: Command, uid: str) -> None:
    """Asks something with a uid, by which its access line is found again."""
    connection = command.connect()
    assert ask(connection, GRAPHS, review(graph(), uid=uid))["allowed"]
    connection.close()


def heard(command: Command, uid: str) -> bool:
    """Asks, and whether an access line of it has come a moment later."""
    say(command, uid)
    return command.told(uid)


@proc_only
def test_another_level_takes_effect_without_a_restart(tmp_path: Path) -> None:
    """T33: quiet, then access lines; a wrong file changes nothing."""
    file = stored(tmp_path, logging={"level": "error"}, **PLAIN)
    with Command(tmp_path, "--config", file) as command:
        command.ready()
        say(command, "quiet")
        stored(tmp_path, logging={"level": "info"}, **PLAIN)
        eventually(lambda: heard(command, "loud"))
        Path(file).write_text("nonsense: 1")
        assert command.log("can't be used")["level"] == "error"
        eventually(lambda: heard(command, "still"))
        command.send(signal.SIGTERM)
        assert command.wait() == 0
        assert not any("quiet" in line for line in command.lines)
