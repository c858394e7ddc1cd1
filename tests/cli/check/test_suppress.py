"""Comments that ignore a rule: they need a reason and a cause, and speak of their line and the one below."""

from collections import Counter
from pathlib import Path

import pytest

from dynamo_webhooks.cli.commands.check.suppress import RuleCoverage, _Ignore, suppress
from dynamo_webhooks.cli.objects.manifest import Identity
from dynamo_webhooks.cli.validation.finding import LocatedFinding, NotEvaluated, report_own
from dynamo_webhooks.cli.yaml.load import Position, Source
from dynamo_webhooks.policies.checks import WRONG_TYPE
from dynamo_webhooks.policies.review import CREATE, DELETE, UPDATE
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_CODE, BAD_RULE, GOOD, WARNED
from tests.rows import run_each

LINE = "      ingress: {enabled: true}\n"


def _note(rule: str) -> NotEvaluated:
    return NotEvaluated(rule, "", Source("", ""), 1, Identity("", "", ""), "", "")


def _with(above: str = "", behind: str = "") -> str:
    return BAD.replace(LINE, f"{above}{LINE.rstrip()}{behind}\n")


def test_a_comment_without_a_cause_is_a_finding(command: Command, files: Files) -> None:
    files(a=f"# dynamo-webhooks: ignore[{BAD_RULE}] too far away\n{BAD}", b=GOOD + f"# dynamo-webhooks: ignore[{BAD_RULE}, ] none\n")
    report = command("check", "a.yaml", "b.yaml", "-o", "json").json
    assert [(finding["file"], finding["rule"], finding["line"], finding["level"]) for finding in report["findings"]] == [
        ("a.yaml", "unused-ignore", 1, "warning"),
        ("a.yaml", BAD_RULE, 11, "error"),
        ("b.yaml", "unused-ignore", 12, "warning"),
        ("b.yaml", "unused-ignore", 12, "warning"),
    ]
    assert (report["findings"][0]["column"], report["findings"][0]["endColumn"]) == (1, len(f"# dynamo-webhooks: ignore[{BAD_RULE}]") + 1)
    assert report["findings"][0]["object"] is None


def test_a_rule_that_was_not_asked_for_leaves_its_comments_alone(command: Command, files: Files) -> None:
    files(a=_with(behind=f" # dynamo-webhooks: ignore[{BAD_RULE}] x"))
    assert command("check", "a.yaml", "--ignore", BAD_RULE, "-q").out == ""


REASONED = f"# dynamo-webhooks: ignore[{BAD_RULE}] the host comes from an overlay"


def _rules(command: Command, *words: str) -> list[tuple[str, int]]:
    return [(finding["rule"], finding["line"]) for finding in command("check", *words, "-o", "json").json["findings"]]


JSON = (
    '{"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m", "labels": {}, "annotations":\n'
    f'{{"a": "x {REASONED}"}}}}, "spec": {{"modelName": "a", "baseModelName": "b"}}}}'
)


@run_each(
    ("text", "wanted"),
    [
        (_with(above=f"      envFromSecret: '{REASONED}\n        '\n"), [("pod-refused", 10), (BAD_RULE, 12)]),
        (_with(above=f"      {REASONED}\n      # and another line about something else\n"), []),
        (_with(above=f"      {REASONED}\n      # dynamo-webhooks: ignore[DYN003] nothing\n"), [("unused-ignore", 11)]),
        (_with(above=f"      {REASONED}\n\n"), [("unused-ignore", 10), (BAD_RULE, 12)]),
        (_with(behind=f" # until Friday {REASONED}"), []),
        (_with(behind=f" {REASONED}").replace("\n", "\r\n"), []),
        (_with(behind=f" #dynamo-webhooks:ignore[{BAD_CODE}] x"), []),
        (_with(behind=f" # dynamo-webhooks: ignore[unused-ignore, {BAD_RULE}] both"), [("unused-ignore", 10)]),
        (BAD.replace("Type: worker\n", f"Type: worker {REASONED}\n"), [("unused-ignore", 9), (BAD_RULE, 10)]),
        (f"# dynamo-webhooks: ignore[x] y\n%TAG ! tag:example.com,2000:\n---\n{_with(behind=f' {REASONED}')}", [("unused-ignore", 1)]),
        (WARNED.replace("old\n", f"old {REASONED}\n"), [("unused-ignore", 8), ("warn-dynamo-namespace", 8)]),
        (_with(behind=f" # dynamo-webhooks: ignore[{BAD_RULE}]"), [("ignore-without-reason", 10), (BAD_RULE, 10)]),
        (GOOD + "# dynamo-webhooks: ask Ann before you change this\n", []),
        (JSON, []),
    ],
)
def test_what_is_a_comment_and_of_which_line_it_speaks(command: Command, files: Files, text: str, wanted: list[tuple[str, int]]) -> None:
    files(a=text)
    assert _rules(command, "a.yaml") == wanted


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("ignore[ingress-host-requird] x", "ingress-host-requird, which is no rule; did you mean ingress-host-required?"),
        ("ignore[] x", "ignores no rule: name one in the brackets"),
        ("ignore ingress-host-required", "must read # dynamo-webhooks: ignore[rule] reason"),
        ("Ignore[ingress-host-required", "must read # dynamo-webhooks: ignore[rule] reason"),
    ],
)
def test_a_comment_that_can_ignore_nothing_says_so(command: Command, files: Files, comment: str, words: str) -> None:
    files(a=GOOD + f"# dynamo-webhooks: {comment}\n")
    [finding] = command("check", "a.yaml", "-o", "json").json["findings"]
    assert (finding["rule"], finding["level"], finding["line"], finding["column"]) == ("unused-ignore", "warning", 12, 1)
    assert words in finding["message"]


@run_each(
    ("word", "coverage", "complains"),
    [
        (BAD_RULE, RuleCoverage(), True),
        (BAD_RULE, RuleCoverage(notes=(_note("priority-class-needs-grove"),)), True),
        (BAD_RULE, RuleCoverage(notes=(_note(BAD_RULE),)), False),
        (BAD_RULE, RuleCoverage(notes=(_note("policies"),)), False),
        (BAD_RULE, RuleCoverage(operations=frozenset({DELETE})), False),
        (BAD_RULE, RuleCoverage(operations=frozenset({UPDATE})), False),  # an update leaves old violations alone
        (BAD_RULE, RuleCoverage(schema=False), True),
        ("schema-rule", RuleCoverage(schema=False), False),
        ("schema-rule", RuleCoverage(), True),
        ("schema-mismatch", RuleCoverage(operations=frozenset({UPDATE})), False),  # is not held against it again
        ("schema-rule", RuleCoverage(operations=frozenset({UPDATE})), False),
        ("unknown-field", RuleCoverage(operations=frozenset({UPDATE})), True),
        ("unknown-field", RuleCoverage(operations=frozenset({DELETE})), False),
        ("unconvertible", RuleCoverage(operations=frozenset({DELETE})), False),
        ("DYN004", RuleCoverage(operations=frozenset({CREATE})), True),
    ],
)
def test_a_comment_is_needless_only_where_its_rule_could_have_spoken(word: str, coverage: RuleCoverage, *, complains: bool) -> None:
    kept, suppressed = suppress(Source("a.yaml", f"a: b # dynamo-webhooks: ignore[{word}] x\n"), [], coverage)
    assert ([finding.rule for finding in kept], suppressed) == (["unused-ignore"] * complains, [])


def test_each_finding_meets_the_comments_of_its_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("a.yaml", f"a: b {REASONED}\n" * 1000)
    findings = [report_own(WRONG_TYPE, "error", "decode", source, Position(line, 1, 2), None, "", "") for line in range(1, 1001)]
    met = Counter[int]()
    covers = _Ignore.covers

    def counted(ignore: _Ignore, finding: LocatedFinding) -> bool:
        met[finding.position.line] += 1
        return covers(ignore, finding)

    monkeypatch.setattr(_Ignore, "covers", counted)
    suppress(source, findings)
    assert set(met.values()) == {1}
    assert len(met) == len(findings)


BOTH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: llm}
spec:
  services:
    w:
      componentType: worker
      replicas: -1   # dynamo-webhooks: ignore[replicas-non-negative] the scaler takes it for "off" until May
"""


def test_a_comment_silences_what_the_schema_says_of_the_same_value(command: Command, files: Files) -> None:
    """The example of docs/ci.md."""
    line = BOTH.splitlines()[-1].strip()
    assert line in (Path(__file__).parents[3] / "docs" / "ci.md").read_text()
    files(a=BOTH)
    ran = command("check", "--line", "1.2", "a.yaml", "-o", "json")
    assert (ran.code, ran.json["findings"]) == (0, [])
    assert [(finding["rule"], finding["reason"]) for finding in ran.json["suppressed"]] == [
        ("replicas-non-negative", 'the scaler takes it for "off" until May'),
        ("schema-mismatch", 'the scaler takes it for "off" until May'),
    ]


def test_a_comment_silences_the_schema_at_no_other_value(command: Command, files: Files) -> None:
    one_line = BOTH.replace(":\n      componentType", ": {componentType").replace(
        "worker\n      replicas: -1", "worker, multinode: {nodeCount: 0}, replicas: -1}"
    )
    files(a=one_line)
    left = [finding["path"] for finding in command("check", "--line", "1.2", "a.yaml", "-o", "json").json["findings"]]
    assert left == ["spec.services[w].multinode.nodeCount"]
