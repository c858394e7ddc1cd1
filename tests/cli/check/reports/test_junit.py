"""JUnit's XML: a case an object, what counts as a failure, and texts that XML can't hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.commands.check.reports import junit
from dynamo_webhooks.cli.commands.check.result import CheckedObject
from dynamo_webhooks.cli.objects.manifest import Identity
from dynamo_webhooks.cli.validation.levels import ERROR, FAULT, WARNING
from dynamo_webhooks.cli.yaml.load import Position, Source
from tests.cli.check.reports.official import parsed_junit
from tests.cli.check.reports.results import assemble_result, everything, reported
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, NEEDS_GROVE, WARNED


def test_a_suite_is_a_file_and_a_case_an_object(command: Command, files: Files) -> None:
    files(a=f"{GOOD}---\n{BAD}", b=NEEDS_GROVE, c="a: [")
    root = parsed_junit(command("check", ".", "-o", "junit").out)
    counts = ("name", "tests", "failures", "errors", "skipped")
    assert [tuple(suite.get(name) for name in counts) for suite in (root, *root)] == [
        ("dynamo-webhooks check", "5", "1", "1", None),
        ("a.yaml", "2", "1", "0", "0"),
        ("b.yaml", "2", "0", "0", "1"),
        ("c.yaml", "1", "0", "1", "0"),
    ]
    assert [(case.get("classname"), case.get("name"), [inside.tag for inside in case]) for case in root.iter("testcase")] == [
        ("a.yaml", "DynamoGraphDeployment llm/good", []),
        ("a.yaml", "DynamoGraphDeployment llm/bad", ["failure"]),
        ("b.yaml", "DynamoGraphDeployment llm/graph", []),
        ("b.yaml", "DynamoGraphDeployment llm/graph: priority-class-requires-grove", ["skipped"]),
        ("c.yaml", "can be read", ["error"]),
    ]
    failure = next(root.iter("failure"))
    assert (failure.get("type"), (failure.text or "").splitlines()[0]) == (BAD_RULE, "a.yaml:22:7 error ingress-host-required (DYN202)")


@pytest.mark.parametrize(
    ("words", "tags"),
    [([], ["system-out"]), (["--fail-on", "warning"], ["failure"]), (["--fail-on", "never"], ["system-out"])],
)
def test_a_failure_is_what_makes_the_exit_code(command: Command, files: Files, words: list[str], tags: list[str]) -> None:
    files(a=WARNED)
    ran = command("check", "a.yaml", "-o", "junit", *words)
    assert [inside.tag for inside in next(parsed_junit(ran.out).iter("testcase"))] == tags
    assert ran.code == (1 if "failure" in tags else 0)


def test_objects_of_one_name_are_told_apart_by_their_lines() -> None:
    source, identity = Source("a.yaml", "a: b\n"), Identity("DynamoModel", "llm", "m")
    checked = [CheckedObject(source, line, identity, "CREATE") for line in (1, 10, 20)]
    root = parsed_junit(
        junit.document(assemble_result(findings=[reported(source=source, position=Position(12, 1, 2))], checked=checked), "error")
    )
    assert [(case.get("name"), len(case)) for case in root.iter("testcase")] == [
        ("DynamoModel llm/m", 0),
        ("DynamoModel llm/m (line 10)", 1),
        ("DynamoModel llm/m (line 20)", 0),
    ]


def test_a_comment_that_belongs_to_no_object_has_a_case(command: Command, files: Files) -> None:
    files(a="# dynamo-webhooks: ignore[schema-mismatch]\na: b\n")
    (case,) = parsed_junit(command("check", "a.yaml", "-o", "junit").out).iter("testcase")
    assert (case.get("name"), [inside.get("type") for inside in case]) == ("comments", ["ignore-without-reason"])


@given(st.text(st.characters(codec=None)))
def test_any_text_is_valid_inside_the_xml(text: str) -> None:
    root = parsed_junit(junit.document(assemble_result(findings=[reported(message=text, path=text, fix=text)]), "error"))
    assert len(list(root.iter("failure"))) == 1
    printed = "".join(filter(str.isprintable, text))
    root = parsed_junit(junit.document(assemble_result(findings=[reported(message=printed, path="")]), "error"))
    assert next(root.iter("failure")).get("message") == printed


def test_what_does_not_print_is_escaped() -> None:
    root = parsed_junit(junit.document(assemble_result(findings=[reported(message="\x1b[31m\udc80\ufffea\n\tb\u202e", path="")]), "error"))
    assert next(root.iter("failure")).get("message") == "\\x1b[31m\\udc80\\ufffea\n\\tb\\u202e"


def test_a_case_holds_its_elements_in_the_order_of_every_schema_of_junit() -> None:
    """The schema of JUnit 4 asks for `skipped`, `error`, `failure`, `system-out`; that of Jenkins takes any order."""
    findings = [reported(level=level) for level in (WARNING, ERROR, FAULT)]
    (case,) = parsed_junit(junit.document(assemble_result(findings=findings), "error")).iter("testcase")
    assert [inside.tag for inside in case] == ["error", "failure", "system-out"]
    root = parsed_junit(junit.document(everything(), "error"))
    assert [suite.get("name") for suite in root] == ["a.yaml", "b.yaml", "c", "cluster", "inputs"]
