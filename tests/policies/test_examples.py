"""Every rule's example, bad and good, and every default's Before and After are executed: what the documentation shows is true."""

import copy
import re
from collections.abc import Iterable

import pytest

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.edit import apply, to_json_patch
from dynamo_webhooks.policies.evaluate import compute_edits
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.rule import Level, Rule
from tests.policies.example_runs import DEFAULTS, blocks, list_shown
from tests.policies.examples import Example, merged, parse
from tools.manual.rules import list_twins, other_version


def _reported(example: Example, findings: Iterable[Finding]) -> dict[int, set[str]]:
    """The rules that fire, by the line of the block that they report."""
    document = load_documents(example.text, "example")[0]
    by_line: dict[int, set[str]] = {}
    for finding in findings:
        assert finding.level is not Level.FAULT, finding.text
        by_line.setdefault(document.position(finding.path).line, set()).add(finding.rule.name)
    return by_line


def test_a_bad_example_is_reported_on_the_marked_line_and_nowhere_else(subtests: pytest.Subtests) -> None:
    for shown in list_shown("bad"):
        with subtests.test(shown.name):
            marks = shown.example.marks
            assert any(shown.rule.name in names for names in marks.values()), "the block must mark a line for its own rule with # expect"
            assert _reported(shown.example, shown.findings) == marks


def test_a_good_example_is_clean_under_all_rules(subtests: pytest.Subtests) -> None:
    for shown in list_shown("good"):
        with subtests.test(shown.name):
            assert _reported(shown.example, shown.findings) == {}


def test_a_rule_leaves_its_object_alone_and_names_its_remedy(subtests: pytest.Subtests) -> None:
    for shown in list_shown("bad"):
        with subtests.test(shown.name):
            for finding in shown.findings:
                begins = r"must |is |a change " if finding.level is Level.WARNING else r"must "
                assert re.match(rf"({begins})[^\n]*[^.\n]\Z", finding.text), f"{finding.text} is not one sentence without a stop"
                assert finding.fix or finding.rule.fix
            assert shown.unchanged


def test_a_default_makes_after_of_before_and_nothing_more_the_second_time(subtests: pytest.Subtests) -> None:
    import jsonpatch

    for rule in DEFAULTS:
        for example, after in zip(blocks(rule, "bad"), blocks(rule, "good"), strict=True):
            with subtests.test(rule.name):
                review = example.review()
                own = [edit for edit in compute_edits(review) if edit.rule.name == rule.name]
                assert own, "the Before block must be edited"
                wanted = merged(example.kind, after.fragment)
                assert apply(review.object, own) == wanted
                assert jsonpatch.JsonPatch(to_json_patch(review.object, own)).apply(copy.deepcopy(review.object)) == wanted
                review.object = wanted
                assert [edit for edit in compute_edits(review) if edit.rule.name == rule.name] == []


def _twin(rule: Rule, text: str) -> tuple[Example, Admission]:
    """What a page shows in the other version, read from its text, and the write that it is."""
    example = parse(text, f"{rule.kinds[0].partition('/')[0]}/{other_version(rule)}", rule.name)
    name, _, version = example.kind.partition("/")
    review = example.review()
    settings = Settings(facts=example.facts)
    return example, Admission(name, version, example.operation, review.object, review.old, user=example.user, settings=settings)


def test_examples_in_the_other_version_say_the_same_there(subtests: pytest.Subtests) -> None:
    """A Bad one is reported on its marked line, a Good one is clean, and a default leads from Before to After. Most rules have one."""
    seen = {"bad": 0, "good": 0, "default": 0}
    both = set()
    for rule in list_declared():
        made = list_twins(rule)
        for before, after in made if rule.is_default else ():
            with subtests.test(rule.name):
                changed, wanted = (_twin(rule, text)[1].defaults().object for text in (before, after))
                assert (changed.get("metadata"), changed.get("spec")) == (wanted.get("metadata"), wanted.get("spec"))
                seen["default"] += 1
        sides = [] if rule.is_default else [side for bad, good in made for side in (("bad", bad), ("good", good)) if side[1]]
        for which, text in sides:
            with subtests.test(f"{rule.name}, {which}"):
                example, write = _twin(rule, text)
                assert any(rule.name in names for names in example.marks.values()) == (which == "bad")
                assert _reported(example, write.judge()) == example.marks
                seen[which] += 1
        both |= {rule.name} if made else set()
    assert len(both) >= 80
    assert min(seen.values()) > 3
