"""Source frames: the caret stands under the finding whatever stands before it."""

import pytest

from dynamo_webhooks.cli.commands.check.reports.text import frame
from dynamo_webhooks.cli.yaml.load import Position, load_documents


@pytest.mark.parametrize(
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
    assert frame(lines, Position(*position)) == wanted


def test_a_long_line_is_shown_around_the_finding() -> None:
    line = "x" * 500 + "FOUND" + "y" * 1_000_000
    shown = frame([line], Position(1, 501, 506))
    assert shown[0].index("FOUND") == shown[1].index("^^^^^")
    assert max(map(len, shown)) <= 140


def test_a_long_finding_does_not_fill_the_screen() -> None:
    document = load_documents(f"a: {'x' * 1_000_000}\n")[0]
    shown = frame(document.source.lines, document.value_position(("a",)))
    assert max(map(len, shown)) <= 140


def test_a_million_characters_before_cost_nothing() -> None:
    line = "x" * 1_000_000 + "F"
    shown = frame([line, "b"], Position(2, 1, 2))
    assert max(map(len, shown)) <= 140
