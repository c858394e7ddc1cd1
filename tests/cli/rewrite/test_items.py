"""Comments stay with what they are about while items of lists come, go and change places."""

import re
from typing import Any

import pytest

from dynamo_webhooks.cli.rewrite.emit import emit_yaml
from dynamo_webhooks.cli.rewrite.match_items import partners
from dynamo_webhooks.cli.rewrite.rewrite import rewrite
from dynamo_webhooks.cli.yaml.load import load_documents
from tests.laws.conftest import SEED
from tests.laws.dice import Dice, Draw

TRIED = 300
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


def test_comments_stay_beside_their_words() -> None:
    for index in range(TRIED):
        words = _Words(Dice(SEED, "items", index))
        before = {"a": [words.value(1), words.value(1)], "b": words.value(0)}
        text = re.sub(r"(w[0-9]+)$", r"\1  # beside \1", emit_yaml(before), flags=re.MULTILINE)
        wanted = words.edited(before)
        done = rewrite(text, [wanted])
        (read,) = load_documents(done.text)
        assert read.data == wanted
        beside = [(found[1], found[2]) for found in map(_BESIDE.fullmatch, done.text.split("\n")) if found]
        assert len(beside) == len(set(beside))
        assert [word for line, word in beside if f"{word} " not in line and word in set(re.findall("w[0-9]+", str(wanted)))] == []


A, B = {"name": "a", "x": "1"}, {"name": "b", "x": "1"}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ([A, B], [A, B], [0, 1]),
        ([B], [A, B], [1]),
        ([{"name": "c"}, A], [A, B], [None, 0]),
        ([{"name": "b", "y": "2"}, A], [A, B], [1, 0]),
        ([{"name": "c", "x": "1"}, B], [A, B], [0, 1]),  # a new name, and nothing else
        ([{"name": "c", "x": "2"}, B], [A, B], [None, 1]),
        (["x", "z"], ["x", "y"], [0, 1]),
        (["z", "x", "y"], ["x", "y"], [None, 0, 1]),
        (["x", "x"], ["x"], [0, None]),
        ([], ["x"], []),
    ],
)
def test_which_item_was_which(new: list[Any], old: list[Any], expected: list[int | None]) -> None:
    assert partners(new, old, list(range(len(new)))) == expected


def test_long_lists_keep_their_places() -> None:
    old = [f"w{index}" for index in range(1000)]
    assert partners(old[1:], old, list(range(999))) == list(range(999))
    assert partners(old[:2], old, [0, 1]) == [0, 1]
