"""Every rule's example, bad and good, and every default's Before and After are executed: what the documentation shows is true."""

import copy
import re

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.edit import apply, to_json_patch
from dynamo_webhooks.policies.evaluate import compute_edits
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.rule import Rule
from tests.policies.examples import Example, merged, parse
from tools.manual.rules import other_version, twins

RULES = [rule for rule in list_declared() if not rule.is_default]
DEFAULTS = [rule for rule in list_declared() if rule.is_default]


def _blocks(rules: list[Rule], which: str) -> list[object]:
    return [pytest.param(rule, block, id=f"{rule.name}-{i}") for rule in rules for i, block in enumerate(getattr(rule, which))]


def _reported(example: Example) -> dict[int, set[str]]:
    """The rules that fire, by the line of the block that they report."""
    document = load_documents(example.text, "example")[0]
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
        begins = r"must |is |a change " if finding.level is Level.WARNING else r"must "
        assert re.match(rf"({begins})[^\n]*[^.\n]\Z", finding.text), f"{finding.text} is not one sentence without a stop"
        assert finding.fix or finding.rule.fix
    assert (review.object, review.old) == before


@pytest.mark.parametrize("rule", DEFAULTS, ids=lambda rule: rule.name)
def test_a_default_makes_after_of_before_and_nothing_more_the_second_time(rule: Rule) -> None:
    import jsonpatch

    assert len(rule.bad) == len(rule.good)
    for before, after in zip(rule.bad, rule.good, strict=True):
        example = parse(before, rule.kinds[0], rule.name)
        review = example.review()
        own = [edit for edit in compute_edits(review) if edit.rule.name == rule.name]
        assert own, "the Before block must be edited"
        wanted = merged(example.kind, parse(after, rule.kinds[0], rule.name).fragment)
        assert apply(review.object, own) == wanted
        assert jsonpatch.JsonPatch(to_json_patch(review.object, own)).apply(copy.deepcopy(review.object)) == wanted
        review.object = wanted
        assert [edit for edit in compute_edits(review) if edit.rule.name == rule.name] == []


TWINS = [(rule, twins(rule)) for rule in list_declared()]
TWIN_BAD = [
    pytest.param(rule, text, id=f"{rule.name}-{i}") for rule, made in TWINS if not rule.is_default for i, text in enumerate(made.first)
]
TWIN_GOOD = [
    pytest.param(rule, text, id=f"{rule.name}-{i}") for rule, made in TWINS if not rule.is_default for i, text in enumerate(made.second)
]
TWIN_DEFAULTS = [
    pytest.param(rule, *pair, id=f"{rule.name}-{i}")
    for rule, made in TWINS
    if rule.is_default
    for i, pair in enumerate(zip(*made, strict=True))
]


def _twin(rule: Rule, text: str) -> tuple[Example, Admission]:
    """What a page shows in the other version, read from its text, and the write that it is."""
    example = parse(text, f"{rule.kinds[0].partition('/')[0]}/{other_version(rule)}", rule.name)
    name, _, version = example.kind.partition("/")
    review = example.review()
    settings = Settings(facts=example.facts)
    return example, Admission(name, version, example.operation, review.object, review.old, user=example.user, settings=settings)


def _lines(example: Example, write: Admission) -> dict[int, set[str]]:
    document = load_documents(example.text, "example")[0]
    found: dict[int, set[str]] = {}
    for finding in write.judge():
        found.setdefault(document.position(finding.path).line, set()).add(finding.rule.name)
    return found


@pytest.mark.parametrize(("rule", "text"), TWIN_BAD)
def test_a_bad_example_in_the_other_version_is_reported_on_the_marked_line(rule: Rule, text: str) -> None:
    example, write = _twin(rule, text)
    assert any(rule.name in names for names in example.marks.values())
    assert _lines(example, write) == example.marks


@pytest.mark.parametrize(("rule", "text"), TWIN_GOOD)
def test_a_good_example_in_the_other_version_is_clean(rule: Rule, text: str) -> None:
    assert _lines(*_twin(rule, text)) == {}


@pytest.mark.parametrize(("rule", "before", "after"), TWIN_DEFAULTS)
def test_a_default_leads_from_before_to_after_in_the_other_version(rule: Rule, before: str, after: str) -> None:
    changed, wanted = _twin(rule, before)[1].defaults().object, _twin(rule, after)[1].defaults().object
    assert (changed.get("metadata"), changed.get("spec")) == (wanted.get("metadata"), wanted.get("spec"))


def test_most_rules_show_both_versions() -> None:
    assert len({rule.name for rule, made in TWINS if made.first}) >= 80
    assert min(len(TWIN_BAD), len(TWIN_GOOD), len(TWIN_DEFAULTS)) > 3
