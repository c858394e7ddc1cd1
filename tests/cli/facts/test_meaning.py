"""What follows from facts that nobody knows, as `serve` says it at its start; and what single facts mean."""

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.facts.load import _value, consequences
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.facts import Facts
from tests.webhooks.test_admission import FACTS


def test_nothing_is_said_when_all_facts_are_known() -> None:
    assert consequences(FACTS) == []


def test_defaults_that_fill_in_nothing_are_named() -> None:
    unknown = Facts()._replace(**{name: getattr(FACTS, name) for name in Facts._fields if name != "operatorVersion"})
    unknown = unknown._replace(operatorLine=Line.V1_2)
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
