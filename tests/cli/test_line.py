"""The line of the operator that a run of `check` judges by, what told it, and that it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynamo_webhooks.cli.check.cluster import Sight
from dynamo_webhooks.policies.facts import facts_from
from tests.cli.conftest import Command, Files
from tests.cli.objects import GOOD


@pytest.mark.parametrize(
    ("words", "line", "told"),
    [
        ([], "1.5", "the default"),
        (["--line", "1.2"], "1.2", "--line"),
        (["--line", "1.5"], "1.5", "--line"),
        (["--set-fact", "operatorVersion=1.5.1"], "1.5", "operatorVersion 1.5.1"),
        (["--set-fact", "operatorVersion=v1.4.0"], "1.2", "operatorVersion v1.4.0; 1.3 and 1.4 count as 1.2"),
        (["--set-fact", "operatorVersion=1.30.0"], "1.5", "operatorVersion 1.30.0"),
        (["--set-fact", "operatorLine=1.5"], "1.5", "the fact operatorLine"),
        (["--set-fact", "operatorVersion=1.2.0", "--line", "1.5"], "1.5", "--line"),
        (["--set-fact", "operatorVersion=1.5.0", "--profile", "1.2"], "1.2", "profile 1.2"),
    ],
)
def test_the_line_is_said_with_what_told_it(words: list[str], line: str, told: str, files: Files, command: Command) -> None:
    files(good=GOOD)
    assert command("check", "good.yaml", *words).err == f"1 object checked by line {line} ({told}): nothing found\n"
    summary = command("check", "good.yaml", "-o", "json", *words).json["summary"]
    assert (summary["operatorLine"], summary["operatorLineFrom"]) == (line, told)


def test_line_1_5_and_profile_1_2_do_not_go_together(files: Files, command: Command) -> None:
    files(good=GOOD)
    for name in ("check", "default"):
        ran = command(name, "good.yaml", "--line", "1.5", "--profile", "1.2")
        assert (ran.code, "must not go with profile 1.2" in ran.err) == (2, True)


@pytest.mark.parametrize("written", ["1.5", "'1.5'"])
def test_a_project_file_says_the_line_and_flags_win(written: str, files: Files, command: Command) -> None:
    folder: Path = files(good=GOOD)
    (folder / ".dynamo-webhooks.yaml").write_text(f"line: {written}\n")
    assert "by line 1.5 (the project file)" in command("check", "good.yaml").err
    assert "by line 1.2 (--line)" in command("check", "good.yaml", "--line", "1.2").err
    assert "by line 1.5 (the default)" in command("check", "good.yaml", "--no-project").err
    (folder / ".dynamo-webhooks.yaml").write_text("line: 1.4\n")
    assert 'line: must be one of 1.2, 1.5, got "1.4"' in command("check", "good.yaml").err


def test_a_version_that_somebody_says_goes_before_the_clusters_definitions() -> None:
    sight = Sight([], {"operatorLine": "1.5"})
    assert sight.fill(facts_from({})).line == "1.5"
    assert sight.fill(facts_from({"operatorVersion": "1.2.0"})).line == "1.2"
