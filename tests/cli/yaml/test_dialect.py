"""The dialect of YAML that Kubernetes reads; every value in the table was measured with kubectl 1.32.

Positions lie beside the data: of keys, of values, of list items, and of the deepest part that exists; and where comments stand. What
comments ignore is tested in test_suppress.py.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.cli.yaml import yaml_text
from dynamo_webhooks.cli.yaml.build import MAX_ALIASED_VALUES, MAX_LEVELS
from dynamo_webhooks.cli.yaml.comments import Comment, _start, comments
from dynamo_webhooks.cli.yaml.load import InputError, Source, load_documents, read_text
from dynamo_webhooks.cli.yaml.yaml_text import PureParser
from tests.rows import run_each

VALUES = [
    # booleans are those of YAML 1.1, single letters too
    *[(word, True) for word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")],
    *[(word, False) for word in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")],
    *[(word, word) for word in ("oN", "yEs", "tRUE", "nan", "inf")],
    *[(word, None) for word in ("~", "null", "Null", "NULL", "")],
    # no timestamps, no sexagesimals
    *[(word, word) for word in ("2001-01-01", "2001-12-14t21:59:43.10-05:00", "1:30", "190:20:30")],
    ("!!timestamp 2001-01-01", "2001-01-01"),
    # integers in four bases
    ("5", 5),
    ("+5", 5),
    ("-0", 0),
    ("0777", 511),
    ("0o17", 15),
    ("0O17", 15),
    ("0x1F", 31),
    ("-0x1F", -31),
    ("0b11", 3),
    ("-0b11", -3),
    ("1_000", 1000),
    ("1_", 1),
    ("0_7", 7),
    *[(word, word) for word in ("_1", "0o8", "0x", "0b2")],
    ("089", 89),
    # doubles; a whole one is written as an integer and read back as one
    ("1e3", 1000),
    ("1.5e+3", 1500),
    ("1.e3", 1000),
    (".5", 0.5),
    ("+.5", 0.5),
    ("5.", 5),
    ("1.10", 1.1),
    ("1_0.5", 10.5),
    *[(word, word) for word in ("1e400", "0x1.8p1", "1e", "0x10000000000000000", "-0x8000000000000001", "+0x8000000000000000")],
    ("9" * 310, "9" * 310),
    ("123456789012345678", 123456789012345678),
    ("18446744073709551616", 2.0**64),
    ("0" + "7" * 30, float("7" * 30)),
    ("9" * 5000, "9" * 5000),
    # quotes and tags
    ('"5"', "5"),
    ("'yes'", "yes"),
    ("!!str 5", "5"),
    ('!!int "5"', 5),
    ("!!float 5", 5),
    ("!!bool yes", True),
    ("!foo 5", "5"),
    ("!!binary aGVsbG8=", "hello"),
    ("!!set {a}", {"a": None}),
    ("=", "="),
    ("...x", "...x"),
    # keys are text
    ("{5: a}", {"5": "a"}),
    ("{0x10: a}", {"16": "a"}),
    ("{1.50: a}", {"1.5": "a"}),
    ("{1e3: a}", {"1000": "a"}),
    ("{yes: a}", {"true": "a"}),
    ("{!!str y: a}", {"y": "a"}),
    # anchors and merge keys
    ("[&a {b: 1}, *a]", [{"b": 1}, {"b": 1}]),
    ("[&a 1, *a]", [1, 1]),
    ("{b: &a x, c: *a}", {"b": "x", "c": "x"}),
    ("{&a b: 1, c: *a}", {"b": 1, "c": "b"}),
    ("{<<: {a: 1, b: 1}, a: 2}", {"a": 2, "b": 1}),
    # a merge key wins over what stands before it, and of its sources the first
    ("{a: 2, <<: [{a: 1, b: 1}, {b: 2}]}", {"a": 1, "b": 1}),
    ("{<<: {a: 1}, b: 1, <<: {a: 2, b: 3}, a: 4}", {"a": 4, "b": 3}),
    ('{"<<": {a: 1}}', {"<<": {"a": 1}}),
]

REFUSED = [
    (".inf", 1, 4, "the number .inf can't be written in an object"),
    (".nan", 1, 4, "the number .nan can't be written in an object"),
    ("{? {a: b} : c}", 1, 7, "a key must be one word or text, found a map or list"),
    ("{~: c}", 1, 5, "a key must not be null or empty"),
    ("!!int abc", 1, 4, "a value tagged !!int must be one"),
    ("!!int 089", 1, 4, "a value tagged !!int must be one"),
    ("!!int 1e3", 1, 4, "a value tagged !!int must be one"),
    ("!!binary aGVs bG8=", 1, 4, "a value tagged !!binary must be base64 of UTF-8 text"),
    ("{<<: {a: 1}, a: 2, a: 3}", 1, 23, 'duplicate key "a", on line 1 and on line 1'),
    ("!!null x", 1, 4, "a value tagged !!null must be one"),
    ("{a: 1, b: 1, a: 2}", 1, 17, 'duplicate key "a", on line 1 and on line 1'),
    ('{1: a, "1": b}', 1, 11, 'duplicate key "1", on line 1 and on line 1'),
    ("{<<: 5}", 1, 9, "a merge key << must be given a map or a list of maps"),
    ("*x", 1, 4, "the alias *x has no anchor before it"),
    ("&a [*a]", 1, 8, "the alias *a is inside its own anchor"),
    ("[&a {b: 1}, {*a : 1}]", 1, 17, "a key must be one word or text, found a map or list"),
    ("@x", 1, 4, "this character can't begin a value; put the value in quotes"),
    ("b: c", 1, 5, "a colon with a blank is not allowed here; check the indentation, or quote the value"),
    ('"abc', 1, 4, "a quoted text must be closed"),
    ('"\\ud800"', 1, None, "an escape must name a whole character, not half of a pair"),
    ("\x07", 1, 4, "must not contain control characters, found U+0007"),
    ("{{ .Values.image }}", 1, 5, "a key must be one word or text, found a map or list; this looks like a template: render it first"),
]


@pytest.fixture(params=["libyaml", "pure"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(yaml_text, "_parser", PureParser)


@pytest.mark.usefixtures("parser")
@run_each(("text", "wanted"), VALUES)
def test_a_value_means_what_kubectl_makes_of_it(text: str, wanted: object) -> None:
    value = load_documents(f"a: {text}\n")[0].data["a"]
    assert value == wanted
    assert type(value) is type(wanted)


@pytest.mark.usefixtures("parser")
@run_each(("text", "line", "column", "sentence"), REFUSED)
def test_what_can_not_be_an_object_is_one_sentence_with_its_place(text: str, line: int, column: int | None, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_documents(f"a: {text}\n", "f.yaml")
    assert caught.value.text == sentence
    assert caught.value.line == line
    assert column is None or caught.value.column == column
    assert str(caught.value) == f"f.yaml:{line}:{caught.value.column}: {sentence}"


def test_tabs_keys_that_stand_twice_and_half_a_surrogate_pair_are_named() -> None:
    with pytest.raises(InputError, match="must be indented with spaces, found a tab"):
        load_documents("a:\n\tb: 1")
    with pytest.raises(InputError, match=r'^f:5:3: duplicate key "b", on line 3 and on line 5$'):
        load_documents("---\na:\n  b: 1\n  c: 2\n  b: 3\n", "f")
    with pytest.raises(InputError, match=r"^f:2:4: must be Unicode text"):
        load_documents("a: 1\nb: \ud83d\n", "f")


def test_depth_is_limited_through_aliases_too_and_those_can_not_explode() -> None:
    assert load_documents("[" * MAX_LEVELS + "]" * MAX_LEVELS)
    for text in ("[" * (MAX_LEVELS + 1) + "]" * (MAX_LEVELS + 1), "a: " * 3 + "[" * 100_000, '[{"a":' * 100_000):
        with pytest.raises(InputError):
            load_documents(text)
    deep = "[" * (MAX_LEVELS - 10) + "]" * (MAX_LEVELS - 10)
    with pytest.raises(InputError, match="nested deeper"):
        load_documents(f"a: &a {deep}\nb: {'[' * 20}*a{']' * 20}\n")
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(InputError, match=f"the aliases expand to more than {MAX_ALIASED_VALUES:,} values"):
        load_documents("\n".join(lines))
    data = load_documents("a: &a {b: [1]}\nc: *a\n")[0].data
    data["a"]["b"].append(2)
    assert data["c"] == {"b": [1]}, "a copy"


def test_a_stream_holds_several_documents_and_empty_ones_are_nothing() -> None:
    text = "%YAML 1.1\n---\na: 1\n...\n---\n# nothing\n--- # comment\nb: 1\n---\n---   \nc: |\n  ---\n"
    documents = load_documents(text)
    assert [document.data for document in documents] == [{"a": 1}, {"b": 1}, {"c": "---\n"}]
    assert [document.position(("c",)).line for document in documents[2:]] == [11]
    for nothing in ("", "\n\n", "# nothing\n", "---\n---\n", "null\n"):
        assert load_documents(nothing) == []


def test_a_broken_document_leaves_its_neighbours_readable_and_line_ends_of_windows_move_nothing() -> None:
    results = list(read_text(Source("f", "a: 1\n---\nb: : c\n---\nd: 1\n")))
    assert [result.text if isinstance(result, InputError) else result.data for result in results][0::2] == [{"a": 1}, {"d": 1}]
    assert isinstance(results[1], InputError)
    assert results[1].line == 3
    document = load_documents("a: 1\r\n---\r\nb:\r\n  c: x\r\n")[1]
    assert document.data == {"b": {"c": "x"}}
    assert document.value_position(("b", "c")) == (4, 6, 7)


JSON = [
    ('{"a": {"b": [1, 2.5, true, null, "\\u00e9\\ud83d\\ude00"]}}', [{"a": {"b": [1, 2.5, True, None, "é😀"]}}]),
    ('{"a":1}{"a":2}\n[3]', [{"a": 1}, {"a": 2}, [3]]),
    ("{}", [{}]),
    ("[[], {}]", [[[], {}]]),
    ('{"a": 1e3, "b": 18446744073709551616, "c": -0}', [{"a": 1000, "b": 2.0**64, "c": 0}]),
    ("{a: b}", [{"a": "b"}]),  # a brace begins a map in YAML too
    ("[a, b,]", [["a", "b"]]),
    ('\t{"a":\t1}', [{"a": 1}]),
]


@run_each(("text", "wanted"), JSON)
def test_json_is_read_as_json(text: str, wanted: object) -> None:
    documents = load_documents(text)
    assert [document.data for document in documents] == wanted


@run_each(
    "text",
    [
        '{"a": 1',
        '{"a" 1}',
        '["a" "b"]',
        '{"a":1,"a":2}',
        '{"a": "\\ud800"}',
        '{"a": 1e400}',
        "[1",
        "}",
        '{"a":1]',
        '"a',
        '{"a":{"b":}',
        "[,]",
        '{,"a":1}',
    ],
)
def test_broken_json_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError) as caught:
        load_documents(text, "f.json")
    assert caught.value.line >= 1
    assert caught.value.text


def test_json_positions_are_those_of_the_text() -> None:
    document = load_documents('{\n  "é": {"b": [10, "x"]}\n}')[0]
    assert document.position(("é", "b")) == (2, 9, 12)
    assert document.value_position(("é", "b", 1)) == (2, 19, 22)
    assert document.position(("é", "b", 0)) == (2, 15, 17)


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


@run_each(
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


@run_each(
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
        *((f"a: {block}\n    {ONE}\n", []) for block in (">-", "!!str |", "&anchor |+", "|2")),
        (f"a: !!str |  {ONE}\n  b\n", [(1, 13, 1)]),  # the first line of a block may end in a comment
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
