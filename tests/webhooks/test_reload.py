"""Folders that are read again when they change."""

import sys
from pathlib import Path

import pytest

from dynamo_webhooks.webhooks.reload import Reload, watch

PRINTING = (sys.executable, "-c", "print('read')")


async def looked(folder: Path, command: tuple[str, ...], *, after: str = "") -> list[bytes]:
    """What is passed on when a folder has one file more, if any."""
    taken: list[bytes] = []
    reload = Reload(watch(str(folder), command), taken.append)
    if after:
        (folder / after).write_text("after")
    await reload.check()
    await reload.check()
    return taken


async def test_a_changed_folder_is_asked_once(tmp_path: Path) -> None:
    assert await looked(tmp_path, PRINTING, after="p.yaml") == [b"read\n"]


async def test_the_same_folder_or_none_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("before")
    assert await looked(tmp_path, PRINTING) == []
    assert await looked(tmp_path / "none", PRINTING) == []


async def test_of_a_command_that_fails_nothing_is_passed_on(tmp_path: Path) -> None:
    assert await looked(tmp_path, (sys.executable, "-c", "print('half'); raise SystemExit(2)"), after="p.yaml") == [b""]


async def test_a_change_waits_for_room_for_a_process(tmp_path: Path) -> None:
    folder, program, taken = tmp_path / "policies", tmp_path / "program", list[bytes]()
    folder.mkdir()
    reload = Reload(watch(str(folder), (str(program),)), taken.append)
    (folder / "p.yaml").write_text("after")
    with pytest.raises(OSError, match="No such file"):
        await reload.check()
    program.write_text("#!/bin/sh\necho printed")
    program.chmod(0o755)
    await reload.check()
    assert taken == [b"printed\n"]


async def test_a_mounted_folder_is_read_again_when_its_link_moves_or_it_comes(tmp_path: Path) -> None:
    """A kubelet writes another folder, and moves one link to it."""
    mounted, taken = tmp_path / "mounted", list[bytes]()
    reload = Reload(watch(str(mounted), ("echo", "read")), taken.append)
    await reload.check()
    for number in (1, 2):
        made = tmp_path / f"..{number}"
        made.mkdir()
        (made / "p.yaml").write_text("same size")
        (tmp_path / "new").symlink_to(made)
        (tmp_path / "new").replace(tmp_path / "..data")
        if number == 1:
            mounted.mkdir()
            (mounted / "p.yaml").symlink_to(tmp_path / "..data" / "p.yaml")
        await reload.check()
        await reload.check()
        assert taken == [b"read\n"] * number
    (mounted / "below").mkdir()
    (mounted / "below" / "q.yaml").write_text("a file in a folder")
    await reload.check()
    assert len(taken) == 3
