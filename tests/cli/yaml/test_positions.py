"""Positions lie beside the data: of keys, of values, of list items, and of the deepest part that exists; and where comments stand.

What comments ignore is tested in test_suppress.py.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.cli.yaml.comments import Comment, _start, comments
from dynamo_webhooks.cli.yaml.load import Source, load_documents

TEXT = """\
# a comment
a:
  b: one
  c:
    - x: 5
      "y z": |
        text
    - last
  empty:
  wide: 漢字
d: &d {e: 1}
f: *d
g:
  <<: *d
"""


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ((), (2, 1, 2), (2, 1, 2)),
        (("a",), (2, 1, 2), (2, 1, 2)),
        (("a", "b"), (3, 3, 4), (3, 6, 9)),
        (("a", "c"), (4, 3, 4), (4, 3, 4)),
        (("a", "c", 0), (5, 7, 8), (5, 7, 8)),
        (("a", "c", 0, "x"), (5, 7, 8), (5, 10, 11)),
        (("a", "c", 0, "y z"), (6, 7, 12), (6, 7, 12)),  # a block of text is shown at its key
        (("a", "c", 1), (8, 7, 11), (8, 7, 11)),
        (("a", "empty"), (9, 3, 8), (9, 3, 8)),
        (("a", "wide"), (10, 3, 7), (10, 9, 11)),
        (("d", "e"), (11, 8, 9), (11, 11, 12)),
        (("f", "e"), (11, 8, 9), (11, 11, 12)),  # where the anchored text stands
        (("g", "e"), (11, 8, 9), (11, 11, 12)),
        # what does not exist is reported at the deepest part that does
        (("a", "missing", "b"), (2, 1, 2), (2, 1, 2)),
        (("a", "c", 7), (4, 3, 4), (4, 3, 4)),
        (("a", "c", -1), (4, 3, 4), (4, 3, 4)),
        (("a", "b", "deeper"), (3, 3, 4), (3, 3, 4)),
        (("missing",), (2, 1, 2), (2, 1, 2)),
    ],
)
def test_a_path_has_a_place(path: tuple[str | int, ...], key: tuple[int, int, int], value: tuple[int, int, int]) -> None:
    document = load_documents(TEXT)[0]
    assert document.position(path) == key
    assert document.value_position(path) == value


def test_a_part_of_a_document_keeps_its_lines() -> None:
    item = load_documents("---\nitems:\n- a: 1\n- a:\n    b: 2\n")[0].item(("items", 1))
    assert item.data == {"a": {"b": 2}}
    assert item.value_position(("a", "b")) == (5, 8, 9)


WORD = "dynamo-webhooks:"
ONE = f"# {WORD} 1"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"a: b {ONE}\n", [(1, 6, 1)]),
        (f"a: b\n{ONE}", [(2, 1, 2)]),
        (f"{ONE}\n# another\n  {ONE}\na: b\n", [(1, 1, 4), (3, 3, 4)]),
        (f"{ONE}\n\na: b\n", [(1, 1, 2)]),
        (f'"{WORD}": x # of something else\n', []),
        (f'a: "{ONE}"\n', []),
        (f'a: "x {ONE}" {ONE}\n', [(1, 29, 1)]),
        (f"a: |\n  {ONE}\nb: c {ONE}\n", [(3, 6, 3)]),
        (f"a: b {ONE}\n--- {ONE}\nc: d {ONE}\n", [(1, 6, 1), (2, 5, 2), (3, 6, 3)]),
        (f"a: [ {ONE}\n---\nc: d\n---\n{ONE}\ne: f\n", [(5, 1, 6)]),
        (f"--- {ONE}\r\na: b {ONE}\r\n", [(1, 5, 1), (2, 6, 2)]),
        (f"[a, {ONE}\n b]\n", [(1, 5, 1)]),
    ],
)
def test_comments_are_found_where_no_text_is(text: str, wanted: list[tuple[int, int, int]]) -> None:
    assert comments(Source("a.yaml", text), WORD) == [Comment(line, column, ONE, of) for line, column, of in wanted]


class Looked(list[Any]):
    """A list that counts how often somebody looks at a line of it, or goes through it."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Any]:
        self.looks += 1
        return super().__iter__()


def test_many_comments_above_each_other_take_a_few_looks_each() -> None:
    source = Source("a.yaml", f"{ONE}\n# another\n" * 300 + "a: b\n")
    lines = source.__dict__["lines"] = Looked(source.lines)
    assert {comment.of for comment in comments(source, WORD)} == {601}
    assert lines.looks < 300 * 20


def test_many_texts_on_one_line_are_gone_through_once() -> None:
    line = "[{}] # x".format(", ".join(['"#"'] * 300))
    taken = Looked((at, at + 3) for at in range(1, len(line) - 4, 5))
    assert _start(line, taken) == len(line) - 3
    assert taken.looks == 1
