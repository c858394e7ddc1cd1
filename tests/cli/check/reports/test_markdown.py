"""The report for pull requests: a table by rule, bounded, and no markup of a manifest's own."""

import re

from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.commands.check.reports import markdown
from dynamo_webhooks.cli.yaml.load import Position, Source
from tests.cli.check.reports.results import assemble_result, everything, many, reported
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_CODE, BAD_RULE, BY_DEFAULT, NEEDS_GROVE


def outside_of_code(report: str) -> str:
    """What a reader of Markdown reads as markup: fenced blocks taken out, each by the fence that opened it, then code spans."""
    text = re.sub(r"^(`{3,})text\n.*?\n\1\n", "", report, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def test_a_finding_stands_below_its_file_with_its_source(command: Command, files: Files) -> None:
    files(bad=BAD, grove=NEEDS_GROVE)
    report = command("check", ".", "-o", "markdown").out
    summary = f"2 objects {BY_DEFAULT}: 1 error, 1 not evaluated."
    assert report.startswith(f"## dynamo-webhooks check\n\n{summary}\n\n| Rule |")
    assert f"\n| `{BAD_RULE}` ({BAD_CODE}) | error | 1 | 1 |\n" in report
    section = report[report.index("<details><summary><code>bad.yaml</code>: 1 error</summary>") :]
    assert "DynamoGraphDeployment llm/bad  spec.services[worker].ingress.host\nmust " in section
    assert "     10 |       ingress" in section
    assert "<details><summary>Not evaluated: 1</summary>" in report


def test_every_kind_of_thing_is_said() -> None:
    report = markdown.document(everything(), "/nowhere")
    for words in ("b.yaml:2: a value must stand here", "the cluster did not answer", "DYN106", "also schema-mismatch", "**fault**"):
        assert words in report


def test_a_huge_result_fits_a_comment_and_says_what_it_leaves_out() -> None:
    report = markdown.document(many(30_000), "/nowhere")
    assert len(report) <= markdown.MAX_REPORT_CHARACTERS
    assert "more in this file." in report
    assert re.search(r"\d+ more sections left out", report)
    assert len(markdown.document(assemble_result(unreachable=["x" * 9_000] * 9), "/nowhere")) < markdown.MAX_REPORT_CHARACTERS


@given(st.text(min_size=1), st.text(min_size=1).filter(lambda name: name.strip("./\0")))
def test_no_text_of_a_manifest_is_read_as_markup(message: str, name: str) -> None:
    hostile = f"{message}\n```\n<img src=x> @team [a](http://b) `"
    finding = reported(source=Source(f"x{name}@team<b>", f"{hostile}: b\n"), message=hostile, position=Position(1, 2, 3), fix=hostile)
    rest = outside_of_code(markdown.document(assemble_result(findings=[finding]), "/nowhere"))
    assert "@" not in rest
    assert "[a]" not in rest
    assert set(re.findall(r"<[^>]*>", rest)) == {"<details>", "<summary>", "<code>", "</code>", "</summary>", "</details>"}
