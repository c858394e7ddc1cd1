"""Certificates as files: generated once, kept while usable, repaired if generated, never modified if foreign."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dynamo_webhooks.certs.authority import LEAF_LIFE, issue_leaf, make_authority
from dynamo_webhooks.certs.files import AUTHORITY, CERTIFICATE, KEY, PairError, judge, load_pair, local_names, store, store_self_signed

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
    store_self_signed(tmp_path, NAMES, NOW + timedelta(days=300))
    assert contents(tmp_path) == before


@pytest.mark.parametrize("what", ["expired", "about to expire", "torn key", "torn certificate", "other authority", "other host", "no key"])
def test_our_own_broken_pair_is_made_anew(tmp_path: Path, what: str) -> None:
    """Whatever happened to our own pair, the next start serves a good one."""
    store_self_signed(tmp_path, NAMES, NOW)
    later, names = NOW + timedelta(days=1), NAMES
    if what == "expired":
        later = NOW + timedelta(days=366)
    elif what == "about to expire":
        later = NOW + timedelta(days=350)
    elif what == "torn key":
        (tmp_path / KEY).write_bytes((tmp_path / KEY).read_bytes()[:100])
    elif what == "torn certificate":
        (tmp_path / CERTIFICATE).write_bytes(b"")
    elif what == "other authority":
        other = tmp_path / "other"
        store_self_signed(other, NAMES, NOW)
        (tmp_path / AUTHORITY).write_bytes((other / AUTHORITY).read_bytes())
    elif what == "other host":
        names = local_names("10.1.2.3")
    else:
        (tmp_path / KEY).unlink()
    before = (tmp_path / CERTIFICATE).read_bytes()
    store_self_signed(tmp_path, names, later)
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
    one, other = issue_leaf(authority, ["a"], NOW), issue_leaf(authority, ["a"], NOW)
    for certificate, key, now, words in (
        (b"x", one.key, NOW, "tls.crt must hold a PEM certificate"),
        (one.certificate, b"x", NOW, "tls.key must hold a PEM private key"),
        (one.certificate, other.key, NOW, "must be the key of tls.crt"),
        (one.certificate, one.key, NOW + LEAF_LIFE, "has expired"),
        (one.certificate, one.key, NOW - timedelta(days=1), "is not valid before"),
    ):
        with pytest.raises(PairError, match=words):
            judge(certificate, key, now)
    with pytest.raises(PairError, match=r"tls.crt can't be read: No such file"):
        load_pair(tmp_path)


@pytest.mark.parametrize(
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
