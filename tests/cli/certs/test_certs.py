"""`certs` meets a cluster that isn't there, and flags that mean nothing; what it does at one: tests/certs/test_work.py."""

import pytest

from tests.cli.conftest import Command, Files


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("inspect", "--compromised"), "--compromised: is for rotate alone"),
        (("inspect", "--kubeconfig", "nowhere.yaml"), "--kubeconfig: "),
    ],
)
def test_wrong_usage_is_told(command: Command, files: Files, words: tuple[str, ...], said: str) -> None:
    files()
    ran = command("certs", *words)
    assert (ran.code, said in ran.err) == (2, True)
