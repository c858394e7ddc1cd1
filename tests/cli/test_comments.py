"""Where comments stand in a text, and of which line each speaks. What they ignore is tested in test_suppress.py."""

from __future__ import annotations

import pytest

from dynamo_webhooks.cli.check.comments import Comment, comments
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
