"""Comments that ignore a rule: they need a reason and a cause, and speak of their line and the one below."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.objects import BAD, BAD_CODE, BAD_RULE, GOOD, WARNED

LINE = "      ingress: {enabled: true}\n"


def _with(above: str = "", behind: str = "") -> str:
    return BAD.replace(LINE, f"{above}{LINE.rstrip()}{behind}\n")


@pytest.mark.parametrize(
    "text",
    [
        _with(behind=f"  # dynamo-webhooks: ignore[{BAD_RULE}] the host comes from an overlay"),
        _with(above=f"      # dynamo-webhooks: ignore[{BAD_RULE}] the host comes from an overlay\n"),
        _with(behind=f" #dynamo-webhooks:ignore[{BAD_CODE}] x"),
        _with(behind=f" # dynamo-webhooks: ignore[warn-autoscaling, {BAD_RULE}] x").replace("warn-autoscaling, ", ""),
    ],
)
def test_a_comment_with_a_reason_ignores(command: Command, files: Files, text: str) -> None:
    files(a=text)
    ran = command("check", "a.yaml")
    assert (ran.code, ran.out, ran.err) == (0, "", "1 object checked: 1 ignored by comment\n")


def test_a_comment_without_a_reason_ignores_nothing(command: Command, files: Files) -> None:
    files(a=_with(behind=f" # dynamo-webhooks: ignore[{BAD_RULE}]"))
    report = command("check", "a.yaml", "-o", "json").json
    assert [(finding["rule"], finding["line"]) for finding in report["findings"]] == [("ignore-without-reason", 10), (BAD_RULE, 10)]
    assert report["summary"]["suppressed"] == 0


def test_a_comment_without_a_cause_is_a_finding(command: Command, files: Files) -> None:
    files(a=f"# dynamo-webhooks: ignore[{BAD_RULE}] too far away\n{BAD}", b=GOOD + f"# dynamo-webhooks: ignore[{BAD_RULE}, ] none\n")
    report = command("check", "a.yaml", "b.yaml", "-o", "json").json
    assert [(finding["file"], finding["rule"], finding["line"], finding["level"]) for finding in report["findings"]] == [
        ("a.yaml", "unused-ignore", 1, "warning"),
        ("a.yaml", BAD_RULE, 11, "error"),
        ("b.yaml", "unused-ignore", 11, "warning"),
        ("b.yaml", "unused-ignore", 11, "warning"),
    ]
    assert report["findings"][0]["column"] == 1
    assert report["findings"][0]["object"] is None


def test_a_comment_behind_something_speaks_of_its_own_line_only(command: Command, files: Files) -> None:
    files(a=BAD.replace("componentType: worker\n", f"componentType: worker # dynamo-webhooks: ignore[{BAD_RULE}] x\n"))
    assert {finding["rule"] for finding in command("check", "a.yaml", "-o", "json").json["findings"]} == {BAD_RULE, "unused-ignore"}


def test_a_comment_speaks_of_its_own_rule_only(command: Command, files: Files) -> None:
    files(a=WARNED.replace("old\n", f"old # dynamo-webhooks: ignore[{BAD_RULE}] x\n"))
    assert {f["rule"] for f in command("check", "a.yaml", "-o", "json").json["findings"]} == {"warn-dynamo-namespace", "unused-ignore"}


def test_a_rule_that_was_not_asked_for_leaves_its_comments_alone(command: Command, files: Files) -> None:
    files(a=_with(behind=f" # dynamo-webhooks: ignore[{BAD_RULE}] x"))
    assert command("check", "a.yaml", "--ignore", BAD_RULE, "-q").out == ""
