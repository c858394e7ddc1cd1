"""`certs` in a directory: what it writes, what it refuses, what it says; and how it meets a cluster that isn't there."""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from dynamo_webhooks.certs.certificate import read_certificate
from dynamo_webhooks.cli.main import main

LONG = ("--service", "s" * 63, "--namespace", "n" * 63)


def _issue(directory: Path, *more: str) -> int:
    return main(["certs", "issue", "--files", str(directory), *more])


def test_a_pair_is_made_with_an_authority_and_keys_are_closed(tmp_path: Path) -> None:
    where = tmp_path / "new"
    assert _issue(where) == 0
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in where.iterdir()}
    assert modes == {"ca.crt": 0o644, "ca.key": 0o600, "tls.crt": 0o644, "tls.key": 0o600}


def test_the_authority_of_the_directory_signs_again(tmp_path: Path) -> None:
    _issue(tmp_path)
    authority, leaf = (tmp_path / "ca.crt").read_bytes(), (tmp_path / "tls.crt").read_bytes()
    assert _issue(tmp_path) == 0
    assert (tmp_path / "ca.crt").read_bytes() == authority
    assert (tmp_path / "tls.crt").read_bytes() != leaf


@pytest.mark.parametrize("form", [PrivateFormat.TraditionalOpenSSL, PrivateFormat.PKCS8])
def test_an_authoritys_key_may_be_in_either_form(tmp_path: Path, form: serialization.PrivateFormat) -> None:
    _issue(tmp_path)
    key = load_pem_private_key((tmp_path / "ca.key").read_bytes(), password=None)
    (tmp_path / "ca.key").write_bytes(key.private_bytes(Encoding.PEM, form, NoEncryption()))
    assert _issue(tmp_path) == 0
    authority, leaf = (read_certificate((tmp_path / name).read_bytes()) for name in ("ca.crt", "tls.crt"))
    assert authority is not None
    assert leaf is not None
    assert authority.issued(leaf)


@pytest.mark.parametrize("more", [(), LONG], ids=["usual names", "names of 63 characters each"])
def test_openssl_accepts_the_chain_for_the_name_that_the_api_server_calls(tmp_path: Path, more: tuple[str, ...]) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed; tests/certs judge the same chains with cryptography's verifier")
    _issue(tmp_path, *more)
    name = f"{more[1]}.{more[3]}.svc" if more else "dynamo-webhooks.dynamo-system.svc"
    command = [openssl, "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", name]
    done = subprocess.run([*command, "-CAfile", "ca.crt", "tls.crt"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "tls.crt: OK\n"), done.stderr
    wrong = [*command[:-1], "elsewhere.svc", "-CAfile", "ca.crt", "tls.crt"]
    assert subprocess.run(wrong, cwd=tmp_path, capture_output=True, check=False).returncode != 0


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _issue(tmp_path, "--dry-run") == 0
    assert not [*tmp_path.iterdir()]
    assert "would write" in capsys.readouterr().err


def test_half_an_authority_is_not_completed_by_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _issue(tmp_path)
    (tmp_path / "ca.key").unlink()
    assert _issue(tmp_path) == 1
    assert "ca.key must be there" in capsys.readouterr().err


def test_inspect_reads_a_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _issue(tmp_path)
    assert main(["certs", "inspect", "--files", str(tmp_path), "-o", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ready"] is True
    assert "dynamo-webhooks.dynamo-system.svc" in facts["certificate"]["names"]


def test_inspect_says_that_a_key_is_another_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _issue(tmp_path)
    shutil.copy(tmp_path / "ca.key", tmp_path / "tls.key")
    assert main(["certs", "inspect", "--files", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("not ready: tls.key must be the key of tls.crt")


def test_inspect_of_nothing_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certs", "inspect", "--files", str(tmp_path)]) == 4
    assert "tls.crt" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["inspect", "issue"])
def test_a_pipe_among_the_files_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str) -> None:
    assert _issue(tmp_path) == 0
    (tmp_path / "ca.crt").unlink()
    os.mkfifo(tmp_path / "ca.crt")
    capsys.readouterr()
    assert main(["certs", action, "--files", str(tmp_path)]) == 4
    assert f"{tmp_path}: ca.crt must be a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rotate", "--files", "x"), "--files: is for inspect and issue"),
        (("issue", "--files", ""), "--files: must name a directory, seen an empty text; write . for the current one"),
        (("inspect", "--files", ""), "--files: must name a directory"),
        (("inspect", "--compromised"), "--compromised: is for rotate alone"),
        (("inspect", "--kubeconfig", "nowhere.yaml"), "--kubeconfig: "),
    ],
)
def test_wrong_usage_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    words = tuple(str(tmp_path / word) if word.endswith(".yaml") else word for word in words)
    assert main(["certs", *words]) == 2
    assert said in capsys.readouterr().err
