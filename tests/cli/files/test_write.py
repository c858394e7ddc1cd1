"""Files are replaced in one step or left alone; what is no regular file is written to."""

import os
import stat
from pathlib import Path

import pytest

from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.files.write import replace_file


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _names() -> list[str]:
    return sorted(file.name for file in Path().iterdir())


def test_a_file_is_made_with_the_mode_that_any_new_file_has() -> None:
    Path("other").write_text("")
    replace_file("new", "é\n")
    assert Path("new").read_bytes() == "é\n".encode()
    assert Path("new").stat().st_mode == Path("other").stat().st_mode
    assert _names() == ["new", "other"]


def test_an_old_file_keeps_its_mode_a_link_its_target_and_a_reader_the_old_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its owner, where that may be given."""
    Path("old").write_text("old")
    Path("old").chmod(0o640)
    Path("link").symlink_to("old")
    before, given = Path("old").stat(), []

    def give(_: int, user: int, group: int) -> None:
        given.append((user, group))
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", give)
    with Path("old").open() as reading:
        replace_file("link", "new")
        assert (reading.read(), Path("old").read_text()) == ("old", "new")
    assert given == [(before.st_uid, before.st_gid)]
    assert stat.S_IMODE(Path("old").stat().st_mode) == 0o640
    assert Path("link").is_symlink()


def test_a_stream_is_written_to(folder: Path) -> None:
    reading, writing = os.pipe()
    try:
        replace_file(f"/dev/fd/{writing}", b"through a pipe")
        assert os.read(reading, 100) == b"through a pipe"
    finally:
        os.close(reading)
        os.close(writing)
    with Path("redirected").open("wb") as out:
        replace_file(f"/dev/fd/{out.fileno()}", b"by its number")
        assert os.fstat(out.fileno()).st_ino == Path("redirected").stat().st_ino
    assert Path("redirected").read_bytes() == b"by its number"
    replace_file(os.devnull, b"gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("no/such/file", "its folder does not exist"),
        ("folder", "Is a directory"),
        ("circle", "Too many levels of symbolic links"),
        ("a" * 300, "File name too long"),
        ("a/b", "Not a directory"),
        ("", "Is a directory"),
        ("zero\0", "it is no usable path"),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing_behind(file: str, reason: str) -> None:
    Path("folder").mkdir()
    Path("circle").symlink_to("circle")
    Path("a").write_text("")
    before = _names()
    with pytest.raises(UsageError, match=f"can't be written: {reason}"):
        replace_file(file, "x")
    assert _names() == before


def test_what_fails_half_way_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    Path("a").write_text("old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="a can't be written: No space left on device"):
        replace_file("a", "new")
    assert (_names(), Path("a").read_text()) == (["a"], "old")
