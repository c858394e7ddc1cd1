"""Files and folders that are read again when they change."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.webhooks.logs import take_level
from dynamo_webhooks.webhooks.reload import Reload, watch
from tests.rows import run_each

LEVEL = {"key": "logging.level", "value": "debug", "from": "default"}


def printing(*values: Any) -> tuple[str, ...]:
    return (sys.executable, "-c", f"print({json.dumps({'values': values})!r})")


async def looked(tmp_path: Path, command: tuple[str, ...], after: bytes | None) -> list[str]:
    """What a level file passes on when its content becomes `after`."""
    file = tmp_path / "config.yaml"
    file.write_bytes(b"before")
    taken: list[str] = []
    level = Reload(watch(str(file), command), partial(take_level, taken=taken.append))
    if after is None:
        file.unlink()
    else:
        file.write_bytes(after)
    await level.look()
    await level.look()
    return taken


async def test_a_changed_file_is_asked_once(tmp_path: Path) -> None:
    assert await looked(tmp_path, printing({"key": "kind", "value": "x"}, LEVEL), b"after") == ["debug"]


@run_each("after", [b"before", b"", None])
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
    file, program, taken = tmp_path / "config.yaml", tmp_path / "program", list[bytes]()
    file.write_bytes(b"before")
    reload = Reload(watch(str(file), (str(program),)), taken.append)
    file.write_bytes(b"after")
    with pytest.raises(OSError, match="No such file"):
        await reload.look()
    program.write_text("#!/bin/sh\necho printed")
    program.chmod(0o755)
    await reload.look()
    assert taken == [b"printed\n"]


async def test_a_mounted_folder_is_read_again_when_its_link_moves_or_it_comes(tmp_path: Path) -> None:
    """A kubelet writes another folder, and moves one link to it."""
    mounted, taken = tmp_path / "mounted", list[bytes]()
    reload = Reload(watch(str(mounted), ("echo", "read")), taken.append)
    await reload.look()
    for number in (1, 2):
        made = tmp_path / f"..{number}"
        made.mkdir()
        (made / "p.yaml").write_text("same size")
        (tmp_path / "new").symlink_to(made)
        (tmp_path / "new").replace(tmp_path / "..data")
        if number == 1:
            mounted.mkdir()
            (mounted / "p.yaml").symlink_to(tmp_path / "..data" / "p.yaml")
        await reload.look()
        await reload.look()
        assert taken == [b"read\n"] * number
    (mounted / "below").mkdir()
    (mounted / "below" / "q.yaml").write_text("a file in a folder")
    await reload.look()
    assert len(taken) == 3
