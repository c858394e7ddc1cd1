"""What holds for any object in any style: the values are those that were asked for, and whatever is unchanged keeps its text.

Comments stay with what they are about while items of lists come, go and change places. Values written from nothing have the same bytes as
PyYAML's, which takes ten times as long.
"""

import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.cli.commands.convert.run import convert_text
from dynamo_webhooks.cli.commands.convert.served import convert_as_served
from dynamo_webhooks.cli.rewrite.align import match_partners
from dynamo_webhooks.cli.rewrite.emit import _dumped, emit_yaml
from dynamo_webhooks.cli.rewrite.rewrite import rewrite
from dynamo_webhooks.cli.rewrite.tree import is_same_json
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.objects import target
from tests.cli.rewrite.styles import COMMENT, Writer, habits
from tests.cli.sizes import by_day_and_night
from tests.golden.upstream import CONVERTED, RECORDED, manifests
from tests.laws.conftest import SEED
from tests.laws.dice import Dice, Draw
from tests.laws.strategies import PAIRS, make_object
from tests.rows import run_each

TRIED = by_day_and_night("tried", 12, 40)  # objects a kind and version
FOREIGN = "# of a stranger\r\nkind:   ConfigMap  # odd\r\ndata: {a: 'b' , c: [1,2]}\r\n\t\n\n"


def _object(draw: Draw, kind: str, version: str) -> dict[str, Any]:
    return make_object(draw, kind, version, odd=draw(3) == 2, hostile=draw(8) == 7)


def _there_and_back(draw: Draw, kind: str, version: str) -> None:
    obj, other = _object(draw, kind, version), LEFT if version == RIGHT else RIGHT
    text = Writer(draw, habits(draw)).text(obj)
    (read,) = load_documents(text)
    assert is_same_json(read.data, obj)
    there = convert_text("x", f"{FOREIGN}---\n{text}---\n{FOREIGN}", other, verify=False, line=Line.V1_2)
    if there.failures:
        assert there.text == f"{FOREIGN}---\n{text}---\n{FOREIGN}"
        return
    assert there.text.startswith(f"{FOREIGN}---\n")
    assert there.text.endswith(f"---\n{FOREIGN}")
    middle = there.text[len(FOREIGN) + 4 : -len(FOREIGN) - 4]
    expected = convert_as_served(read.data, target(f"nvidia.com/{other}", line=Line.V1_2)).object
    assert is_same_json(load_documents(middle)[0].data, expected)
    again = convert_text("x", there.text, other, verify=False, line=Line.V1_2)
    assert (again.text, again.converted) == (there.text, 0)
    back = convert_text("x", middle, version, verify=False, line=Line.V1_2)
    assert is_same_json(
        load_documents(back.text)[0].data, convert_as_served(expected, target(f"nvidia.com/{version}", line=Line.V1_2)).object
    )
    for before, after in ((text, there), (middle, back)):
        named = sum("comment" in note for note in after.notes)
        counts, kept = Counter(COMMENT.findall(before)), Counter(COMMENT.findall(after.text))
        assert not kept - counts  # none is written twice
        gone = counts - kept
        assert min(gone.total(), 1) <= named <= gone.total()


@TRIED
@run_each(("kind", "version"), PAIRS)
def test_files_go_there_and_back(kind: str, version: str, tried: int) -> None:
    for index in range(tried):
        _there_and_back(Dice(SEED, "files", kind, version, index), kind, version)


def _edits(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of keys and items that have neighbours; texts of several lines are left out, which take more than a line."""
    for step, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if len(value) > 1 and not (isinstance(below, str) and "\n" in below):
            yield (*path, step)
        yield from _edits(below, (*path, step))


def _around(obj: Any, path: Path) -> Any:
    for step in path[:-1]:
        obj = obj[step]
    return obj


def _lines(text: str) -> list[str]:
    """Lines without what moves when the first key of a list's item goes or comes."""
    return [line.lstrip(" -") for line in text.split("\n")]


def _within(some: list[str], lines: list[str]) -> bool:
    """Whether the lines hold some others in their order."""
    left = iter(lines)
    return all(line in left for line in some)


@TRIED
@run_each(("kind", "version"), PAIRS)
def test_an_edit_leaves_every_other_line_alone(kind: str, version: str, tried: int) -> None:
    for index in range(tried):
        draw = Dice(SEED, "edits", kind, version, index)
        obj = make_object(draw, kind, version)
        text = Writer(draw, habits(draw, brackets=False)).text(obj)
        paths = list(_edits(obj))
        path = paths[draw(len(paths))]
        removed = copy.deepcopy(obj)
        del _around(removed, path)[path[-1]]
        if isinstance(path[-1], str):
            less = rewrite(text, [removed])
            assert is_same_json(load_documents(less.text)[0].data, removed)
            assert _within(_lines(less.text), _lines(text))
            more = rewrite(less.text, [obj])
            assert is_same_json(load_documents(more.text)[0].data, obj)
            assert _within(_lines(less.text), _lines(more.text))
        if not isinstance(_around(obj, path)[path[-1]], (dict, list)):
            changed = copy.deepcopy(obj)
            _around(changed, path)[path[-1]] = "changed"
            after = rewrite(text, [changed])
            assert sum(line != other for line, other in zip(text.split("\n"), after.text.split("\n"), strict=True)) == 1
            assert not after.lost_comments
            assert is_same_json(load_documents(after.text)[0].data, changed)


_BESIDE = re.compile(r"(.*)# beside (w[0-9]+)")


class _Words:
    """Draws values all of whose words differ."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.count = 0

    def word(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def value(self, depth: int) -> Any:
        sort = self.draw(3) if depth < 4 else 0
        if sort == 1:
            return [self.value(depth + 1) for _ in range(1 + self.draw(4))]
        if sort == 2:
            named = {"name": self.word()} if self.draw(2) else {}
            return {**named, **{f"k{index}": self.value(depth + 1) for index in range(1 + self.draw(3))}}
        return self.word()

    def edited(self, value: Any) -> Any:
        """The value with items added, taken away and moved."""
        if isinstance(value, dict):
            return {key: self.edited(below) for key, below in value.items()}
        if not isinstance(value, list):
            return value
        items = [self.edited(item) for item in value]
        sort = self.draw(6)
        if sort == 1:
            items.insert(self.draw(len(items) + 1), self.value(2))
        if sort == 2 and len(items) > 1:
            del items[self.draw(len(items))]
        return items[::-1] if sort == 3 else items


@by_day_and_night("tried", 100, 300)
def test_comments_stay_beside_their_words(tried: int) -> None:
    for index in range(tried):
        words = _Words(Dice(SEED, "items", index))
        before = {"a": [words.value(1), words.value(1)], "b": words.value(0)}
        text = re.sub(r"(w[0-9]+)$", r"\1  # beside \1", emit_yaml(before), flags=re.MULTILINE)
        wanted = words.edited(before)
        done = rewrite(text, [wanted])
        (read,) = load_documents(done.text)
        assert read.data == wanted
        beside = [(match[1], match[2]) for match in map(_BESIDE.fullmatch, done.text.split("\n")) if match]
        assert len(beside) == len(set(beside))
        assert [word for line, word in beside if f"{word} " not in line and word in set(re.findall("w[0-9]+", str(wanted)))] == []


def test_long_lists_keep_their_places_and_a_second_of_a_kind_is_new() -> None:
    old = [f"w{index}" for index in range(1000)]
    assert match_partners(old[1:], old, list(range(999))) == list(range(999))
    assert match_partners(old[:2], old, [0, 1]) == [0, 1]
    assert match_partners(["x", "x"], ["x"], [0, 1]) == [0, None]


WORDS = (
    *("yes", "0123", "1e3", "1:30", "0o17", "0777", "1_000", ".inf", "2026-01-01", "~", "null", "", "=", "<<", "a: b", "- a", "#x", "a #b"),
    *("a\nb", "a\nb\n", "a\n\n", "\n", " a\nb", "a \nb", " x ", "|", "'", '"', "{}", "{{ .x }}", "%", "@", "!x", "&a", "*", "---", "\t"),
    *("x" * 300, "é", "\u0085", "\u2028"),
)
TEXTS = st.text(max_size=8) | st.sampled_from(WORDS)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8)


@given(VALUES)
@example({"a": [[["x", {"b": "c\nd\n"}], []], {"k": {}, "l": []}], "m": 1, "n": True, "o": 1.0, "p": -0.0, "q": 0.0})
@example([{"a": "x\ny"}, {"b" * 121: 1}])
@example({"k": "a\n\n"})
@example(dict.fromkeys(WORDS, "x"))
@example([*WORDS])
def test_it_is_what_pyyaml_writes(value: Any) -> None:
    assert emit_yaml(value) == _dumped(value)


@pytest.mark.parametrize(("files", "apart"), [(CONVERTED, 20), pytest.param(RECORDED, 40, marks=pytest.mark.nightly)])
def test_manifests_are_what_pyyaml_writes_and_read_as_the_same(files: tuple[tuple[str, str], ...], apart: int) -> None:
    kinds = {"DynamoGraphDeployment", "DynamoGraphDeploymentRequest", "DynamoCheckpoint"}
    some = [obj for _, obj in manifests(kinds, files)][::apart]
    assert len(some) > 5
    for manifest in some:
        text = emit_yaml(manifest)
        assert text == _dumped(manifest)
        assert load_documents(text)[0].data == manifest
