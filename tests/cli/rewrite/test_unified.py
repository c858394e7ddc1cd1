"""Unified diffs: applied they give the new text, short ones are difflib's, and long ones take time in proportion to the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.rewrite.unified import unified

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
    assert applied(old, unified(old, new, "a", "b")) == new


def components(many: int, more: str = "") -> list[str]:
    return [line for number in range(many) for line in (f"- name: w{number}\n", "  type: worker\n", *([more] if more else []))]


def test_a_diff_says_what_difflibs_says() -> None:
    old, new = components(30), components(30, "  replicas: 1\n")
    for changed in (new, old[:20] + new[30:], old[10:], ["x\n", *old], old, []):
        assert list(unified(old, changed, "a", "b")) == list(unified_diff(old, changed, "a", "b"))


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
        made = list(unified([Line(line) for line in old], [Line(line) for line in new], "a", "b"))
        assert made
        assert Line.compared < 40 * (len(old) + len(new))
