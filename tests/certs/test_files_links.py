"""Symbolic links and strange files in a certificate directory: followed where Kubernetes makes them, never waited for, never quoted."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.context import Change, ReloadingContext
from dynamo_webhooks.certs.files import AUTHORITY, CERTIFICATE, KEY, LARGEST_FILE, PairError, load_pair, read_file
from dynamo_webhooks.certs.gather import _content

NOW: Final = datetime(2026, 5, 17, 12, tzinfo=UTC)
WORDS: Final = "root:x:0:0:private-word"


def mount(directory: Path, version: str, pair: KeyPair) -> None:
    """Writes a Secret as the kubelet does: files in a directory of their own, to which `..data` is turned in one step."""
    data = directory / f"..{version}"
    data.mkdir()
    (data / KEY).write_bytes(pair.key)
    (data / CERTIFICATE).write_bytes(pair.certificate)
    (directory / "..data_tmp").symlink_to(data.name)
    (directory / "..data_tmp").rename(directory / "..data")
    for name in (KEY, CERTIFICATE):
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")


@pytest.fixture(scope="module")
def pairs() -> tuple[KeyPair, KeyPair]:
    authority = make_authority(NOW)
    return issue_leaf(authority, ["a"], NOW), issue_leaf(authority, ["a"], NOW)


def test_a_secret_that_the_kubelet_swaps_is_followed(tmp_path: Path, pairs: tuple[KeyPair, KeyPair]) -> None:
    context = ReloadingContext(tmp_path, lambda: NOW)
    serials = []
    for version, pair in zip(("2026_01", "2026_02"), pairs, strict=True):
        mount(tmp_path, version, pair)
        assert context.refresh() is Change.LOADED
        assert context.leaf is not None
        serials.append(context.leaf.serial)
    assert len(set(serials)) == 2


def test_a_link_that_leads_out_of_the_directory_is_followed(tmp_path: Path, pairs: tuple[KeyPair, KeyPair]) -> None:
    """As certbot's do."""
    live, archive = tmp_path / "live", tmp_path / "archive"
    live.mkdir()
    archive.mkdir()
    mount(archive, "1", pairs[0])
    for name in (KEY, CERTIFICATE):
        (live / name).symlink_to(archive / name)
    assert load_pair(live) == (pairs[0].certificate, pairs[0].key)


def no_target(path: Path) -> None:
    path.symlink_to("nowhere")


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def a_directory(path: Path) -> None:
    path.symlink_to(".")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 34)


@pytest.mark.parametrize("name", [KEY, CERTIFICATE, AUTHORITY])
@pytest.mark.parametrize("make", [no_target, a_loop, a_pipe, a_directory, endless, a_terminal, huge], ids=lambda make: make.__name__)
def test_what_is_no_small_file_is_refused_at_once(
    tmp_path: Path, pairs: tuple[KeyPair, KeyPair], make: Callable[[Path], None], name: str
) -> None:
    """A pipe would block the only loop for ever, a device has no end; the last good pair stays, and no descriptor is left open."""
    mount(tmp_path, "1", pairs[0])
    context = ReloadingContext(tmp_path, lambda: NOW)
    assert context.refresh() is Change.LOADED
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(PairError, match=rf"^{name} (can't be read: |must be )"):
        read_file(tmp_path / name)
    assert context.refresh() is (Change.SAME if name == AUTHORITY else Change.REFUSED)
    assert context.loaded
    assert context.served is not None
    assert context.served.bundle == b""
    assert _content(str(tmp_path / name)) == b""
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("name", [KEY, CERTIFICATE])
def test_what_another_file_holds_is_not_told(tmp_path: Path, pairs: tuple[KeyPair, KeyPair], name: str) -> None:
    """A link to a file of another user is an unusable pair."""
    mount(tmp_path, "1", pairs[0])
    other = tmp_path / "other"
    other.write_text(WORDS)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to(other)
    context = ReloadingContext(tmp_path, lambda: NOW)
    assert context.refresh() is Change.REFUSED
    assert f"{name} must hold a PEM" in context.reason
    assert WORDS not in context.reason


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    (tmp_path / KEY).write_bytes(b"x" * LARGEST_FILE)
    assert len(read_file(tmp_path / KEY)) == LARGEST_FILE
