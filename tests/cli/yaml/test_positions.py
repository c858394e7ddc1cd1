"""Positions lie beside the data: of keys, of values, of list items, and of the deepest part that exists."""

import pytest

from dynamo_webhooks.cli.yaml.load import load_documents

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
