"""Answers: typed causes, short warnings, bounded size, and nothing of the object but what a finding names."""

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.answer import (
    MAX_MESSAGE_CHARACTERS,
    MAX_WARNING_CHARACTERS,
    MAX_WARNINGS,
    format_finding,
    list_warnings,
    make_status,
)
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.finding import Cause, Finding
from dynamo_webhooks.policies.rule import MODEL_KIND, Level, Rule
from tests.policies.examples import parse


def _rule() -> Rule:
    rule = find_rule("replicas-non-negative")
    assert rule
    return rule


def _finding(level: Level = Level.ERROR, text: str = "must not be negative, got -1", name: str = "w") -> Finding:
    return Finding(_rule(), Cause.INVALID, level, ("spec", "services", Key(name), "replicas"), text, -1)


def test_a_denial_has_one_cause_a_finding() -> None:
    answer = make_status("DynamoGraphDeployment", "nvidia.com", "g", [_finding(), _finding(name="x")])
    assert (answer["code"], answer["reason"]) == (422, "Invalid")
    assert answer["details"]["causes"][1] == {
        "reason": "FieldValueInvalid",
        "field": "spec.services[x].replicas",
        "message": "must not be negative, got -1 [replicas-non-negative]",
    }
    assert answer["message"].startswith('DynamoGraphDeployment.nvidia.com "g" is invalid: spec.services[w].replicas: must not')
    assert make_status("DynamoGraphDeployment", "nvidia.com", "g", [_finding(Level.FAULT), _finding()])["code"] == 422


def test_warnings_are_at_most_120_characters() -> None:
    findings = [_finding(Level.WARNING, "must " + "x" * 500), _finding(), _finding(Level.WARNING)]
    assert [len(text) for text in list_warnings(findings)] == [MAX_WARNING_CHARACTERS, len(format_finding(findings[2]))]


def test_an_absurd_name_leaves_room_for_the_sentence_and_the_rule() -> None:
    line = format_finding(_finding(name="n" * 1_000_000))
    assert len(line) <= MAX_MESSAGE_CHARACTERS
    assert line.endswith(": must not be negative, got -1 [replicas-non-negative]")
    long = format_finding(_finding(text="must " + "x" * 1_000_000))
    assert len(long) == MAX_MESSAGE_CHARACTERS
    assert long.endswith("\N{HORIZONTAL ELLIPSIS} [replicas-non-negative]")


def test_what_an_author_wrote_stays_on_one_line() -> None:
    """API servers drop warnings that hold a control character, and kubectl prints denials as they are."""
    finding = _finding(text='must be "pod" or "container", got "pod\n\x1b[31m"', name="a\tb\u202e")
    line = r'spec.services[a\tb\u202e].replicas: must be "pod" or "container", got "pod\n\x1b[31m" [replicas-non-negative]'
    assert format_finding(finding) == line
    answer = make_status("DynamoGraphDeployment", "nvidia.com", "g\r", [finding])
    assert answer["message"] == rf'DynamoGraphDeployment.nvidia.com "g\r" is invalid: {line}'
    cause = answer["details"]["causes"][0]
    assert f"{cause['field']}: {cause['message']}" == line
    assert list_warnings([finding._replace(level=Level.WARNING, text="got \n")])[0].isprintable()


def test_very_many_warnings_are_counted_instead_of_listed() -> None:
    texts = list_warnings([_finding(Level.WARNING)] * 10_000)
    assert (len(texts), texts[-1]) == (MAX_WARNINGS, "and at least 901 more warnings")
    assert len(list_warnings([_finding(Level.WARNING)] * MAX_WARNINGS)) == MAX_WARNINGS


def test_a_long_warning_gives_up_the_rules_name_first() -> None:
    (text,) = list_warnings([_finding(Level.WARNING, "x" * 90)])
    assert text == "spec.services[w].replicas: " + "x" * 90


@pytest.mark.parametrize(
    "uri", ["https://jane:hunter2@example.com/adapter", "S3://jane:hunter2@bucket", "jane:hunter2@host", "hunter2" * 9 + "://"]
)
def test_the_address_of_a_model_keeps_its_password(uri: str) -> None:
    example = parse(f"spec: {{modelType: lora, source: {{uri: {uri!r}}}}}", MODEL_KIND, "model-lora-uri-scheme")
    findings = evaluate(example.review())
    assert [finding.rule.name for finding in findings] == ["model-lora-uri-scheme"]
    assert "hunter2" not in f"{findings[0].text} {findings[0].value} {findings[0].fix}"
