"""SARIF: exact regions, fingerprints that survive edits, what is suppressed and why, what could not be done, and file names as URIs."""

import json
import os
import re
from typing import Any
from urllib.parse import unquote_to_bytes

from dynamo_webhooks.cli.commands.check.reports import sarif
from dynamo_webhooks.cli.commands.check.reports.shared import make_relative, make_uri
from dynamo_webhooks.cli.yaml.load import Source
from dynamo_webhooks.policies.checks import NULL_ENTRY, SCHEMA_RULE
from tests.cli.check.reports.official import complaints
from tests.cli.check.reports.official import sarif as judge
from tests.cli.check.reports.results import assemble_result, everything, reported
from tests.cli.conftest import Command, Files, Ran
from tests.cli.samples import BAD, BAD_CODE, BAD_RULE, GOOD, NEEDS_GROVE, OTHER_KIND, WARNED
from tests.rows import run_each

# the finding stands behind characters of several bytes, of two columns, and of none
FLOWING = (
    BAD.replace("\n      componentType: worker\n      ingress", ' {"🦖漢\u0301": 1, componentType: worker, ingress').replace(
        "      extraPodSpec", "      , extraPodSpec"
    )
    + "    }\n"
)


SAID = (NULL_ENTRY, "must be b"), (NULL_ENTRY, "must be b."), (SCHEMA_RULE, "did you mean c?")


def _run(ran: Ran) -> Any:
    assert complaints(judge(), ran.json) == []
    (run,) = ran.json["runs"]
    return run


def _region(result: Any, lines: list[str]) -> str:
    """What a viewer marks: end columns stand behind the last character, columns count whole characters."""
    region = result["locations"][0]["physicalLocation"]["region"]
    line: str = lines[region["startLine"] - 1]
    return line[region["startColumn"] - 1 : region["endColumn"] - 1]


def test_a_result_says_what_the_finding_says(command: Command, files: Files) -> None:
    files(bad=BAD)
    run = _run(command("check", "bad.yaml", "-o", "sarif"))
    (result,) = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == (BAD_RULE, 0, "error")
    assert result["message"]["text"].startswith("spec.services[worker].ingress.host: must ")
    assert (rule["id"], rule["properties"]["code"], rule["defaultConfiguration"]["level"]) == (BAD_RULE, BAD_CODE, "error")
    assert rule["help"]["markdown"].startswith(f"# {BAD_RULE} ({BAD_CODE}, error)")
    assert all(rule[part]["text"] for part in ("shortDescription", "fullDescription", "help"))
    assert [place["fullyQualifiedName"] for place in result["locations"][0]["logicalLocations"]] == [
        "DynamoGraphDeployment llm/bad",
        "DynamoGraphDeployment llm/bad spec.services[worker].ingress.host",
    ]
    assert run["invocations"] == [
        {"executionSuccessful": True, "exitCode": 1, "toolExecutionNotifications": [], "toolConfigurationNotifications": []}
    ]


@run_each(
    ("text", "wanted"),
    [
        (BAD, "ingress"),
        (BAD.replace("\n", "\r\n"), "ingress"),
        (f"# 漢字 🦖\n{BAD}", "ingress"),
        (FLOWING, "ingress"),
        (GOOD.replace("replicas: 2", 'replicas: "2"'), '"2"'),
        (GOOD.replace("replicas: 2", "repliças: 2"), "repliças"),
        (WARNED, "old"),
        (BAD.replace("  name: bad", "  name: bad  # a\u2028# b"), "ingress"),
    ],
)
def test_a_region_is_exactly_what_is_meant(command: Command, files: Files, text: str, wanted: str) -> None:
    files(a=text)
    run = _run(command("check", "a.yaml", "-o", "sarif"))
    ends = "|".join(map(re.escape, run["newlineSequences"]))
    lines = re.split(ends, text)
    assert wanted in [_region(result, lines) for result in run["results"]]
    assert run["columnKind"] == "unicodeCodePoints"


def test_a_suppressed_finding_keeps_its_fingerprint_and_says_why(command: Command, files: Files) -> None:
    files(a=BAD)
    (before,) = _run(command("check", "a.yaml", "-o", "sarif"))["results"]
    files(a=BAD.replace("{enabled: true}", f"{{enabled: true}}  # dynamo-webhooks: ignore[{BAD_RULE}] the gateway knows it"))
    ran = command("check", "a.yaml", "-o", "sarif")
    (result,) = _run(ran)["results"]
    assert (ran.code, result["partialFingerprints"]) == (0, before["partialFingerprints"])
    assert result["suppressions"] == [{"kind": "inSource", "justification": "the gateway knows it"}]


def test_what_could_not_be_done_is_a_notification(command: Command, files: Files) -> None:
    files(a=NEEDS_GROVE, b="a: [")
    run = _run(command("check", ".", "-o", "sarif"))
    (invocation,) = run["invocations"]
    (unread,) = invocation["toolExecutionNotifications"]
    (unknown,) = invocation["toolConfigurationNotifications"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 4)
    assert unread["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    assert "--set-fact grove=true" in unknown["message"]["text"]
    index = unknown["associatedRule"]["index"]
    assert run["tool"]["driver"]["rules"][index]["id"] == unknown["associatedRule"]["id"] == "priority-class-requires-grove"
    assert run["results"] == []
    files(a=GOOD, b=OTHER_KIND)  # clean files are artifacts, too
    run = _run(command("check", ".", "-o", "sarif"))
    assert [artifact["location"]["uri"] for artifact in run["artifacts"]] == ["a.yaml"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_a_bug_of_ours_is_a_notification_and_no_result_about_the_file() -> None:
    run = json.loads(sarif.document(everything(), 70))["runs"][0]
    assert {result["level"] for result in run["results"]} == {"error", "warning"}
    assert [note["associatedRule"]["id"] for note in run["invocations"][0]["toolExecutionNotifications"] if "associatedRule" in note] == [
        "schema-rule"
    ]


@run_each(
    ("name", "wanted"),
    [
        ("deploy/a.yaml", "deploy/a.yaml"),
        ("./deploy//a.yaml", "deploy/a.yaml"),
        ("deploy/../a.yaml", "a.yaml"),
        ("../a.yaml", "../a.yaml"),
        ("/repo/deploy/a.yaml", "deploy/a.yaml"),
        ("/repository/a.yaml", "file:///repository/a.yaml"),
        ("a b#c?d%e.yaml", "a%20b%23c%3Fd%25e.yaml"),
        ("c:d.yaml", "c%3Ad.yaml"),
        ("größe.yaml", "gr%C3%B6%C3%9Fe.yaml"),
        ("\udcff.yaml", "%FF.yaml"),
        ("a\nb.yaml", "a%0Ab.yaml"),
        ("-", "-"),
    ],
)
def test_a_file_name_becomes_a_uri_and_can_be_read_back(name: str, wanted: str) -> None:
    assert make_uri(name, "/repo") == wanted
    path = make_relative(name, "/repo")
    assert unquote_to_bytes(wanted.removeprefix("file://")) == os.fsencode(path)
    log = json.loads(sarif.document(assemble_result(findings=[reported(source=Source(name, "a: b\n"))]), 1, folder="/repo"))
    assert complaints(judge(), log) == []
    described = {"description": {"text": "standard input"}} if name == "-" else {}
    assert log["runs"][0]["artifacts"] == [{"location": {"uri": wanted, **described}}]


def test_checks_have_their_help_and_messages_are_whole_sentences() -> None:
    findings = [reported(rule=rule.name, code=rule.code, path="", message=text, fix="Write b") for rule, text in SAID]
    run = json.loads(sarif.document(assemble_result(findings=findings), 1))["runs"][0]
    assert {result["message"]["text"] for result in run["results"]} == {"must be b. Fix: Write b.", "did you mean c? Fix: Write b."}
    rules = run["tool"]["driver"]["rules"]
    checks = {rule["id"]: (rule["shortDescription"]["text"], rule["defaultConfiguration"]["level"]) for rule in rules}
    assert checks == {NULL_ENTRY.name: (NULL_ENTRY.title, "warning"), SCHEMA_RULE.name: (SCHEMA_RULE.title, "error")}


def test_odd_texts_are_escaped() -> None:
    odd = reported(message="\udc80 \x00 \x1b[31m", path="spec[\udc81]")
    log = json.loads(sarif.document(assemble_result(findings=[odd]), 1))
    assert complaints(judge(), log) == []
    assert log["runs"][0]["results"][0]["message"]["text"].startswith("spec[\\udc81]: \\udc80 \\x00 \\x1b[31m.")
