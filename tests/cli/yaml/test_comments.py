"""Where comments stand in a text, and of which line each speaks. What they ignore is tested in test_suppress.py."""

from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.cli.yaml.comments import Comment, _start, comments
from dynamo_webhooks.cli.yaml.load import Source

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
