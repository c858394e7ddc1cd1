"""Unified diffs: applied they give the new text, short ones are difflib's, and long ones take time in proportion to the lines."""

import re
from collections.abc import Iterator
from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.rewrite.unified_diff import find_changes, unified_lines

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "- x: 1\n", "\n", "one\n", "two\n", "three\n", "four\n"]), max_size=40)


def applied(old: list[str], diff: Iterator[str]) -> list[str]:
    """The old lines with a diff in them; every line that it says was there must be."""
    out, at = [], 0
    for line in diff:
        if line.startswith(("--- a", "+++ b")):
            continue
        if found := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            begin = int(found[1]) - (found[2] != "0")
            out += old[at:begin]
            at = begin
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert old[at] == line[1:]
            out += [line[1:]] if line[0] == " " else []
            at += 1
    return out + old[at:]


@given(LINES, LINES)
def test_the_old_text_with_a_diff_is_the_new_one(old: list[str], new: list[str]) -> None:
    assert applied(old, unified_lines(old, new, "a", "b")) == new


@given(LINES, LINES)
def test_changes_are_the_stretches_that_differ(olds: list[str], news: list[str]) -> None:
    old, new = "".join(olds), "".join(news)
    out, at = "", 0
    for one in find_changes(old, new):
        assert at <= one.start <= one.end
        assert old[one.start : one.end] != one.text
        out += old[at : one.start] + one.text
        at = one.end
    assert out + old[at:] == new


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("a: 1\nb: 2\n", "a: 1\nb: 3\n", [(8, 9, "3")]),
        ("typ: a\nrest: b\n", "type: a\nrests: b\n", [(3, 3, "e"), (11, 11, "s")]),
        ("a\nb\nc\n", "a\nc\n", [(2, 4, "")]),
        ("a\nc\n", "a\nb\nc\n", [(2, 2, "b\n")]),
        ("a", "a", []),
    ],
)
def test_a_change_is_as_small_as_it_can_be(old: str, new: str, changes: list[tuple[int, int, str]]) -> None:
    assert [tuple(one) for one in find_changes(old, new)] == changes


def components(many: int, more: str = "") -> list[str]:
    return [line for number in range(many) for line in (f"- name: w{number}\n", "  type: worker\n", *([more] if more else []))]


def test_a_diff_says_what_difflibs_says() -> None:
    old, new = components(30), components(30, "  replicas: 1\n")
    for changed in (new, old[:20] + new[30:], old[10:], ["x\n", *old], old, []):
        assert list(unified_lines(old, changed, "a", "b")) == list(unified_diff(old, changed, "a", "b"))


class Line(str):
    """A line that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Line.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_comparisons_grow_with_the_lines() -> None:
    """Also where no line stands once, and where all do in another order."""
    for old, new in (
        (components(2_000), components(2_000, "  replicas: 1\n")),
        (["x\n"] * 4_000, ["y\n", "x\n"] * 4_000),
        (components(2_000), components(2_000)[::-1]),
    ):
        Line.compared = 0
        made = list(unified_lines([Line(line) for line in old], [Line(line) for line in new], "a", "b"))
        assert made
        assert Line.compared < 40 * (len(old) + len(new))
