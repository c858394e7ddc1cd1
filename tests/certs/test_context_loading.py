"""Keys passed to OpenSSL: readable by no other user, deleted afterwards, with and without memory files."""

import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.certs import context
from dynamo_webhooks.certs.authority import issue_leaf, make_authority
from dynamo_webhooks.certs.files import PairError

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)


class Spy:
    """A fake context that inspects the file that it loads."""

    def __init__(self) -> None:
        self.mode = self.folder = 0
        self.content = b""
        self.file = Path()

    def load_cert_chain(self, file: str, **_: Any) -> None:
        self.file = Path(file)
        self.mode = stat.S_IMODE(self.file.stat().st_mode)
        self.folder = stat.S_IMODE(self.file.parent.stat().st_mode)
        self.content = self.file.read_bytes()


@pytest.fixture(params=["memory", "directory"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    if request.param == "directory":
        monkeypatch.setattr(context, "_OPEN", tmp_path / "nowhere")
    return str(request.param)


def test_the_file_is_ours_alone_and_gone_afterwards(way: str) -> None:
    spy: Any = Spy()
    before = sorted(Path("/proc/self/fd").iterdir())
    context.load(spy, b"certificate", b"key")
    assert (spy.content, spy.mode) == (b"certificate\nkey", 0o600)
    assert way == "memory" or spy.folder == 0o700
    assert not spy.file.exists()
    assert before == sorted(Path("/proc/self/fd").iterdir())


def test_a_pair_is_loaded(way: str) -> None:
    leaf = issue_leaf(make_authority(NOW), ["a"], NOW)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load(tls, leaf.certificate, leaf.key)
    assert tls.cert_store_stats()["x509"] == 0  # a pair, and no trusted authority


@pytest.mark.parametrize("key", [b"", b"nonsense"])
def test_what_openssl_refuses_is_a_sentence(way: str, key: bytes) -> None:
    leaf = issue_leaf(make_authority(NOW), ["a"], NOW)
    with pytest.raises(PairError, match=r"tls\.crt and tls\.key can't be loaded: \w"):
        context.load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), leaf.certificate, key)
