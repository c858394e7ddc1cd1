"""A project file may extend one other, and weigh rules in some files."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.project.test_project import NAME, OFF, project
from tests.cli.samples import BAD, BAD_RULE, GOOD, NEEDS_GROVE, WARNED

WARN = "warn-dynamo-namespace"
GROVE_RULE = "priority-class-requires-grove"


@pytest.fixture
def repository(files: Files) -> Path:
    """A repository with a shared project file, and a team's folder with one that extends it."""
    folder = files(team__deploy__bad=BAD, team__deploy__old__warned=WARNED, team__deploy__good=GOOD)
    (folder / ".git").mkdir()
    (folder / "shared").mkdir()
    return folder


def shared(folder: Path, text: str, own: str = "") -> None:
    (folder / "shared" / "rules.yaml").write_text(text)
    project(folder / "team", f"extends: ../shared/rules.yaml\n{own}")


def test_keys_of_the_extended_file_hold_where_the_file_gives_none(repository: Path, command: Command) -> None:
    shared(repository, f"line: '1.2'\nexclude: ['../team/deploy/old']\n{OFF}")
    ran = command("check", "team/deploy")
    assert (ran.code, ran.err) == (0, "2 objects checked by line 1.2 (the project file): 1 switched off by the project file\n")
    shared(repository, f"line: '1.2'\nexclude: ['../team/deploy/old']\n{OFF}", "line: '1.5'\nexclude: [deploy/good.yaml]\n")
    assert command("check", "team/deploy").err.startswith("2 objects checked by line 1.5 (the project file): 1 warning")


def test_paths_are_relative_to_the_file_that_gives_them(repository: Path, command: Command) -> None:
    (repository / "shared" / "facts.yaml").write_text("grove: true\n")
    (repository / "team" / "grove.yaml").write_text(NEEDS_GROVE)
    shared(repository, "facts: facts.yaml\n", "paths: [grove.yaml]\n")
    assert command("check", "--require-facts", "team/grove.yaml").code == 0
    rows = [line.split() for line in command("check", "--show-config", "team/grove.yaml").out.splitlines()]
    assert ["extends", "shared/rules.yaml", f"team/{NAME}:1"] in rows
    assert ["facts", "shared/facts.yaml", "shared/rules.yaml:1"] in rows


def test_rules_and_clusters_are_laid_over_each_other_by_name(repository: Path, command: Command) -> None:
    dev = "clusters: {{dev: {{paths: [{}deploy], line: {}}}}}\n"
    warning = f"rules: {{{WARN}: {{severity: error, reason: x}}}}\n"
    shared(repository, OFF + dev.format("../team/", 1.5), warning + dev.format("", 1.2))
    ran = command("check", "team/deploy", "-o", "json")
    assert [(row["rule"], row["level"]) for row in ran.json["findings"]] == [(WARN, "error")]
    assert [row["reason"] for row in ran.json["suppressed"]] == ["the gateway sets it"]
    assert ran.json["summary"]["operatorLine"] == "1.2"


def test_overrides_weigh_rules_in_their_files_and_the_last_one_decides(repository: Path, command: Command) -> None:
    one = "- {{paths: [{}], rules: {{" + BAD_RULE + ": {{severity: {}, reason: {}}}}}}}\n"
    project(repository, "overrides:\n" + one.format("team/deploy/bad.yaml", "warning", "a") + one.format("team", "off", "b"))
    ran = command("check", "team", "-o", "json")
    assert [(row["rule"], row["by"], row["reason"]) for row in ran.json["suppressed"]] == [(BAD_RULE, "project", "b")]
    project(repository, "overrides:\n" + one.format("team", "off", "b") + one.format("team/deploy/bad.*", "warning", "a"))
    found = command("check", "team", "--select", BAD_RULE[:9], "-o", "json").json["findings"]
    assert [(row["rule"], row["level"]) for row in found] == [(BAD_RULE, "warning")]
    (repository / "bad.yaml").write_text(BAD.replace("name: bad", "name: elsewhere"))
    assert command("check", "bad.yaml").code == 1
    assert command("check", "team", "--select", BAD_RULE).code == 1, "the flag wins"


def test_a_rule_that_an_override_switches_off_needs_no_facts_and_outdates_no_baseline(repository: Path, command: Command) -> None:
    (repository / "grove.yaml").write_text(NEEDS_GROVE)
    assert command("check", "team", "--baseline", "known.json", "--update-baseline").code == 0
    off = "{severity: off, reason: x}"
    project(repository, f"overrides: [{{paths: [grove.yaml, team], rules: {{{GROVE_RULE}: {off}, {BAD_RULE}: {off}}}}}]\n")
    assert command("check", "grove.yaml", "--require-facts").code == 0
    assert "no longer found" not in command("check", "team", "--baseline", "known.json").err


def test_one_file_alone_is_extended_and_no_report_takes_its_place(repository: Path, command: Command) -> None:
    shared(repository, f"extends: ../team/{NAME}\n")
    told = f"shared/rules.yaml:1: extends: must not be given in a file that another one extends, here team/{NAME}"
    assert command("check", "team/deploy").err == f"dynamo-webhooks check: {told}\n"
    shared(repository, "path: x\n")
    assert "check: shared/rules.yaml:1: path: there is no such key; did you mean paths?\n" in command("check", "team/deploy").err
    shared(repository, "{}\n")
    assert command("check", "team/deploy", "-o", "text=shared/rules.yaml").code == 2
    assert (repository / "shared" / "rules.yaml").read_text() == "{}\n"
