"""The reloading context: follows the files, refuses what can't be served, and keeps the last good pair."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme
from cryptography import x509

from dynamo_webhooks.certs import context
from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.context import Change, ReloadingContext
from dynamo_webhooks.certs.files import CERTIFICATE, KEY, PairError, store

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)


def put(directory: Path, pair: KeyPair) -> str:
    """Writes a pair and returns its serial."""
    store(directory / KEY, pair.key, 0o600)
    store(directory / CERTIFICATE, pair.certificate, 0o644)
    return f"{x509.load_pem_x509_certificate(pair.certificate).serial_number:x}"


def handshake(context: ReloadingContext, name: str | None) -> str:
    """Shakes hands in memory and returns the serial of the certificate that a client is shown."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname, client_context.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.tls.wrap_bio(to_server, to_client, server_side=True)
    client = client_context.wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    return f"{x509.load_der_x509_certificate(shown).serial_number:x}"


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=NOW)


@pytest.fixture
def pairs() -> tuple[KeyPair, KeyPair]:
    authority = make_authority(NOW)
    return issue_leaf(authority, ["a"], NOW), issue_leaf(authority, ["a"], NOW)


def test_nothing_is_served_before_there_is_a_pair(tmp_path: Path, clock: SimpleNamespace) -> None:
    """An empty directory is a state with a reason, not an error; handshakes fail cleanly."""
    context = ReloadingContext(tmp_path, lambda: clock.now)
    assert context.refresh() is Change.REFUSED
    assert context.refresh() is Change.SAME
    assert not context.loaded
    assert "tls.crt can't be read" in context.reason
    with pytest.raises(ssl.SSLError):
        handshake(context, "a")


@pytest.mark.parametrize("name", ["a", None])
def test_new_handshakes_see_the_new_pair(tmp_path: Path, clock: SimpleNamespace, pairs: tuple[KeyPair, KeyPair], name: str | None) -> None:
    """With and without a server name."""
    context = ReloadingContext(tmp_path, lambda: clock.now)
    first = put(tmp_path, pairs[0])
    assert (context.refresh(), context.refresh()) == (Change.LOADED, Change.SAME)
    assert handshake(context, name) == first
    second = put(tmp_path, pairs[1])
    assert handshake(context, name) == first
    assert context.refresh() is Change.LOADED
    assert handshake(context, name) == second
    assert context.leaf is not None
    assert context.leaf.serial == second


def test_a_key_of_another_type_takes_over_whole(tmp_path: Path, clock: SimpleNamespace, pairs: tuple[KeyPair, KeyPair]) -> None:
    """RSA first, ECDSA next: no client may still be offered the old one."""
    clock.now = datetime.now(UTC)
    rsa = trustme.CA(key_type=trustme.KeyType.RSA).issue_cert("a", key_type=trustme.KeyType.RSA)
    put(tmp_path, KeyPair(rsa.cert_chain_pems[0].bytes(), rsa.private_key_pem.bytes()))
    context = ReloadingContext(tmp_path, lambda: clock.now)
    assert context.refresh() is Change.LOADED
    now = clock.now
    second = put(tmp_path, issue_leaf(make_authority(now), ["a"], now))
    assert context.refresh() is Change.LOADED
    assert handshake(context, "a") == second


def test_a_torn_pair_is_kept_out_and_reported_once(tmp_path: Path, clock: SimpleNamespace, pairs: tuple[KeyPair, KeyPair]) -> None:
    """Certificate and key are two files: in between their writes they don't belong together."""
    first = put(tmp_path, pairs[0])
    context = ReloadingContext(tmp_path, lambda: clock.now)
    context.refresh()
    store(tmp_path / KEY, pairs[1].key, 0o600)
    assert [context.refresh() for _ in range(3)] == [Change.REFUSED, Change.SAME, Change.SAME]
    assert "must be the key of" in context.reason
    assert handshake(context, "a") == first
    second = put(tmp_path, pairs[1])
    assert context.refresh() is Change.LOADED
    assert (context.reason, handshake(context, "a")) == ("", second)


def test_a_pair_of_tomorrow_waits_for_its_day(tmp_path: Path, clock: SimpleNamespace, pairs: tuple[KeyPair, KeyPair]) -> None:
    """Refused today by its dates, taken into use when they come, though the files never change again."""
    context = ReloadingContext(tmp_path, lambda: clock.now)
    put(tmp_path, issue_leaf(make_authority(NOW), ["a"], NOW + timedelta(days=1)))
    assert context.refresh() is Change.REFUSED
    clock.now = NOW + timedelta(days=1)
    assert context.refresh() is Change.LOADED


def test_expiry_is_seen(tmp_path: Path, clock: SimpleNamespace, pairs: tuple[KeyPair, KeyPair]) -> None:
    """An expired certificate makes the server unready."""
    put(tmp_path, pairs[0])
    context = ReloadingContext(tmp_path, lambda: clock.now)
    context.refresh()
    assert not context.expired
    clock.now = NOW + timedelta(days=365)
    assert context.expired
    assert context.loaded


def test_only_modern_tls(tmp_path: Path, clock: SimpleNamespace) -> None:
    """TLS 1.2 and up, forward secrecy, HTTP/1.1."""
    context = ReloadingContext(tmp_path, lambda: clock.now).tls
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.options & ssl.OP_NO_RENEGOTIATION
    names = {cipher["name"] for cipher in context.get_ciphers() if cipher["protocol"] == "TLSv1.2"}
    assert names
    assert all(name.startswith("ECDHE-") and ("GCM" in name or "CHACHA20" in name) for name in names)


class Spy:
    """A fake context that inspects the file that it loads."""

    def __init__(self) -> None:
        self.mode = 0
        self.content = b""
        self.file = Path()

    def load_cert_chain(self, file: str, **_: Any) -> None:
        self.file = Path(file)
        self.mode = stat.S_IMODE(self.file.stat().st_mode)
        self.content = self.file.read_bytes()


@pytest.fixture(params=["memory", "file"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    if request.param == "file":
        monkeypatch.setattr(context, "_OPEN", tmp_path / "nowhere")
    return str(request.param)


def test_the_file_is_ours_alone_and_gone_afterwards(way: str) -> None:
    spy: Any = Spy()
    before = sorted(Path("/proc/self/fd").iterdir())
    context.load(spy, b"certificate", b"key")
    assert (spy.content, spy.mode) == (b"certificate\nkey", 0o600)
    assert not spy.file.exists()
    assert before == sorted(Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize("key", [b"", b"nonsense"])
def test_what_openssl_refuses_is_a_sentence(way: str, key: bytes) -> None:
    leaf = issue_leaf(make_authority(NOW), ["a"], NOW)
    with pytest.raises(PairError, match=r"tls\.crt and tls\.key can't be loaded: \w"):
        context.load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), leaf.certificate, key)
