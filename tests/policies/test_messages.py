"""How findings read: one sentence that begins with what must be, of one line, without what may be secret."""

import re

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.policies.catalogue import list_rules
from dynamo_webhooks.policies.finding import Finding, Level
from dynamo_webhooks.policies.rule import MODEL_KIND, Rule
from tests.policies.examples import Example, parse

CHECKED = [rule for rule in list_rules() if not rule.is_default]


def _findings(rule: Rule) -> list[Finding]:
    examples = [parse(block, rule.kinds[0], rule.name) for block in rule.bad]
    return [finding for example in examples for finding in evaluate(example.review()) if finding.rule.name == rule.name]


@pytest.mark.parametrize("rule", CHECKED, ids=[rule.name for rule in CHECKED])
def test_a_finding_is_one_sentence(rule: Rule) -> None:
    found = _findings(rule)
    assert found
    for finding in found:
        begins = r"must |is |a change " if finding.level is Level.WARNING else r"must "
        assert re.match(begins, finding.text), finding.text
        assert not finding.text.endswith("."), finding.text
        assert "\n" not in finding.text


@pytest.mark.parametrize(
    "uri", ["https://jane:hunter2@example.com/adapter", "S3://jane:hunter2@bucket", "jane:hunter2@host", "hunter2" * 9 + "://"]
)
def test_the_address_of_a_model_keeps_its_password(uri: str) -> None:
    example: Example = parse(f"spec: {{modelType: lora, source: {{uri: {uri!r}}}}}", MODEL_KIND, "model-lora-uri-scheme")
    found = evaluate(example.review())
    assert [finding.rule.name for finding in found] == ["model-lora-uri-scheme"]
    assert "hunter2" not in f"{found[0].text} {found[0].value} {found[0].fix}"
