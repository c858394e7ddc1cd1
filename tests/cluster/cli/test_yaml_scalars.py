"""A table of YAML is read as `kubectl create --dry-run=client -o json` reads it: the same values, and what it refuses we refuse."""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.yaml.load import InputError, load_documents
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes


def _words(text: str) -> list[str]:
    return text.split()


_CASES: Final = (str.lower, str.capitalize, str.upper, str.swapcase)
_WORDS: Final = (
    *_words("""
    y n yes no on off true false null none nil nan inf infinity undefined t f
    """),
)
_DIGITS: Final = (
    *_words("""
    0 7 00 007 08 09 017 0o17 0O17 0o8 0o 0x1F 0X1f 0xG 0x 0b101 0B101 0b2 0b 1_000 1__0 _1 1_ 0_7 0x_1 0b1_0 0o1_7 1_0.5
    1_e3 1e1_0 1,000 0x1.8p1 1e e1 1e3 1E3 1e+3 1e-3 1.e3 .5 5. 1.0 1.10 0.1 1.5e300 1e400 1e-400 0e0 1.2.3 . .. .5. 1e3e
    12345678901234567890 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616
    1111111111111111111111111111111111111111 0x7fffffffffffffff 0x8000000000000000 0xffffffffffffffff 0x10000000000000000
    0b1111111111111111111111111111111111111111111111111111111111111111 0777777777777777777777 1:30 01:30 190:20:30 1:30.5
    0.30000000000000004 123456789.123456789 9007199254740993 1e21 1e22 123e18
    """),
    *("1 000",),
)
_SIGNED: Final = tuple(f"{sign}{digits}" for sign, digits in product(("+", "-"), _DIGITS[::2]))
_DATES: Final = (
    *_words("""
    2001-01-01 2001-1-1 2001-12-14t21:59:43.10-05:00 2001-01-01T00:00:00Z 20:30 20:30:40 2001-13-45 12-12-2012 1.2.3-rc1
    v1.2 16Gi 500m 100% 1/2 10.0.0.1 ::1 a:b http://a/b
    """),
    *("2001-12-14 21:59:43.10 -5", "2001-12-15 2:59:43.10"),
)
_NULLS: Final = ("~", "", "null # comment", "~ # comment", "# only a comment", "!!null ''", "!!null ~", "!!null null")
_QUOTED: Final = (
    *("'5'", '"5"', "'yes'", '"no"', "''", '""', "'it''s'", '"\\n\\t\\\\\\""', '"\\u00e9"', '"\\U0001F600"', '"\\x41"'),
    *('"\\0"', '"\\e"', '"\\_"', '"\\N"', '"\\L"', '"\\P"', '"\\ "', '"\\a\\b\\v\\f\\r"', '"two\n  lines"'),
    *('"two\n\n  paragraphs"', '"joined\\\n  lines"', "'two\n  lines'", "'1e3'", '"null"', "'~'", '"a # b"', "'a: b'"),
    *('"  blanks  "', "'Ünïcode'", '"😀"'),
)
_PLAIN: Final = (
    *_words("""
    a a#b a:b a'b a"b a,b a]b -a ?a :a a- -- -5a 5a = << ...x ---x (a) a{b} a[0] $x ${x} ~x nullx a;b + +-5 --5 5- 5+5 0.0.0
    1.2e 1.2e+ 0x-5 -0x5 +0b1
    """),
    *("two words", "a #b", "Ünïcode", "😀", "a\n  b", "a\n\n  b", "a\tb", "a  b", "a \t", "\\n", "a\\", "a\xa0b", "\ufeffa"),
)
_BLOCKS: Final = (
    *("|\n  a\n  b\n", "|-\n  a\n  b\n", "|+\n  a\n  b\n\n", ">\n  a\n  b\n", ">-\n  a\n  b\n\n  c\n", ">+\n  a\n\n\n"),
    *("|2\n    a\n   b\n", "|\n\n\n  a\n", "|1-\n  a\n", ">1\n  a\n  b\n", "|\n", ">-\n", "|+\n\n\n"),
    *("|\n  # not a comment\n", "|\n  a\n # a comment\n", ">\n  a\n    b\n  c\n", "| # told\n  a\n", "|\n  5\n"),
    *("|-\n  true\n", ">-\n  ~\n", "|\n  a\tb\n  \tc\n", "|-\n  Ü\n"),
)
_TAGS: Final = (
    *_words("""
    !!str !!null
    """),
    *("!!str 5", "!!str yes", "!!str ~", "!!int 5", "!!int '5'", "!!int 0x10", "!!int 0o17", "!!float 5", "!!float '5'"),
    *("!!float 1e3", "!!bool yes", "!!bool 'no'", "!!binary aGVsbG8=", "!!timestamp 2001-01-01", "!!set {a, b}"),
    *("!!omap [a: 1]", "!!map {a: 1}", "!!seq [1]", "!foo 5", "!foo {a: 1}", "!<tag:yaml.org,2002:str> 5", "!!str {a: 1}"),
    *("!!pairs [a: 1]", "!!merge <<", "!!value ="),
)
_FLOWS: Final = (
    *_words("""
    [] {} {"a":1}
    """),
    *("[1, 2,]", "[a, b: c]", "{a: 1, }", "{a, b}", "{a: }", "[~, null, '']", "[[], {}]", "{a: {b: [1]}}", "[a\n  , b]"),
    *("[yes, no]", "{yes: 1}", "{5: 1}", "{0x10: 1}", "{1.50: 1}", "{1e3: 1}", "{017: 1}", "{'5': 1}", "{1:30: 1}"),
    *("{2001-01-01: 1}", "{!!str y: 1}", "{? a : 1}", "{1e21: 1}", "{1e22: 1}", "{0.1: 1}", "{-5: 1}", "{+5: 1}"),
    *("{1e400: 1}", "{off: 1, on: 2}", "{1e-7: 1}", "{=: 1}", "{123456789012345678: 1}", "{1.0: 1}", "{.5: 1}", "{1_000: 1}"),
    *("{0.000001: 1}",),
)
_ANCHORS: Final = (
    *_words("""
    &a 0777777777777777777777777777777 -0x8000000000000001 0o1777777777777777777777 0o7777777777777777777777
    """),
    *("[&a 5, *a]", "[&a {b: 1}, *a]", "{a: &x {b: 1}, c: {<<: *x, d: 2}}", "{<<: {a: 1, b: 1}, a: 2}"),
    *("{a: 2, <<: [{a: 1, b: 1}, {b: 2}]}", '{"<<": {a: 1}}', "{a: &x yes, b: *x}", "[&a [1], [*a, *a]]", "{<<: {}}"),
    *("{<<: []}", "[&a a, &a b, *a]", "&a 5", "&a !!str 5", "!!str &a 5", "{a: 2, <<: {a: 1}}", "{<<: {a: 1}, <<: {a: 2}}"),
    *("{<<: {a: 1}, b: 1, <<: {a: 2, b: 3}}", "{a: 2, <<: {<<: {a: 1}}}", "{'': 1}", "\t5", "{a: 1\n}", "[\n1\n]"),
    *("[a,\n\tb]", "{&a k: 1, b: *a}", "{'<<': 1}", "{<<: {<<: {a: 1}, b: 2}}"),
)
WORDS: Final = tuple(
    dict.fromkeys(
        (
            *(case(word) for word in _WORDS for case in _CASES),
            *(*_DIGITS, *_SIGNED, *_DATES, *_NULLS, *_QUOTED, *_PLAIN, *_BLOCKS, *_TAGS, *_FLOWS, *_ANCHORS),
        )
    )
)
ODD: Final = (
    *_words("""
    .inf -.inf +.Inf .INF .nan .NaN .NAN [.inf] *x @x `x %x "abc 'abc [a {a ] } - [,] [a,,b]
    """),
    *("!!int abc", "!!int 1.5", "!!float x", "!!bool maybe", "!!null x", "!!binary =", "!!binary ****"),
    *("!!binary 'aGVs bG8='", "!!int 1e3", "!!int 089", "{~: 1}", "{[a]: 1}", "{{a: 1}: 1}", "{? {a: b} : c}", "{<<: 5}"),
    *("{<<: [1]}", "{<<: ~}", "&a [*a]", "[&a {b: 1}, {*a : 1}]", "b: c", ", a", "a: b: c", "|x\n  a\n", "|0\n  a\n"),
    *('"\\ud800"', '"\\q"', '"\\x4"', "\x07", "\x7f", "\x00", "\x80", "\ufffe", "'a' b", '"a" b', "[a] b", "!<unclosed 5"),
    *("!bad!tag 5", "- a", "? a", "a\n\tb", '"\\ud83d\\ude00"', "a\u2028b", "a\x85b", "{a: &x |-\n  t\n}", "|\n\ta\n"),
    *("|\n  a\n b\n", ">\n a\n\tb\n", "{<<: *nowhere}", "&a &b 5", "!!str !!int 5", "{a: &x [*x]}"),
)
HEAD: Final = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\nmetadata:\n  name: t\n"
_JSON: Final = '"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "t"}'
DOCUMENTS: Final = (
    f"{HEAD}x: 1\n",
    f"\ufeff{HEAD}x: 1\n",
    f"---\n{HEAD}x: 1\n",
    f"---\n{HEAD}x: 1\n...\n",
    f"--- # told\n{HEAD}x: 1\n",
    f"# told\n\n---\n{HEAD}x: 1\n---\n",
    f"{HEAD}x: 1\n---\n{HEAD}x: 2\n",
    f"{HEAD}x: 1\n---\n---\n{HEAD}x: 2\n",
    f"{HEAD}x: 1\n--- \n{HEAD}x: 2\n",
    f"{HEAD}x: 1\n---\t\n{HEAD}x: 2\n",
    f"{HEAD}x: 1\n--- # more\n{HEAD}x: 2\n",
    f"{HEAD}x: 1\n...\n---\n{HEAD}x: 2\n",
    f"{HEAD}x: |\n  ---\n  a\n",
    f"{HEAD}x: |\n  a\n---\n{HEAD}x: 2\n",
    f"{HEAD}x: 1\n...\n",
    f"{HEAD}x: 1\n---x\n",
    f"{HEAD}x: 1\ny:\n- a\n- b\n",
    f"{HEAD}x: 1\ny:\n  - a\n  -\n    b: c\n",
    f"{HEAD}\tx: 1\n",
    f"{HEAD}x:\t1\n",
    f"{HEAD}x: 1\t\n",
    f"{HEAD}x: 1 # told\t\n\t\n",
    f"{HEAD}x: 1".replace("\n", "\r\n"),
    f"{HEAD}x: |\n  a\n  b\n".replace("\n", "\r\n"),
    f"{HEAD}x: 1".replace("\n", "\r"),
    f"{HEAD}x: 1",
    f"  {HEAD}x: 1".replace("\n", "\n  "),
    f"---\n---\n{HEAD}x: 1\n---\n# nothing\n---\n",
    f'{HEAD}"x": 1\n',
    f"{HEAD}? x\n: 1\n",
    f"{HEAD}x : 1\n",
    f"{HEAD}5: 1\nyes: 2\n~: 3\n",
    f"{HEAD}5: 1\nyes: 2\n0x10: 3\n",
    f'{{{_JSON}, "x": 1}}',
    f'{{{_JSON}, "x": [1e3, 1E3, 1.0, -0, -0.0, 1e400]}}',
    f'{{{_JSON}, "x": [1e3, 1E3, 1.0, -0, -0.0, 18446744073709551616]}}',
    f'{{{_JSON}, "x": 1,}}',
    f'{{{_JSON}, "x": yes}}',
    f'{{{_JSON}, "x": 01}}',
    f'{{{_JSON}, "x": NaN}}',
)

# Where we differ on purpose, or where nobody would write it: text (a word after `x: `, or a whole document) -> why.
_TWICE: Final = "kubectl keeps the last of equal keys; a strict server refuses, and so do we"
_LIKE_NUMBERS: Final = "keys that are doubles: kubectl rounds them to 32 bits and writes them with an exponent"
_DIRECTIVE: Final = (
    "kubectl splits documents before it parses them, and so loses directives; for us they belong to the document behind them"
)
DIFFERENT: Final = {
    "{a: 1, a: 2}": _TWICE,
    '{1: a, "1": b}': _TWICE,
    "{yes: 1, true: 2}": _TWICE,
    "{.inf: 1}": "no infinity can be written in an object, and none is taken as a key",
    "!!binary /w==": "bytes that are no text: kubectl puts a replacement character in their place, we say so",
    r'"a\/b"': "an escape of YAML 1.2, which kubectl does not know",
    "! 5": "a tag that means text; libyaml drops it before anybody sees it",
    "{18446744073709551615: 1}": "kubectl has no key of that size",
    "{18446744073709551616: 1}": _LIKE_NUMBERS,
    "{100000000.0: 1}": _LIKE_NUMBERS,
    "{1.5e300: 1}": _LIKE_NUMBERS,
}
DIFFERENT_DOCUMENTS: Final = {
    f"{HEAD}x: 1\ny: [a]\nx: 2\n": _TWICE,
    f'{{{_JSON}, "x": 1, "x": 2}}': _TWICE,
    f"%YAML 1.1\n---\n{HEAD}x: 017\n": _DIRECTIVE,
    f"%TAG ! tag:example.com,2026:\n---\n{HEAD}x: !a 5\n": _DIRECTIVE,
    f"{HEAD}x: 1\n...\nmore\n": "kubectl ignores what stands behind the end of a document; we say that it is lost",
    f'{{{_JSON}, "x": "\\ud800"}}': "half a character: kubectl puts a replacement character in its place, we say so",
}


@pytest.fixture(scope="module")
def plane(planes: Planes) -> Iterator[ControlPlane]:
    """An API server that knows the one kind of all documents."""
    with planes.lend() as lent:
        install(lent, build("DynamoModel", line=Line.V1_2))
        yield lent


Read: TypeAlias = list[str] | None  # the documents as JSON in one spelling; None for what is refused


def _document(word: str) -> str:
    return f"{HEAD}x: {word}\n"


def _kubectl(plane: ControlPlane, text: str) -> tuple[Read, str]:
    """What kubectl reads, and what it says where it can't."""
    done = plane.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", input=text)
    return (None if done.code else [spelt(obj) for obj in _objects(done.stdout)]), done.stderr


def _objects(output: str) -> Iterator[Any]:
    """The objects of an output, without what kubectl adds: the default namespace."""
    decoder, rest = json.JSONDecoder(), output.strip()
    while rest:
        document, end = decoder.raw_decode(rest)
        for obj in document["items"] if document["kind"] == "List" else [document]:
            del obj["metadata"]["namespace"]
            yield obj
        rest = rest[end:].strip()


def _ours(text: str) -> Read:
    try:
        return [spelt(document.data) for document in load_documents(text)]
    except InputError:
        return None


def spelt(value: Any) -> str:
    """A value in one spelling."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    """A value with numbers as an API server keeps them: integers of 64 bits, doubles for all others."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if type(value) is int and not -(2**63) <= value < 2**63:
        return float(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def _disagreements(plane: ControlPlane, texts: Iterable[str]) -> Iterator[str]:
    """Reads each text with a kubectl of its own."""
    texts = list(texts)
    with ThreadPoolExecutor(2) as pool:
        for text, (theirs, message) in zip(texts, pool.map(lambda text: _kubectl(plane, text), texts), strict=True):
            if (ours := _ours(text)) != theirs:
                yield f"{text.removeprefix(HEAD)!r}: kubectl {message if theirs is None else theirs}, we {ours}"


def test_words_are_read_alike(plane: ControlPlane) -> None:
    """Several hundred in one go."""
    assert len(WORDS) > 380
    theirs, message = _kubectl(plane, "---\n".join(map(_document, WORDS)))
    assert theirs is not None, message
    ours = [(_ours(_document(word)) or ["refused"])[0] for word in WORDS]
    wrong = [f"{word!r}: kubectl {there}, we {here}" for word, there, here in zip(WORDS, theirs, ours, strict=True) if there != here]
    assert wrong == []


def test_what_kubectl_refuses_we_refuse(plane: ControlPlane) -> None:
    assert len(ODD) > 60
    assert [word for word in ODD if _ours(_document(word)) is not None] == []
    assert list(_disagreements(plane, map(_document, ODD))) == []


def test_documents_are_read_alike(plane: ControlPlane) -> None:
    """Markers, directives, line ends, byte order marks, JSON."""
    assert list(_disagreements(plane, DOCUMENTS)) == []


@pytest.mark.parametrize(
    "named", [{_document(word): why for word, why in DIFFERENT.items()}, DIFFERENT_DOCUMENTS], ids=["words", "documents"]
)
def test_the_list_of_differences_is_current(plane: ControlPlane, named: dict[str, str]) -> None:
    """What agrees today is taken off the list."""
    assert len(list(_disagreements(plane, named))) == len(named)
