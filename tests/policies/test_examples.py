"""Every rule's Good and Bad blocks and every default's Before and After are executed: what the documentation shows is true."""

from __future__ import annotations

import copy

import pytest

from dynamo_webhooks.cli.yaml.load import load
from dynamo_webhooks.policies.catalogue import declared
from dynamo_webhooks.policies.edit import apply, patch
from dynamo_webhooks.policies.evaluate import edits, evaluate
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.rule import Rule
from tests.policies.examples import Example, merged, parse

RULES = [rule for rule in declared() if rule.profile != "1.2" and not rule.is_default]
BY_NAME = {rule.name: rule for rule in reversed(declared())}  # the record of profile current wins where there are two
DEFAULTS = [rule for rule in BY_NAME.values() if rule.is_default]


def _blocks(rules: list[Rule], which: str) -> list[object]:
    return [pytest.param(rule, block, id=f"{rule.name}-{i}") for rule in rules for i, block in enumerate(getattr(rule, which))]


def _reported(example: Example) -> dict[int, set[str]]:
    """The rules that fire, by the line of the block that they report."""
    document = load(example.text, "example")[0]
    found: dict[int, set[str]] = {}
    for finding in evaluate(example.review()):
        assert finding.level is not Level.FAULT, finding.text
        found.setdefault(document.position(finding.path).line, set()).add(finding.rule.name)
    return found


@pytest.mark.parametrize(("rule", "block"), _blocks(RULES, "bad"))
def test_a_bad_example_is_reported_on_the_marked_line_and_nowhere_else(rule: Rule, block: str) -> None:
    example = parse(block, rule.kinds[0], rule.name)
    assert any(rule.name in names for names in example.marks.values()), "the block must mark a line for its own rule"
    assert _reported(example) == example.marks


@pytest.mark.parametrize(("rule", "block"), _blocks(RULES, "good"))
def test_a_good_example_is_clean_under_all_rules(rule: Rule, block: str) -> None:
    assert _reported(parse(block, rule.kinds[0], rule.name)) == {}


@pytest.mark.parametrize(("rule", "block"), _blocks(RULES, "bad"))
def test_a_rule_leaves_its_object_alone_and_names_its_remedy(rule: Rule, block: str) -> None:
    example = parse(block, rule.kinds[0], rule.name)
    review = example.review()
    before = copy.deepcopy((review.object, review.old))
    for finding in evaluate(review):
        assert finding.text
        assert not finding.text.endswith(".")
        assert finding.fix or finding.rule.fix
    assert (review.object, review.old) == before


@pytest.mark.parametrize("rule", DEFAULTS, ids=lambda rule: rule.name)
def test_a_default_makes_after_of_before_and_nothing_more_the_second_time(rule: Rule) -> None:
    import jsonpatch

    assert len(rule.bad) == len(rule.good)
    for before, after in zip(rule.bad, rule.good, strict=True):
        example = parse(before, rule.kinds[0], rule.name)
        review = example.review("1.2" if rule.profile == "1.2" else "current")
        own = [edit for edit in edits(review) if edit.rule.name == rule.name]
        assert own, "the Before block must be edited"
        wanted = merged(example.kind, parse(after, rule.kinds[0], rule.name).fragment)
        assert apply(review.object, own) == wanted
        assert jsonpatch.JsonPatch(patch(review.object, own)).apply(copy.deepcopy(review.object)) == wanted
        review.object = wanted
        assert [edit for edit in edits(review) if edit.rule.name == rule.name] == []
