"""The quick reader of block style says what the event parser says, or nothing; and where things stand is the same."""

import random
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from dynamo_webhooks.cli.yaml import block_text, load
from dynamo_webhooks.cli.yaml.build import Builder
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Document, Source
from tests.bench.requests import graph
from tests.cli.samples import BAD, IMAGE
from tests.rows import run_each

ROOT: Final = Path(__file__).parents[3]
MANIFEST: Final = yaml.safe_dump(graph(), sort_keys=False)


def parsed(text: str) -> Document | None:
    """The first document as the event parser has it."""
    builder = Builder()
    try:
        load.feed(text, builder)
    except InputError:
        return None
    pairs = [(data, place) for data, place in builder.finished if data is not None]
    return Document(pairs[0][0], Source("x", text), pairs[0][1], 0) if pairs else None


def agree(text: str) -> bool:
    """Whether the quick reader reads a chunk; what it then reads must be what the parser reads, with the same places."""
    quick = block_text.read(text)
    if quick is None:
        return False
    document = parsed(text)
    assert document is not None, text
    assert repr(quick.data) == repr(document.data), text  # 1 and True and 1.0 are equal, too
    known = load._known(quick, 0)
    for path, position in known.items():
        assert position == document.value_position(path), (text, path)
    assert known[()] == document.position(())
    return True


def test_manifests_are_read_quickly_and_as_by_the_parser() -> None:
    assert agree(MANIFEST)
    assert agree("---\n" + MANIFEST)
    assert agree("# of ours\n\n---\n" + MANIFEST) is False  # chunks are split before
    assert agree(BAD.replace(f"      {IMAGE}\n", "").replace("{enabled: true}", "\n        enabled: true  # on"))
    files = [file for folder in ("tests", "docs", "tools", "manifests", "policies") for file in sorted((ROOT / folder).rglob("*.yaml"))]
    taken = [agree(chunk) for file in files if file.stat().st_size < 100_000 for chunk, _ in load.split_chunks(file.read_text())]
    assert len(taken) > 100
    assert sum(taken) > len(taken) / 4


@run_each(
    "text",
    [
        "a: 1\nb: no\nc: ~\nd:\ne: 1e3\nf: 0777\ng: 1:30\nh: 'yes'\ni: \"a: b\"\nj: {}\nk: []\nl: -1\nm: --x\no: http://x:1/y\n",
        "a:\n- b\n- c:\n  - d\n  e: 1\n- - f\n  - g\nh: 1\n",
        "a:\n  - b: 1\n\n    c: 2   # said\n# a comment\n  -   d: 3\n      e: 4\nf:\ng: 1",
        "metadata:\n  labels: {}\n  name: 'x y'\nkind: A\n",
        'metadata:\n  name: ""\nkind: A\n',
        "metadata:\n  name: x\n  labels:\n    name: y\nspec:\n  name: z\n",
        "metadata:\n  name: {}\nkind: A\n",
        "metadata:\n  name: []\nkind: A\n",
        "a: b c  d\n\n   \ne: f-g:h, i\n",
    ],
)
def test_what_is_of_the_style_is_read(text: str) -> None:
    assert agree(text)


@run_each(
    "text",
    [
        "a: b\n  c: d\n",
        "a: b\n  - c\n",
        "- a\n- b\n",
        "a: b\n c\n",
        "a: 1\na: 2\n",
        "yes: 1\nb: 2\n",
        "a: |\n  b\nc: d\n",
        "a: &x b\nc: *x\n",
        "a: !!str 1\nb: 2\n",
        "a: {b: c}\nd: e\n",
        "a: 'b''c'\nd: e\n",
        'a: "\\n"\nd: e\n',
        "a: é\nb: c\n",
        "a:\tb\nc: d\n",
        "a: b: c\nd: e\n",
        "a: b #c\nd: @e\n",
        "a: 'b' c\nd: e\n",
        "a: .inf\nb: c\n",
        "a: b\n...\nc: d\n",
        "? a\n: b\n",
        "<<: a\nb: c\n",
        "a:\n  b\nc: d\n",
        "  a: b\n  c: d\n",
        "a: b\n",
        "",
        "a:\n-\nb: c\n",
        "a:\n- - b\n - c\nd: e\n",
        "a:\n    b: 1\n  c: 2\n",
        "--- a\nb: c\n",
        "a:\n  - b\n c: d\n",
        "a: b\r\nc: d\n",
        "a: " + "x" * 1_000 + "\nb: c\n",
        "".join(f"{'  ' * number}a:\n" for number in range(100)),
        "a:\n" + "- " * 300 + "b\nc: d\n",
    ],
)
def test_whatever_is_more_is_left_to_the_parser(text: str) -> None:
    assert agree(text) is False


WORDS = st.sampled_from(
    (
        *("a", "name", "metadata", "yes", "1", "1e3", "0x1", "-1", ".5", "~", "null", "x y", "a:b", "''", '""'),
        *("{}", "[]", "'a'", '"b"', "- a", "#c", "é"),
    )
)
LINES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(("", "- ", "- - ", "-  ")), WORDS, st.sampled_from((":", ": ", "")), WORDS), max_size=9
)


@given(LINES, st.sampled_from(("\n", " # x\n", "  \n")))
@example([(0, "", "a", ":", ""), (0, "- ", "a", "", ""), (0, "", "a", ": ", "1")], "\n")
def test_no_text_is_read_otherwise_than_by_the_parser(lines: list[tuple[int, str, str, str, str]], end: str) -> None:
    text = "".join(f"{' ' * indent}{dash}{key}{colon}{value if colon == ': ' else ''}{end}" for indent, dash, key, colon, value in lines)
    agree(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("abc: -#'\"0n.e", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcn-", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(("apiVersion", "kind", "metadata", "spec", "name")), VALUES))
def test_what_another_program_writes_is_read_as_by_the_parser(data: dict[str, Any]) -> None:
    agree(yaml.safe_dump(data, sort_keys=False, default_flow_style=False))


@given(st.integers(0, 10**9))
def test_damaged_manifests_are_read_as_by_the_parser(seed: int) -> None:
    chance, text = random.Random(seed), MANIFEST  # noqa: S311 - chance of a test
    for _ in range(3):
        at = chance.randrange(len(text))
        cut = chance.choice((0, 1, 3))
        text = text[:at] + chance.choice(("", " ", "\n", "- ", ": ", "'", "#", "  ", "a", "&")) + text[at + cut :]
    agree(text)


def test_places_count_from_the_begin_of_the_file() -> None:
    documents = load.load_documents("# first\nkind: a\nmetadata:\n  name: x\n---\nkind: b\nmetadata:\n  name: y\n")
    assert [(item.position(()).line, item.value_position(("metadata", "name"))) for item in documents] == [(2, (4, 9, 10)), (6, (8, 9, 10))]


@pytest.mark.parametrize(
    "text", [" " * 200_000 + "!", "a: " + "b " * 100_000 + "!", "- " * 100_000 + "!", "a" * 200_000 + "!", "a: b" + " " * 200_000 + "!"]
)
def test_no_line_costs_more_than_it_is_long(text: str) -> None:
    assert block_text.read(text) is None
