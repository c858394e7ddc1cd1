"""Texts before and after, as people would have changed them by hand, and their differences.

Unified diffs: applied they give the new text, short ones are difflib's, and long ones take time in proportion to the lines.
"""

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.cli.rewrite.rewrite import NotWrittenError, rewrite
from dynamo_webhooks.cli.rewrite.tree import is_same_json
from dynamo_webhooks.cli.rewrite.unified_diff import find_changes, list_unified_lines
from dynamo_webhooks.cli.yaml.load import load_documents
from tests.rows import run_each


class Case(NamedTuple):
    """A text, the changes of its value, and the text after them."""

    name: str
    before: str
    changes: dict[Path, Any]  # GONE takes away
    after: str


GONE = object()

CASES = [
    Case("quotes stay", "a: 'x'\nb: \"y\"\n", {("a",): "it's", ("b",): 'a "b"'}, "a: 'it''s'\nb: \"a \\\"b\\\"\"\n"),
    Case("a word that would be a number", "a: x\n", {("a",): "1e3"}, 'a: "1e3"\n'),
    Case("blanks before a value stay", "a:    x\nbb:   y\n", {("a",): "z"}, "a:    z\nbb:   y\n"),
    Case("a new key comes behind the one before it", "a: 1\n# b\nb: 2\n", {("c",): 3}, "a: 1\n# b\nb: 2\nc: 3\n"),
    Case("a key goes with its comments", "a: 1\n# of b\nb: 2 # b\n  # b still\n# c\nc: 3\n", {("b",): GONE}, "a: 1\n# c\nc: 3\n"),
    Case("an indentation is kept", "a:\n    b: 1\n", {("c",): {"d": [1]}}, "a:\n    b: 1\nc:\n    d:\n    - 1\n"),
    Case("dashes stand as they do elsewhere", "a:\n  - 1\n", {("c",): [{"d": 1}]}, "a:\n  - 1\nc:\n  - d: 1\n"),
    Case("an item of a list", "a:\n# one\n- 1\n# two\n- 2 # 2\n", {("a",): [1, 3]}, "a:\n# one\n- 1\n# two\n- 3 # 2\n"),
    Case(
        "items that change places",
        "a:\n# v\n- name: v # v\n# w\n- name: w # w\n",
        {("a",): [{"name": "w"}, {"name": "v"}]},
        "a:\n# w\n- name: w # w\n# v\n- name: v # v\n",
    ),
    Case(
        "items find theirs by name when one comes before them",
        "a:\n# v\n- name: v # v\n  x: 1\n# w\n- name: w # w\n",
        {("a",): [{"name": "u"}, {"name": "v", "x": 2}, {"name": "w"}]},
        "a:\n- name: u\n# v\n- name: v # v\n  x: 2\n# w\n- name: w # w\n",
    ),
    Case(
        "an item takes its comments with it",
        "a:\n# v\n- name: v # v\n# w\n- name: w # w\n  x: 1\n",
        {("a",): [{"name": "w", "x": 2}]},
        "a:\n# w\n- name: w # w\n  x: 2\n",
    ),
    Case("a word that comes before others", "a:\n# v\n- v # v\n- w # w\n", {("a",): ["u", "v", "w"]}, "a:\n- u\n# v\n- v # v\n- w # w\n"),
    Case(
        "an item with another name in the same place is another",
        "a:\n# v\n- name: v\n  x: 1 # one\n- name: w\n",
        {("a",): [{"name": "u", "x": 2}, {"name": "w"}]},
        "a:\n- name: u\n  x: 2\n- name: w\n",
    ),
    Case(
        "an item that is renamed", "a:\n# v\n- name: v # v\n  x: 1 # x\n", {("a", 0, "name"): "u"}, "a:\n# v\n- name: u # v\n  x: 1 # x\n"
    ),
    Case("the first key of an item", "- a: 1 # a\n  b: 2 # b\n", {(0, "a"): GONE}, "- b: 2 # b\n"),
    Case("in braces", "a: { b: 1, c: 2 } # d\n", {("a", "e"): "f, g"}, 'a: { b: 1, c: 2, e: "f, g" } # d\n'),
    Case("a map that becomes empty", "a:\n  b: 1\nc: 2\n", {("a", "b"): GONE}, "a: {}\nc: 2\n"),
    Case("a map that was empty", "a: {} # a\nc: 2\n", {("a", "b"): 1}, "a: # a\n  b: 1\nc: 2\n"),
    Case("a text of lines", "a: |\n  x\n  y\nb: 1\n", {("b",): "x\ny\n"}, "a: |\n  x\n  y\nb: |\n  x\n  y\n"),
    Case("a text of lines is no comment", "a: |\n  # x\nb: 1\n", {("b",): 2}, "a: |\n  # x\nb: 2\n"),
    Case("blank lines at the end of a text", "a: |+\n  x\n\nb: 1\n", {("b",): 2}, "a: |+\n  x\n\nb: 2\n"),
    Case("anchors that still hold", "a: &x [1]\nb: *x\nc: 1\n", {("c",): 2}, "a: &x [1]\nb: *x\nc: 2\n"),
    Case("anchors that hold no longer", "a: &x\n- 1 # one\nb: *x # b\n", {("a",): [2]}, "a:\n- 2 # one\nb: # b\n- 1 # one\n"),
    Case("merge keys", "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  b: 3 # b\n", {("d", "c"): GONE}, "a: &x {b: 1, c: 2}\nd:\n  b: 3 # b\n"),
    Case(
        "a merge key that wins",
        "a: &x {b: 1}\nd:\n  b: 3 # b\n  <<: *x\ne: 1\n",
        {("e",): 2},
        "a: &x {b: 1}\nd:\n  b: 3 # b\n  <<: *x\ne: 2\n",
    ),
    Case("merge keys alone", "a: &x\n  b: 1 # b\nd:\n  <<: *x\n", {("d", "c"): 2}, "a: &x\n  b: 1 # b\nd:\n  b: 1\n  c: 2\n"),
    Case("markers and all around", "%YAML 1.1\n---\n# x\na: 1\n# y\n...\n# z", {("a",): 2}, "%YAML 1.1\n---\n# x\na: 2\n# y\n...\n# z"),
    Case("no line feed at the end", "a: 1\nb: 2", {("c",): 3}, "a: 1\nb: 2\nc: 3"),
    Case("line ends", "a: 1 # x\r\nb: 2\r\n", {("c",): {"d": "e\nf"}}, "a: 1 # x\r\nb: 2\r\nc:\r\n  d: |-\r\n    e\r\n    f\r\n"),
    Case("question marks", "? a\n: 1\nb: 2\n", {("a",): 2}, "a: 2\nb: 2\n"),
    Case("tags", "a: !!map\n  b: !!str 1\n  c: 2\n", {("a", "c"): 3}, "a: !!map\n  b: !!str 1\n  c: 3\n"),
    Case("a document that is a list", "# x\n- 1 # y\n- 2\n", {(1,): 3}, "# x\n- 1 # y\n- 3\n"),
    Case("JSON on one line", '{"a":1,"b":[1,2]}', {("b",): [1, 3], ("c",): "é"}, '{"a":1,"b":[1,3],"c":"é"}'),
    Case("JSON with tabs", '{\n\t"a": [1, 2]\n}\n', {("b",): {"c": []}}, '{\n\t"a": [1, 2],\n\t"b": {\n\t\t"c": []\n\t}\n}\n'),
    Case("JSON's escapes stay", '{"a": "\\u00e9\\/", "b": 1}', {("b",): 2}, '{"a": "\\u00e9\\/", "b": 2}'),
]


def _changed(value: Any, changes: dict[Path, Any]) -> Any:
    for path, new in changes.items():
        here = value
        for step in path[:-1]:
            here = here[step]
        if new is GONE:
            del here[path[-1]]
        else:
            here[path[-1]] = new
    return value


@run_each("case", CASES)
def test_a_text_is_changed_as_by_hand(case: Case) -> None:
    wanted = _changed(load_documents(case.before)[0].data, case.changes)
    done = rewrite(case.before, [wanted])
    assert done.text == case.after
    assert is_same_json(load_documents(done.text)[0].data, wanted)


def test_several_documents_of_one_piece_and_nothing_to_do() -> None:
    assert rewrite('{"a": 1} {"b": 1}\n{"c": 1}\n', [{"a": 1}, {"b": 2}, {"c": 3}]).text == '{"a": 1} {"b": 2}\n{"c": 3}\n'
    odd = "\ufeff{a: 1,\n # x\n\tb: 'c'}\r\n"
    assert rewrite(odd, [{"b": "c", "a": 1}]) == (odd, [])


def test_moved_fields_take_their_comments_along() -> None:
    before = "# top\nold: # old\n  # x\n  x: # the x\n    v: 1 # v\n    # tail\n# z\nz: 1\n"
    origins: dict[Path, Path] = {("new",): ("old",), ("new", "deep"): ("old", "x"), ("new", "deep", "v"): ("old", "x", "v"), ("z",): ("z",)}
    done = rewrite(before, [{"new": {"deep": {"v": 2}}, "z": 1}], lambda _, path: origins.get(path))
    assert done.text == "# top\nnew: # old\n  # x\n  deep: # the x\n    v: 2 # v\n    # tail\n# z\nz: 1\n"
    assert done.lost_comments == []


def test_what_a_field_became_besides_takes_no_comments() -> None:
    before = "mode: # block\n  # which\n  to: x # x\n"
    origins: dict[Path, Path] = {("new",): ("mode",), ("new", "is"): ("mode",), ("new", "to"): ("mode", "to")}
    done = rewrite(before, [{"new": {"is": True, "to": "z"}}], lambda _, path: origins.get(path))
    assert done.text == "new: # block\n  is: true\n  # which\n  to: z # x\n"
    twice: dict[Path, Path] = {("a",): ("x",), ("b",): ("x",), ("c",): ("x",)}
    done = rewrite("# x\nx: 1 # one\n", [{"b": 2, "a": 1, "c": 1}], lambda _, path: twice.get(path))
    assert done.text == "# x\nb: 2\na: 1 # one\nc: 1\n"


def test_lost_comments_are_named_with_their_lines() -> None:
    done = rewrite("a: 1\n# of b\nb: '# no' # yes\nc: {d: 1} # c\n", [{"a": 1, "c": {"d": 2}}])
    assert done.text == "a: 1\nc: {d: 2} # c\n"
    assert done.lost_comments == [(2, "# of b"), (3, "# yes")]


@run_each(
    "before",
    [
        "a: [b: 1, c]\nd: 1 # d\n",
        "a: {? b : 1, c}\nd: 1 # d\n",
        "? a # a\n: # b\n  - 1\nd: 1 # d\n",
        "a: &x !!map # x\n  b: *y\nd: 1 # d\n".replace("*y", "1"),
        "a:\n    'b\n  c'\nd: 1 # d\n",
        "a:\n -\n  - 1\n -  # x\n  -   b: 1\n      c: 2\nd: 1 # d\n",
        "a: |2-\n    x\n   y\nd: 1 # d\n",
        "a: !x &y >-\n  b\n\n  c\nd: 1 # d\n",
        "a: # x\n\n  # y\n\n  b\nd: 1 # d\n",
        '"a\\u0062": 1\nd: 1 # d\n',
        "a: 'x\u2028 y'\nd: 1 # d\n",
        "a: <<\n<<: {b: 1}\nd: 1 # d\n",
    ],
)
@pytest.mark.parametrize("moves", [False, True])
def test_odd_texts_read_as_wanted(before: str, moves: bool) -> None:
    """Whatever can't be taken apart is written anew; here nothing but `d` changes, or all goes below another key."""
    (read,) = load_documents(before)
    value = {**read.data, "d": [{"e": 2}]}
    wanted = {"deeper": [value]} if moves else value
    done = rewrite(before, [wanted], lambda _, path: (path[2:] or None) if moves else path)
    assert is_same_json(load_documents(done.text)[0].data, wanted)
    assert "# d" in done.text or [comment.text for comment in done.lost_comments].count("# d")


def test_what_no_text_says_is_refused() -> None:
    with pytest.raises(NotWrittenError):
        rewrite("a: 1\n", [{"a": float("inf")}])
    with pytest.raises(NotWrittenError):
        rewrite("a: 1\n", [{"a": 1}, {"b": 1}])


def test_deep_json_keeps_its_shape() -> None:
    value = {"a": [{"b": {"c": [1, {"d": None}]}}], "e": "x"}
    for indent in (1, 2, 4, "\t", None):
        text = json.dumps(value, indent=indent)
        assert rewrite(text, [{**value, "e": "y"}]).text == text.replace('"x"', '"y"')
        assert rewrite(text, [{**value, "f": value["a"]}]).text == json.dumps({**value, "f": value["a"]}, indent=indent)


def test_a_comment_behind_a_lost_list_keeps_its_order_and_stays_above_the_item_that_it_stood_in() -> None:
    text = "a:\n  b:\n    c:\n    - 1\n    # first\n    d: 2\n  # second\n  e: 3\n"
    assert rewrite(text, [{"a": {"e": 3}}]).text == "a:\n  # first\n  # second\n  e: 3\n"
    text = "a:\n# item\n- b:\n    c:\n    - 1\n    # first\n    d: 2\n  # second\n  e: 3\n"
    assert rewrite(text, [{"a": [{"e": 3}]}]).text == "a:\n# item\n# first\n# second\n- e: 3\n"


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "- x: 1\n", "\n", "one\n", "two\n", "three\n", "four\n"]), max_size=40)


def applied(old: list[str], diff: Iterator[str]) -> list[str]:
    """The old lines with a diff in them; every line that it says was there must be."""
    out, at = [], 0
    for line in diff:
        if line.startswith(("--- a", "+++ b")):
            continue
        if match := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            begin = int(match[1]) - (match[2] != "0")
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
    assert applied(old, list_unified_lines(old, new, "a", "b")) == new


@given(LINES, LINES)
def test_changes_are_the_stretches_that_differ(olds: list[str], news: list[str]) -> None:
    old, new = "".join(olds), "".join(news)
    out, at = "", 0
    for change in find_changes(old, new):
        assert at <= change.start <= change.end
        assert old[change.start : change.end] != change.text
        out += old[at : change.start] + change.text
        at = change.end
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
    assert [tuple(change) for change in find_changes(old, new)] == changes


def components(many: int, more: str = "") -> list[str]:
    return [line for number in range(many) for line in (f"- name: w{number}\n", "  type: worker\n", *([more] if more else []))]


def test_a_diff_says_what_difflibs_says() -> None:
    old, new = components(30), components(30, "  replicas: 1\n")
    for changed in (new, old[:20] + new[30:], old[10:], ["x\n", *old], old, []):
        assert list(list_unified_lines(old, changed, "a", "b")) == list(unified_diff(old, changed, "a", "b"))


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
        made = list(list_unified_lines([Line(line) for line in old], [Line(line) for line in new], "a", "b"))
        assert made
        assert Line.compared < 40 * (len(old) + len(new))
