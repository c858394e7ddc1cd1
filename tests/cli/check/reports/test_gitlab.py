"""GitLab's Code Quality report: the fields that its page requires, fingerprints that outlive moved lines, paths from the checkout."""

import json
from typing import Any, Final

import jsonschema_rs
import pytest

from dynamo_webhooks.cli.commands.check.reports import gitlab
from dynamo_webhooks.cli.validation.levels import FAULT
from tests.cli.check.reports.results import assemble_result, everything, many, reported
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, WARNED

# "Implement a custom tool" of GitLab's page on Code Quality lists these fields
TEXT: Final = {"type": "string", "minLength": 1}
LINES: Final = {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}}
FIELDS: Final = {
    "description": TEXT,
    "check_name": TEXT,
    "fingerprint": TEXT,
    "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
    "location": {"type": "object", "required": ["path", "lines"], "properties": {"path": {"pattern": "^[^/.]"}, "lines": LINES}},
}
FORMAT: Final = jsonschema_rs.Draft202012Validator(
    {"type": "array", "items": {"type": "object", "required": [*FIELDS], "properties": FIELDS}}
)


def issues(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(text)
    FORMAT.validate(rows)
    return rows


@pytest.mark.parametrize("count", [0, 30_000])
def test_each_finding_that_counts_is_an_issue_with_a_fingerprint_of_its_own(count: int) -> None:
    rows = issues(gitlab.document(many(count)))
    assert len(rows) == len({issue["fingerprint"] for issue in rows}) == count


def test_inputs_that_cannot_be_read_and_internal_errors_block() -> None:
    result = everything()
    rows = issues(gitlab.document(result))
    assert len(rows) == len(result.findings) + sum(1 for error in result.unreadable if error.name)
    blocking = [
        (row["check_name"], row["location"]["path"], row["location"]["lines"]["begin"]) for row in rows if row["severity"] == "blocker"
    ]
    (fault,) = (finding for finding in result.findings if finding.level == FAULT)
    assert blocking == [("unreadable", "b.yaml", 2), ("unreadable", "c", 1), (fault.rule, "a.yaml", 1)]


def test_fingerprints_outlive_moved_lines_and_name_the_object(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(deploy__a=BAD, deploy__b=WARNED)
    before = issues(command("check", "./deploy", "-o", "gitlab").out)
    assert [(issue["severity"], issue["location"]) for issue in before] == [
        ("critical", {"path": "deploy/a.yaml", "lines": {"begin": 10}}),
        ("minor", {"path": "deploy/b.yaml", "lines": {"begin": 8}}),
    ]
    assert before[0]["description"].startswith("DynamoGraphDeployment llm/bad: spec.services[worker].ingress.host: must ")
    (folder / "deploy" / "a.yaml").write_text("# one line more\n" + BAD)
    after = issues(command("check", "deploy", "-o", "gitlab").out)
    assert [issue["location"]["lines"]["begin"] for issue in after] == [11, 8]
    assert [issue["fingerprint"] for issue in after] == [issue["fingerprint"] for issue in before]
    monkeypatch.setenv("CI_PROJECT_DIR", str(folder))
    monkeypatch.chdir(folder / "deploy")
    assert issues(command("check", "a.yaml", "-o", "gitlab").out)[0]["location"]["path"] == "deploy/a.yaml"


def test_a_message_that_ends_with_a_stop_gets_no_second_one() -> None:
    [issue] = issues(gitlab.document(assemble_result(findings=[reported(message="must be set.", fix="set it")])))
    assert issue["description"].endswith("must be set. Fix: set it")
