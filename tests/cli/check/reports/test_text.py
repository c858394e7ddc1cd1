"""The report for people: frames with carets, answers in a server's words, what couldn't be evaluated, and the line that sums up."""

import pytest

from dynamo_webhooks.cli.commands.check.reports.text import draw_frame, format_report, format_summary
from dynamo_webhooks.cli.objects.manifest import Identity
from dynamo_webhooks.cli.validation.finding import NotEvaluated
from dynamo_webhooks.cli.validation.levels import WARNING
from dynamo_webhooks.cli.validation.server_response import ServerResponse
from dynamo_webhooks.cli.yaml.load import Position, Source, load_documents
from tests.cli.check.reports.results import assemble_result, everything, reported
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, GOOD, NEEDS_GROVE, WARNED
from tests.rows import run_each


def test_the_answer_is_the_fate_and_what_kubectl_would_print(command: Command, files: Files) -> None:
    files(a=f"{GOOD}---\n{BAD}", b=WARNED)
    out = command("check", "a.yaml", "b.yaml", "--answer").out
    lines = out[out.index("an API server would answer:") :].splitlines()
    old = "    Warning: nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"
    assert lines[1:3] == ["  a.yaml:1 create DynamoGraphDeployment llm/good: accepted", old]
    assert lines[3:5] == ["  a.yaml:13 create DynamoGraphDeployment llm/bad: refused with 422 at stage policies", old]
    assert lines[5].startswith("    ")
    assert "spec.services[worker].ingress.host: must name a host" in lines[5]
    assert lines[6:8] == ["  b.yaml:1 create DynamoGraphDeployment llm/warned: accepted", old]
    assert lines[8].startswith("    Warning: spec.services[worker].dynamoNamespace: ")
    assert lines[9:] == [""]
    quiet = command("check", "b.yaml", "--answer", "-q").out.splitlines()
    assert quiet[1:] == ["b.yaml:1 create DynamoGraphDeployment llm/warned: accepted"]


def test_rules_without_their_fact_are_one_entry_whatever_the_number_of_objects(command: Command, files: Files) -> None:
    files(a="---\n".join(NEEDS_GROVE.replace("name: graph", f"name: graph-{number}") for number in range(4)))
    assert command("check", "a.yaml").out == (
        "not evaluated:\n"
        "  priority-class-requires-grove (DYN106): the fact grove is not known; supply it with --set-fact grove=true\n"
        "    DynamoGraphDeployment llm/graph-0 (a.yaml:1) and 3 more objects\n\n"
    )


def test_the_summary_counts_everything() -> None:
    assert format_summary(everything()) == (
        "2 objects checked: 1 error, 1 warning, 1 internal error, 2 not evaluated, "
        "1 ignored by comment, 1 known from the baseline, 3 unreadable, 1 cluster not reached"
    )


def test_a_finding_without_an_object_or_fix_leaves_no_holes() -> None:
    finding = reported(identity=None, path="", fix="", level=WARNING)
    assert format_report(assemble_result(findings=[finding]), colour=False, quiet=False) == (
        "a.yaml:1:4 warning ingress-host-required (DYN202) [policies]\n"
        "  must be something else\n"
        "      1 | a: b\n"
        "        |    ^\n"
        "  more: dynamo-webhooks explain ingress-host-required\n\n"
    )


def test_no_text_of_a_user_breaks_a_line_or_paints_the_terminal() -> None:
    odd = "a\n\x1b[31m\x9b\r\u2028b"
    source, identity = Source(odd, f"{odd}\n"), Identity("DynamoModel", odd, odd)
    result = assemble_result(
        findings=[reported(source=source, identity=identity, path=odd, message=odd, fix=odd)],
        not_evaluated=[NotEvaluated("policies", "", source, 1, identity, odd, odd)],
        answers=[ServerResponse(source, 1, identity, "CREATE", 422, "Invalid", odd, "schema", (odd,), ((odd, odd),))],
    )
    for quiet in (False, True):
        shown = format_report(result, colour=False, quiet=quiet)
        assert all(character.isprintable() for character in shown.replace("\n", ""))
        assert "a\\n\\x1b[31m" in shown
    assert format_report(result, colour=False, quiet=True).count("\n") == 2


@pytest.mark.parametrize(
    ("field", "topic"),
    [("spec.services.*.replicas", "'spec.services.*.replicas'"), ("spec.backend", "spec.backend"), ("", "ingress-host-required")],
)
def test_who_wants_more_is_sent_where_it_says_most(field: str, topic: str) -> None:
    lines = format_report(assemble_result(findings=[reported(field=field, fix="")]), colour=False, quiet=False).splitlines()
    assert f"  more: dynamo-webhooks explain {topic}" in lines


@run_each(
    ("lines", "position", "wanted"),
    [
        (["a: b"], (1, 4, 5), ["      1 | a: b", "        |    ^"]),
        (["x:", "  a: bcd"], (2, 6, 9), ["      1 | x:", "      2 |   a: bcd", "        |      ^^^"]),
        (["", "a: b"], (2, 4, 5), ["      2 | a: b", "        |    ^"]),
        (["漢字: 値段 # x"], (1, 5, 7), ["      1 | 漢字: 値段 # x", "        |       ^^^^"]),
        (["e\u0301: x"], (1, 5, 6), ["      1 | e\u0301: x", "        |    ^"]),
        (["{\ta:\tb}"], (1, 6, 7), ["      1 | {    a:    b}", "        |            ^"]),
        (["a: \x1b[31mb"], (1, 4, 5), ["      1 | a: .[31mb", "        |    ^"]),
        (["a:"], (1, 3, 4), ["      1 | a:", "        |   ^"]),
        (["a"], (7, 1, 2), []),
    ],
)
def test_a_frame(lines: list[str], position: tuple[int, int, int], wanted: list[str]) -> None:
    assert draw_frame(lines, Position(*position)) == wanted


def test_a_long_line_is_shown_around_the_finding() -> None:
    line = "x" * 500 + "FOUND" + "y" * 1_000_000
    shown = draw_frame([line], Position(1, 501, 506))
    assert shown[0].index("FOUND") == shown[1].index("^^^^^")
    document = load_documents(f"a: {'x' * 1_000_000}\n")[0]
    long = draw_frame(document.source.lines, document.value_position(("a",)))
    above = draw_frame(["x" * 1_000_000 + "F", "b"], Position(2, 1, 2))
    assert max(map(len, (*shown, *long, *above))) <= 140
