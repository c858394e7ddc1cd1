"""The command `facts` without a cluster that answers: flags, files and exit codes; what facts mean, and what follows from unknown ones.

On a real API server: tests/cluster.
"""

from pathlib import Path

import pytest
import yaml

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.facts.gather import Gathered
from dynamo_webhooks.cli.facts.load import _value, consequences
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.facts import UNKNOWN, Facts
from tests.cli.conftest import Command
from tests.cli.daemon.processes import unreachable
from tests.webhooks.test_admission import FACTS as KNOWN

FOUND = Gathered({"grove": True, "clusterTopologies": None, "excludedNamespaces": ["secret-team"]}, {"dra": "can't be read: secret"})


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynamo_webhooks.cli.commands import facts

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


def test_a_cluster_that_is_not_named_there_or_reached(command: Command, tmp_path: Path) -> None:
    ran = command("facts")
    assert (ran.code, ran.out, "--cluster must be given" in ran.err) == (2, "", True)
    ran = command("facts", "--cluster", "--kubeconfig", tmp_path / "none")
    assert (ran.code, ran.err.startswith("dynamo-webhooks facts: --kubeconfig: ")) == (2, True)
    ran = command("facts", "--cluster", "--kubeconfig", unreachable(tmp_path))
    assert (ran.code, ran.out, ran.err.count("\n")) == (6, "", 1)
    assert ran.err.startswith("the cluster can't be asked: ")


def test_nothing_is_said_when_all_facts_are_known_and_defaults_that_fill_in_nothing_are_named() -> None:
    assert consequences(KNOWN) == []
    unknown = KNOWN._replace(operatorVersion=UNKNOWN, operatorLine=Line.V1_2)
    assert consequences(unknown) == ["operatorVersion is not known: mut-dgd-origin-version and mut-dgdr-image fill in nothing"]


def test_rules_that_refuse_are_named() -> None:
    lines = consequences(Facts())
    assert len(lines) == len({line.partition(" ")[0] for line in lines}) > 5
    [grove] = [line for line in lines if line.startswith("grove is not known: ")]
    assert "priority-class-requires-grove" in grove
    assert grove.endswith("what would have to be judged by it")


@pytest.mark.parametrize("word", ["true", "No", "on", "null", "0", "012", "0x1F", "1e3", "1e999", "9" * 30, "cluster", "a1", "y"])
def test_a_word_means_what_it_means_in_yaml(word: str) -> None:
    documents = load_documents(word)
    meant = documents[0].data if documents else None
    found = _value(word, "-")
    assert (found, type(found)) == (meant, type(meant))
