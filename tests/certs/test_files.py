"""Certificates as files: generated once, kept while usable, repaired if generated, never modified if foreign."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, load_pem_private_key

from dynamo_webhooks.certs.authority import LEAF_LIFE, SELF_SIGNED, KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.context import Change, ReloadingContext
from dynamo_webhooks.certs.files import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    MAX_FILE_BYTES,
    PairError,
    judge,
    load_pair,
    local_names,
    read_file,
    store,
    store_self_signed,
)
from dynamo_webhooks.certs.gather import _content
from tests.rows import run_each

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
NAMES = local_names("127.0.0.1")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_new_directory_is_private_and_complete(tmp_path: Path) -> None:
    """The directory and the key are for their owner alone, and nothing is left over."""
    directory = tmp_path / "some" / "certs"
    assert store_self_signed(directory, NAMES, NOW) == directory / AUTHORITY
    assert (mode(directory), mode(directory / KEY)) == (0o700, 0o600)
    assert sorted(contents(directory)) == [AUTHORITY, CERTIFICATE, KEY]
    assert judge(*load_pair(directory), NOW).not_after == NOW + LEAF_LIFE


def test_a_usable_pair_is_kept(tmp_path: Path) -> None:
    """A restart must not make clients trust a new authority."""
    store_self_signed(tmp_path, NAMES, NOW)
    before = contents(tmp_path)
    store_self_signed(tmp_path, NAMES, NOW + LEAF_LIFE - timedelta(days=30, hours=1))
    assert contents(tmp_path) == before


@run_each(
    ("days", "host", "file", "content"),
    [
        (366, "127.0.0.1", "", b""),
        (336, "127.0.0.1", "", b""),  # 29 of its 365 days are left
        (1, "10.1.2.3", "", b""),
        (1, "127.0.0.1", KEY, b"-----BEGIN PRIVATE KEY-----\nMIG"),
        (1, "127.0.0.1", KEY, None),
        (1, "127.0.0.1", CERTIFICATE, b""),
        (1, "127.0.0.1", AUTHORITY, make_authority(NOW, organisation=SELF_SIGNED).certificate),
    ],
)
def test_our_own_broken_pair_is_made_anew(tmp_path: Path, days: int, host: str, file: str, content: bytes | None) -> None:
    """Whatever happened to our own pair, the next start serves a good one."""
    store_self_signed(tmp_path, NAMES, NOW)
    before, later = (tmp_path / CERTIFICATE).read_bytes(), NOW + timedelta(days=days)
    if content is None:
        (tmp_path / file).unlink()
    elif file:
        (tmp_path / file).write_bytes(content)
    store_self_signed(tmp_path, local_names(host), later)
    assert (tmp_path / CERTIFICATE).read_bytes() != before
    assert judge(*load_pair(tmp_path), later).not_after > later


def test_a_foreign_pair_is_served_and_never_touched(tmp_path: Path) -> None:
    """`--self-signed` must not replace a foreign pair in its directory, not even a broken one."""
    authority = make_authority(NOW)
    leaf = issue_leaf(authority, ["elsewhere"], NOW)
    store(tmp_path / CERTIFICATE, leaf.certificate, 0o644)
    store(tmp_path / KEY, leaf.key, 0o600)
    before = contents(tmp_path)
    assert store_self_signed(tmp_path, NAMES, NOW) == tmp_path / CERTIFICATE
    with pytest.raises(PairError, match="foreign pair"):
        store_self_signed(tmp_path, NAMES, NOW + timedelta(days=400))
    assert contents(tmp_path) == before


def test_a_pair_is_judged(tmp_path: Path) -> None:
    """Each way of being unusable has a sentence of its own."""
    authority = make_authority(NOW)
    pair, other = issue_leaf(authority, ["a"], NOW), issue_leaf(authority, ["a"], NOW)
    locked = BestAvailableEncryption(b"word")
    encrypted = load_pem_private_key(pair.key, None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)
    for certificate, key, now, words in (
        (b"x", pair.key, NOW, "tls.crt must hold a PEM certificate"),
        (pair.certificate, b"x", NOW, "tls.key must hold a PEM private key"),
        (pair.certificate, encrypted, NOW, "tls.key must hold a PEM private key that is not encrypted"),
        (pair.certificate, other.key, NOW, "must be the key of tls.crt"),
        (pair.certificate, pair.key, NOW + LEAF_LIFE, "has expired"),
        (pair.certificate, pair.key, NOW - timedelta(days=1), "is not valid before"),
    ):
        with pytest.raises(PairError, match=words):
            judge(certificate, key, now)
    with pytest.raises(PairError, match=r"tls.crt can't be read: No such file"):
        load_pair(tmp_path)


@run_each(
    ("host", "more"),
    [("0.0.0.0", ()), ("", ()), ("::", ()), ("localhost", ()), ("127.0.0.1", ()), ("10.0.0.1", ("10.0.0.1",)), ("box", ("box",))],  # noqa: S104
)
def test_names_of_this_machine(host: str, more: tuple[str, ...]) -> None:
    """A particular listen host is among the names, an unspecified one adds nothing."""
    assert local_names(host) == ("localhost", "127.0.0.1", "::1", *more)


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    """The target stays as it was, and no scratch file remains."""
    (tmp_path / KEY).mkdir()
    with pytest.raises(OSError, match="directory"):
        store(tmp_path / KEY, b"content", 0o600)
    assert [path.name for path in tmp_path.iterdir()] == [KEY]


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


def test_a_link_that_leads_out_of_the_directory_is_followed(tmp_path: Path, pairs: tuple[KeyPair, KeyPair]) -> None:
    """As certbot's do."""
    live, archive = tmp_path / "live", tmp_path / "archive"
    live.mkdir()
    archive.mkdir()
    mount(archive, "1", pairs[0])
    for name in (KEY, CERTIFICATE):
        (live / name).symlink_to(archive / name)
    assert load_pair(live) == (pairs[0].certificate, pairs[0].key)


@run_each("name", [KEY, CERTIFICATE, AUTHORITY])
@run_each("target", ["nowhere", "", "pipe", ".", "/dev/zero", "/dev/tty", "huge"])
def test_what_is_no_small_file_is_refused_at_once(tmp_path: Path, pairs: tuple[KeyPair, KeyPair], target: str, name: str) -> None:
    """A pipe would block the only loop for ever, a device or a loop has no end; the last good pair stays, no descriptor is left open."""
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 34)
    mount(tmp_path, "1", pairs[0])
    context = ReloadingContext(tmp_path, lambda: NOW)
    assert context.refresh() is Change.LOADED
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).symlink_to(target or name)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(PairError, match=rf"^{name} (can't be read: |must be )"):
        read_file(tmp_path / name)
    assert context.refresh() is (Change.SAME if name == AUTHORITY else Change.REFUSED)
    assert context.loaded
    assert context.served is not None
    assert context.served.bundle == b""
    assert _content(str(tmp_path / name)) == b""
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    (tmp_path / KEY).write_bytes(b"x" * MAX_FILE_BYTES)
    assert len(read_file(tmp_path / KEY)) == MAX_FILE_BYTES
