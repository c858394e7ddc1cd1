"""The command `facts` without a cluster that answers: flags, files and exit codes. On a real API server: tests/cluster."""

import socket
from pathlib import Path

import pytest
import yaml

from dynamo_webhooks.cli.facts.gather import Gathered
from tests.cli.conftest import Command

FOUND = Gathered({"grove": True, "clusterTopologies": None, "excludedNamespaces": ["secret-team"]}, {"dra": "can't be read: secret"})


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynamo_webhooks.cli.commands import facts
    from dynamo_webhooks.policies.facts import Facts

    rest = {name: "the cluster does not show it" for name in Facts._fields if name not in FOUND.values and name not in FOUND.reasons}

    async def gathered(_args: object) -> Gathered:
        return FOUND._replace(reasons={**FOUND.reasons, **rest})

    monkeypatch.setattr(facts, "_gathered", gathered)


def test_the_file_is_the_result_and_what_is_unknown_is_talk(found: None, command: Command, tmp_path: Path) -> None:
    printed = command("facts", "--cluster")
    assert (printed.code, yaml.safe_load(printed.out)["grove"]) == (0, True)
    assert "dra is not known: can't be read: secret\n" in printed.err
    stored = command("facts", "--cluster", "-o", tmp_path / "facts.yaml")
    assert (stored.code, stored.out, (tmp_path / "facts.yaml").read_text()) == (0, "", printed.out)


def test_redaction_leaves_no_name_on_either_stream(found: None, command: Command) -> None:
    ran = command("facts", "--cluster", "--redact")
    assert "secret" not in ran.out + ran.err
    assert "excludedNamespaces:\n  - namespace-1\n" in ran.out


def test_a_file_that_can_not_be_written_is_wrong_usage(found: None, command: Command, tmp_path: Path) -> None:
    ran = command("facts", "--cluster", "-o", tmp_path)
    assert (ran.code, ran.err) == (2, f"dynamo-webhooks facts: {tmp_path} can't be written: Is a directory\n")


def test_without_the_flag_no_cluster_is_asked(command: Command) -> None:
    ran = command("facts")
    assert (ran.code, ran.out) == (2, "")
    assert "--cluster must be given" in ran.err


def test_a_kubeconfig_that_is_not_there_is_wrong_usage(command: Command, tmp_path: Path) -> None:
    ran = command("facts", "--cluster", "--kubeconfig", tmp_path / "none")
    assert (ran.code, ran.err.startswith("dynamo-webhooks facts: --kubeconfig: ")) == (2, True)


def test_a_cluster_that_can_not_be_reached_is_code_6(command: Command, tmp_path: Path) -> None:
    with socket.socket() as bound:  # and nobody listens
        bound.bind(("127.0.0.1", 0))
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{bound.getsockname()[1]}"}}
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        users = [{"name": "u", "user": {}}]
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "contexts": [context],
            "users": users,
            "current-context": "c",
        }
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        ran = command("facts", "--cluster", "--kubeconfig", tmp_path / "config")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith("the cluster can't be asked: ")
    assert ran.err.count("\n") == 1
