"""The catalogue: stable codes, documented rules, and cases for each."""

import inspect
import re
from pathlib import Path

import pytest

from dynamo_webhooks.policies.at import Findings
from dynamo_webhooks.policies.catalogue import find_rule, list_all, list_declared, list_rules
from dynamo_webhooks.policies.checks import CHECKS
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.rule import GRAPH_V1ALPHA1, Level, Rule, Stage, rule
from dynamo_webhooks.policies.rule_sections import SECTIONS, RuleError
from tests.golden.overlay.engine import list_rules_of_1_2, profile_1_2
from tools.new_rule import TEMPLATE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CODES = dict(line.split() for line in (ROOT / "policies" / "codes.txt").read_text().splitlines())


def test_every_code_ever_used_is_here_and_no_other() -> None:
    """A code is never given to another rule; one that left is kept in the overlay of the Go operator 1.2."""
    gone = {rule.code: rule.name for rule in list_rules_of_1_2() if find_rule(rule.code) is None}
    assert gone == {"DYND05": "mut-saturation-threshold"}
    advice = "a line of policies/codes.txt stays for ever, and each new rule adds one: `make new-rule` does"
    assert {rule.code: rule.name for rule in list_all()} | gone == CODES, advice


@pytest.mark.interpreted  # it reads the source of checks
def test_a_warning_has_a_stage_and_a_code_of_its_own() -> None:
    advice = "a rule that warns has stage=Stage.ADVICE, a code DYN9xx in the rule and in policies/codes.txt, and yields at.warning(...)"
    for item in (each for each in list_declared() if not each.is_default):
        marks = {item.stage is Stage.ADVICE, item.code.startswith("DYN9"), "at.warning(" in inspect.getsource(inspect.unwrap(item.check))}
        assert marks == {item.level is Level.WARNING}, f"{item.name}: {advice}"


def test_no_rule_keeps_a_text_of_the_skeleton() -> None:
    title = re.search(r'"""(.+)', TEMPLATE)
    assert title is not None
    texts = {title[1], *re.findall(r"^        (\w.+)\n\n", TEMPLATE, re.MULTILINE), *re.findall(r'@differs\("(.+?)"', TEMPLATE)}
    assert len(texts) == 4
    for declared in list_declared():
        written = {declared.title, declared.why, declared.fix, declared.difference and declared.difference.because}
        assert not texts & written, f"{declared.name}: write @differs, the title, Why and Fix anew"


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
    own = {"service-null", "node-count-limit"}  # findings where 1.2 crashed, which refuses too
    denials = [rule for rule in old if rule not in defaults and rule not in warnings and rule.name not in own]
    assert (len(denials), len(warnings)) == (99, 5), (
        "operator 1.2 has 99 denials and 5 warnings, and gets none any more. A new rule says that 1.2 lacks it by "
        '@differs("why we refuse it", lacking=True) above @rule, or by since="1.5" in it where a later line has it'
    )


def test_rules_are_found_by_name_and_code() -> None:
    match = find_rule("DYN201")
    assert match
    assert find_rule(" " + match.name) is match
    assert find_rule("nonsense") is None


def _documented(text: str) -> Rule:
    def some_rule(at: object) -> Findings:
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
        -b: 1  # expect
        +b: 2
"""


@pytest.mark.parametrize("text", [GOOD, inspect.cleandoc(GOOD)], ids=["until Python 3.12", "from 3.13 on"])
def test_a_documented_rule_is_accepted(text: str) -> None:
    """The compiler of Python 3.13 takes the indentation of doc strings away."""
    documented = _documented(text)
    assert (documented.title, documented.why, documented.fix, documented.bad, documented.good) == (
        "Title.",
        "w",
        "f",
        ("name: a\nb: 1  # expect\n",),
        ("name: a\nb: 2\n",),
    )


def test_a_base_is_written_out() -> None:
    documented = _documented(GOOD.replace("name: a", "{lpx worker}").replace("-b", "-      b").replace("+b", "+      b"))
    lines = "spec:\n  components:\n    - name: worker\n      type: lpx\n      lpx: {buildId: b}\n"
    assert (documented.bad, documented.good) == ((f"{lines}      b: 1  # expect\n",), (f"{lines}      b: 2\n",))


@pytest.mark.parametrize("section", SECTIONS)
def test_an_undocumented_rule_does_not_import(section: str) -> None:
    with pytest.raises(RuleError, match=section):
        _documented(re.sub(rf"{section}\n", "Else\n", GOOD))


@pytest.mark.parametrize("sign", ["-", "+"])
def test_a_rule_with_half_an_example_has_no_page(sign: str) -> None:
    half = "\n".join(line for line in GOOD.split("\n") if not line.startswith(("         name", f"        {sign}")))
    with pytest.raises(RuleError, match="must hold YAML"):
        _ = _documented(half).documentation


def test_a_malformed_code_does_not_import() -> None:
    with pytest.raises(RuleError, match="code must look like"):
        rule("X1", where=GRAPH_V1ALPHA1, stage=Stage.SHAPE)(lambda at: iter(()))


def test_a_line_that_nobody_knows_does_not_import() -> None:
    with pytest.raises(ValueError, match=r"1\.1"):
        rule("DYN998", where=GRAPH_V1ALPHA1, stage=Stage.SHAPE, since="1.1")(lambda at: iter(()))


def test_the_page_of_differences_names_each_rule_that_refuses_any_update() -> None:
    kept = (Stage.IMMUTABLE, Stage.LOCK, Stage.OWNERSHIP)
    strict = [known for known in list_declared() if known.level is Level.ERROR and not known.ratchets and known.stage not in kept]
    assert len(strict) >= 20
    page = (ROOT / "docs" / "differences.md").read_text()
    [row] = re.findall(r"^\| ratchet \|.*$", page, re.MULTILINE)
    assert {known.name for known in strict} == set(re.findall(r"[a-z]+(?:-[a-z]+)+", row))
