"""The quick answer is that of the phases, whatever stands at whichever place; and no shortcut of the walks changes an answer."""

import copy
import importlib
import itertools
from typing import Any

import orjson
import pytest

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import MARKS, Node, load_schema, resolve
from dynamo_webhooks.api.walk.validate import _accepts, _is_sound
from tests.api.admit import admit
from tests.hostile.values import VALUES
from tests.laws.dice import Dice
from tests.laws.strategies import PAIRS, make_object, wild

# beside those of every type: what has the members and the list types of our schemas, or does not
ASKED: list[Any] = [
    *VALUES,
    *(2**63, "1Gi", "a" * 300, "vllm", 2**31, [{}] * 40, ["x", "x"], ["x", "y"], {"x": None}),
    *([{"name": "x"}, {"name": "y"}], [{"name": "x"}, {"name": 1}, {}], [{"name": 0}], {"name": ""}),
    [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "UDP"}],
    [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "TCP"}],
    {"create": True},
    {"create": True, "size": "1Gi", "storageClass": "", "volumeAccessMode": ""},
    *({"config": {}}, {"size": 0}, {"disabled": True}),
]
DEEPEST = 6


def _nodes(node: Node, depth: int = 0) -> list[Node]:
    nodes = [node]
    meant = resolve(node)
    children = [*(meant.get("properties") or {}).values(), meant.get("items"), meant.get("additionalProperties")]
    for child in children if depth < DEEPEST else ():
        nodes += _nodes(child, depth + 1) if isinstance(child, dict) else []
    return nodes


def test_both_say_the_same_of_any_value_under_any_node(subtests: pytest.Subtests) -> None:
    seen: set[bytes] = set()
    for line, (kind, version) in itertools.product(Line, list_kind_versions()):
        with subtests.test(line=line, kind=kind, version=version):
            nodes = {orjson.dumps(node, option=orjson.OPT_SORT_KEYS): node for node in _nodes(load_schema(kind, version, line))}
            for node in (node for text, node in nodes.items() if text not in seen):  # most are the same on each line
                for value in ASKED:
                    assert _accepts(value, node) is _is_sound(copy.deepcopy(value), resolve(node)), (node, value)
            seen |= nodes.keys()
    assert len(seen) > 500, len(seen)


@pytest.mark.parametrize("mark", sorted(MARKS))
def test_a_mark_of_a_line_makes_no_node_slow(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(value: Any, node: Node) -> bool:
        raise AssertionError(f"{node} was asked of {value}")

    marked: Node = {mark: {"type": "integer"}}
    node = {"type": "object", "properties": {"a": {"type": "string", **marked}}, "additionalProperties": {"type": "integer"}, **marked}
    monkeypatch.setattr("dynamo_webhooks.api.walk.validate._is_sound", slow)
    assert _accepts({"a": "x", "b": 1}, node)


def test_keys_of_any_type_tell_items_apart() -> None:
    node: Node = {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}
    assert all(_accepts(right, node) for right in ([{"a": "x"}, {"a": ["x"]}, {}], [{"a": 1}, {"a": True}, {"a": "1"}]))
    assert not any(_accepts([{"a": wrong}] * 2, node) for wrong in (["x"], 1))


OBJECTS = 40  # of each kind and version; half of them fit their types


def _objects(kind: str, version: str) -> list[dict[str, Any]]:
    objects = []
    for number in range(OBJECTS):
        dice = Dice("shortcuts", kind, version, number)
        made = make_object(dice, kind, version, odd=True)
        objects.append(wild(dice, made) if number % 2 else made)
    return objects


def _long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part is entered, whether it has something to do or not."""
    for name in ("default", "correlate", "metadata"):
        monkeypatch.setattr(importlib.import_module(f"dynamo_webhooks.api.walk.{name}"), "is_relevant", lambda *_: True)
    monkeypatch.setattr(importlib.import_module("dynamo_webhooks.api.walk.validate"), "_accepts", lambda *_: False)
    monkeypatch.setattr(importlib.import_module("dynamo_webhooks.api.walk.admit"), "is_tidy", lambda *_: False)


def _answers(kind: str, version: str) -> list[Any]:
    made = _objects(kind, version)
    olds = [None if number % 3 else made[number - 1] for number in range(OBJECTS)]
    return [admit(obj, kind, version, copy.deepcopy(old)) for obj, old in zip(copy.deepcopy(made), olds, strict=True)]


def test_the_long_way_gives_the_same_answers(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    short = {pair: _answers(*pair) for pair in PAIRS}
    _long_way(monkeypatch)
    for pair, answers in short.items():
        with subtests.test(".".join(pair)):
            assert any(answer.errors for answer in answers)
            assert _answers(*pair) == answers
