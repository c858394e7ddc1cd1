"""`certs` in a directory: what it writes, what it refuses, what it says; and how it meets a cluster that isn't there."""

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
from tests.cli.conftest import Command, Files

LONG = ("--service", "s" * 63, "--namespace", "n" * 63)


def _issue(directory: Path, *more: str) -> int:
    return main(["certs", "issue", "--files", str(directory), *more])


def test_a_pair_is_made_with_an_authority_that_signs_again_and_keys_are_closed(command: Command, tmp_path: Path) -> None:
    where = tmp_path / "new"
    ran = command("certs", "issue", "--files", where, "--dry-run")
    assert (ran.code, "would write" in ran.err, where.exists()) == (0, True, False)
    assert _issue(where) == 0
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in where.iterdir()}
    assert modes == {"ca.crt": 0o644, "ca.key": 0o600, "tls.crt": 0o644, "tls.key": 0o600}
    authority, leaf = (where / "ca.crt").read_bytes(), (where / "tls.crt").read_bytes()
    assert _issue(where) == 0
    assert ((where / "ca.crt").read_bytes() == authority, (where / "tls.crt").read_bytes() == leaf) == (True, False)


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


def test_inspect_reads_a_pair_and_says_what_is_wrong_with_it(command: Command, tmp_path: Path) -> None:
    words = ("certs", "inspect", "--files", tmp_path)
    ran = command(*words)
    assert (ran.code, "tls.crt" in ran.err) == (4, True)
    _issue(tmp_path)
    facts = command(*words, "-o", "json").json
    assert (facts["ready"], "dynamo-webhooks.dynamo-system.svc" in facts["certificate"]["names"]) == (True, True)
    shutil.copy(tmp_path / "ca.key", tmp_path / "tls.key")
    ran = command(*words)
    assert (ran.code, ran.out.startswith("not ready: tls.key must be the key of tls.crt")) == (1, True)
    (tmp_path / "ca.key").unlink()  # half an authority is not completed by another
    ran = command("certs", "issue", "--files", tmp_path)
    assert (ran.code, "ca.key must be there" in ran.err) == (1, True)


@pytest.mark.parametrize("action", ["inspect", "issue"])
def test_a_pipe_among_the_files_is_not_waited_for(command: Command, tmp_path: Path, action: str) -> None:
    assert _issue(tmp_path) == 0
    (tmp_path / "ca.crt").unlink()
    os.mkfifo(tmp_path / "ca.crt")
    assert command("certs", action, "--files", tmp_path) == (4, "", f"{tmp_path}: ca.crt must be a regular file\n")


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
def test_wrong_usage_is_told(command: Command, files: Files, words: tuple[str, ...], said: str) -> None:
    files()
    ran = command("certs", *words)
    assert (ran.code, said in ran.err) == (2, True)
