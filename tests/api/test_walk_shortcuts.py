"""No shortcut of the walks changes an answer: objects of all sorts are admitted with the shortcuts and without them."""

import copy
import importlib
from typing import Any

import pytest

from dynamo_webhooks.api.walk.admit import admit
from tests.laws.dice import Dice
from tests.laws.strategies import PAIRS, make_object, wild

OBJECTS = 40  # of each kind and version; half of them fit their types


def _objects(kind: str, version: str) -> list[dict[str, Any]]:
    found = []
    for number in range(OBJECTS):
        dice = Dice("shortcuts", kind, version, number)
        made = make_object(dice, kind, version, odd=True)
        found.append(wild(dice, made) if number % 2 else made)
    return found


def _long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part is entered, whether it has something to do or not."""
    for name in ("default", "correlate", "metadata"):
        monkeypatch.setattr(importlib.import_module(f"dynamo_webhooks.api.walk.{name}"), "is_relevant", lambda *_: True)
    monkeypatch.setattr(importlib.import_module("dynamo_webhooks.api.walk.validate"), "_accepts", lambda *_: False)
    monkeypatch.setattr(importlib.import_module("dynamo_webhooks.api.walk.admit"), "is_tidy", lambda *_: False)


@pytest.mark.parametrize(("kind", "version"), PAIRS)
def test_the_long_way_gives_the_same_answers(monkeypatch: pytest.MonkeyPatch, kind: str, version: str) -> None:
    made = _objects(kind, version)
    olds = [None if number % 3 else made[number - 1] for number in range(OBJECTS)]

    def answers() -> list[Any]:
        return [admit(copy.deepcopy(obj), kind, version, copy.deepcopy(old)) for obj, old in zip(made, olds, strict=True)]

    short = answers()
    assert any(answer.errors for answer in short)
    _long_way(monkeypatch)
    assert answers() == short
