"""A comment that ignores a rule: written above its line by editors, and nowhere that it would change what a text says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.cli.commands.check.fix import write_comment
from dynamo_webhooks.cli.yaml.load import Source, load_documents
from tests.rows import run_each

RULE = "schema-rule"
TEXTS = """\
a: |
  one
  two
b: >-

  three
c: "four
  five"
d: six
  seven
e: {f: 'g
  h', i: j,
  k: l}
m:
  - |2
     n
  - o
# p
q:
  r
"""
INSIDE = {2, 3, 5, 6, 8, 10, 12, 16}
A_COMMENT = 18


@run_each("line", sorted({*range(1, TEXTS.count("\n") + 1)} - {A_COMMENT}))
@pytest.mark.parametrize("prefix", ["", "z: 1\n---\n"])
def test_a_line_inside_a_text_gets_no_comment(line: int, prefix: str) -> None:
    source = Source("a.yaml", prefix + TEXTS)
    text = write_comment(source, line + prefix.count("\n"), RULE)
    assert (text is None) == (line in INSIDE)
    if text is not None:
        assert f"# dynamo-webhooks: ignore[{RULE}] \n" in text
        assert [document.data for document in load_documents(text)] == [document.data for document in load_documents(source.text)]


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(min_size=1, max_size=4), VALUES, min_size=1, max_size=4), st.booleans(), st.integers(1, 40), st.data())
def test_no_comment_changes_what_a_text_means(data: dict[str, object], flow: bool, width: int, draw: st.DataObject) -> None:
    import yaml

    text = yaml.safe_dump(data, default_flow_style=flow or None, width=width, allow_unicode=True)
    source = Source("a.yaml", text)
    line = draw.draw(st.integers(1, max(1, text.count("\n"))))
    changed = write_comment(source, line, RULE)
    if changed is not None:
        assert [document.data for document in load_documents(changed)] == [document.data for document in load_documents(text)]
