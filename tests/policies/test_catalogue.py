"""The catalogue: stable codes, documented rules, cases for each."""

import inspect
import re
from pathlib import Path

import pytest
import yaml

from dynamo_webhooks.policies.catalogue import find_rule, list_all, list_declared, list_rules
from dynamo_webhooks.policies.checks import CHECKS
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.rule import GRAPH_V1ALPHA1, Hits, Rule, Stage, rule
from dynamo_webhooks.policies.rule_sections import SECTIONS, RuleError
from tests.golden.overlay.engine import list_rules_of_1_2, profile_1_2
from tests.policies.test_worked import CASES
from tools.new_rule import find_theme

ROOT = Path(__file__).parents[2]
RELEASED = dict(line.split() for line in (ROOT / "policies" / "released.txt").read_text().splitlines())


def test_every_code_ever_released_is_here_and_no_other() -> None:
    """A code is never given to another rule; one that left is kept in the overlay of the Go operator 1.2."""
    gone = {rule.code: rule.name for rule in list_rules_of_1_2() if find_rule(rule.code) is None}
    assert gone == {"DYND05": "mut-saturation-threshold"}
    assert {rule.code: rule.name for rule in list_all()} | gone == RELEASED


def test_a_rule_is_in_the_file_that_its_name_leads_to() -> None:
    for found in list_declared():
        *_, folder, theme = found.module.split(".")
        assert find_theme(ROOT / "policies" / folder, found.name.replace("-", "_")).stem == theme


def test_no_rule_takes_the_code_or_name_of_a_check() -> None:
    evaluated = {word for rule in list_declared() for word in (rule.code, rule.name)}
    assert not {word for check in CHECKS for word in (check.code, check.name)} & evaluated
    assert all(check.is_check and not check.is_default for check in CHECKS)
    assert not any(rule.is_check for rule in list_declared())


def test_the_specified_rules_are_all_here() -> None:
    """99 denials and 5 warnings of 1.2, and its four mutations."""
    with profile_1_2():
        old = list_rules(Facts().line)
    defaults = [rule for rule in old if rule.is_default]
    warnings = [rule for rule in old if rule.level.value == "warning" and not rule.is_default]
    assert {rule.name for rule in defaults if rule.name != "mut-saturation-threshold"} == {
        "mut-dgd-replicas",
        "mut-dgd-origin-version",
        "mut-dcd-name",
        "mut-dgdr-image",
    }
    assert len(warnings) == 5
    own = {"service-null", "node-count-limit"}  # findings where 1.2 crashed, which refuses too
    assert len([rule for rule in old if rule not in defaults and rule not in warnings and rule.name not in own]) == 99


def test_rules_are_found_by_name_and_code() -> None:
    found = find_rule("DYN201")
    assert found
    assert find_rule(" " + found.name) is found
    assert find_rule("nonsense") is None


def test_every_rule_has_a_worked_case_or_examples_alone_are_stated() -> None:
    """Rules of 1.2 have a worked example (tests/policies/worked), or are listed here with the reason."""
    covered = {case["rule"].rstrip("*").rstrip("-") for case in CASES}
    stated = set(yaml.safe_load((Path(__file__).parent / "uncovered.yaml").read_text()))
    with profile_1_2():
        rules = list_rules(Facts().line)
    missing = {
        found.name
        for found in rules
        if not any(found.name == word or found.name.startswith(word + "-") for word in covered) and found.name not in stated
    }
    assert missing == set()


def _documented(text: str) -> Rule:
    def some_rule(at: object) -> Hits:
        yield from ()

    some_rule.__doc__ = text
    return rule("DYN998", where=GRAPH_V1ALPHA1, stage=Stage.SHAPE)(some_rule)


GOOD = """Title.

    Why
        w

    Fix
        f

    Example
        name: a
    bad b: 1  # expect
    ok  b: 2
"""


@pytest.mark.parametrize("text", [GOOD, inspect.cleandoc(GOOD)], ids=["until Python 3.12", "from 3.13 on"])
def test_a_documented_rule_is_accepted(text: str) -> None:
    """The compiler of Python 3.13 takes the indentation of doc strings away."""
    found = _documented(text)
    assert (found.title, found.why, found.fix, found.bad, found.good) == (
        "Title.",
        "w",
        "f",
        ("name: a\nb: 1  # expect\n",),
        ("name: a\nb: 2\n",),
    )


def test_a_base_is_written_out() -> None:
    found = _documented(
        GOOD.replace("        name: a", "        {lpx worker}").replace("bad b", "bad       b").replace("ok  b", "ok        b")
    )
    lines = "spec:\n  components:\n    - name: worker\n      type: lpx\n      lpx: {buildId: b}\n"
    assert (found.bad, found.good) == ((f"{lines}      b: 1  # expect\n",), (f"{lines}      b: 2\n",))


@pytest.mark.parametrize("section", SECTIONS)
def test_an_undocumented_rule_does_not_import(section: str) -> None:
    with pytest.raises(RuleError, match=section):
        _documented(re.sub(rf"{section}\n", "Else\n", GOOD))


@pytest.mark.parametrize("mark", ["bad", "ok"])
def test_a_rule_with_half_an_example_does_not_import(mark: str) -> None:
    half = "\n".join(line for line in GOOD.split("\n") if not line.startswith(("        name", f"    {mark}")))
    with pytest.raises(RuleError, match="Example must hold YAML"):
        _documented(half)


def test_a_malformed_code_does_not_import() -> None:
    with pytest.raises(RuleError, match="code must look like"):
        rule("X1", where=GRAPH_V1ALPHA1, stage=Stage.SHAPE)(lambda at: iter(()))
