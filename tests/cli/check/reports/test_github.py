"""GitHub's workflow commands: escapes, levels, and how many of them nobody will see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.wording import escape_unprintable, escape_unprintable_lines
from dynamo_webhooks.cli.commands.check.reports import github
from dynamo_webhooks.cli.commands.check.reports.shared import make_relative
from dynamo_webhooks.cli.validation.levels import FAULT
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Source
from tests.cli.check.reports.official import read_commands
from tests.cli.check.reports.results import assemble_result, many, reported
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_CODE, BAD_RULE, NEEDS_GROVE, WARNED


def test_each_finding_is_an_annotation_at_its_place(command: Command, files: Files) -> None:
    files(bad=BAD, grove=NEEDS_GROVE, warned=WARNED, broken="a: [")
    ran = command("check", ".", "-o", "github")
    bad, warned, broken, grove = read_commands(ran.out)
    assert (bad.level, bad.properties) == (
        "error",
        {"file": "bad.yaml", "line": "10", "col": "7", "endColumn": "14", "title": f"{BAD_RULE} ({BAD_CODE})"},
    )
    first, second, third = bad.message.split("\n")
    assert first == "DynamoGraphDeployment llm/bad"
    assert second.startswith("spec.services[worker].ingress.host: must ")
    assert third.startswith("fix: ")
    assert (warned.level, warned.properties["file"]) == ("warning", "warned.yaml")
    assert (broken.level, broken.properties) == ("error", {"file": "broken.yaml", "line": "2", "col": "1", "title": "unreadable"})
    assert (grove.level, grove.properties["title"]) == ("notice", "not evaluated: priority-class-requires-grove (DYN106)")
    assert "--set-fact grove=true" in grove.message
    files(many="---\n".join(BAD.replace("name: bad", f"name: bad-{number}") for number in range(12)))
    ran = command("check", "many.yaml", "-o", "github")
    assert (len(read_commands(ran.out)), ran.err.partition(";")[0]) == (12, "GitHub shows 10 of the 12 annotations with level error")


def test_names_are_those_of_the_checkout_where_a_step_runs_below_it(
    command: Command, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = files(bad=BAD)
    (folder / "deploy").mkdir()
    (folder / "bad.yaml").rename(folder / "deploy" / "bad.yaml")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder))
    monkeypatch.chdir("deploy")
    for form in ("github", "sarif"):
        assert "deploy/bad.yaml" in command("check", ".", "-o", form).out
        assert "deploy/bad.yaml" in command("check", str(folder / "deploy"), "-o", form).out
    monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
    assert "deploy/bad.yaml" not in command("check", ".", "-o", "github").out


@given(name=st.text(st.characters(exclude_characters="\0"), min_size=1).filter(lambda name: name.strip("./")), message=st.text())
def test_any_text_is_read_back_as_text_shows_it(name: str, message: str) -> None:
    finding = reported(source=Source(f"x/{name}", "a: b\n"), message=message, path="", fix="", identity=None)
    (read,) = read_commands(github.format_commands(assemble_result(findings=[finding]), "/nowhere"))
    assert read.message == escape_unprintable_lines(message)
    assert read.properties["file"] == escape_unprintable(make_relative(f"x/{name}", "/nowhere"))


def test_a_bug_and_an_input_without_a_place_are_errors() -> None:
    result = assemble_result(findings=[reported(level=FAULT)], unreadable=[InputError("is nothing")], unreachable=["no answer"])
    assert [(annotation.level, annotation.properties["title"]) for annotation in read_commands(github.format_commands(result))] == [
        ("error", "ingress-host-required (DYN202)"),
        ("error", "unreadable"),
        ("error", "unreachable"),
    ]


@pytest.mark.parametrize(("count", "number"), [(20, 0), (21, 1), (22, 2)])
def test_annotations_that_github_leaves_out_are_counted(count: int, number: int) -> None:
    sentences = github.describe_hidden(many(count))
    assert len(sentences) == number
    assert all(sentence.startswith("GitHub shows 10 of the 11 annotations with level ") for sentence in sentences)
