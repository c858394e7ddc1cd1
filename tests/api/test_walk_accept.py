"""The quick answer is that of the phases, whatever stands at whichever place; and no shortcut of the walks changes an answer."""

import copy
import importlib
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.models.constraints import PVC_CREATE
from dynamo_webhooks.api.schema import MARKS, Node, load_schema, resolve
from dynamo_webhooks.api.walk.validate import _accepts, _is_sound
from tests.api.admit import admit
from tests.laws.dice import Dice
from tests.laws.strategies import PAIRS, make_object, wild

VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    2**63,
    1.0,
    1.5,
    "",
    "x",
    "1Gi",
    "a" * 300,
    [],
    {},
    [None],
    [1],
    ["x"],
    {"x": 1},
    {"x": None},
    [{}] * 40,
    ["x", "x"],
    ["x", "y"],
    [{"name": "x"}, {"name": "x"}],
    [{"name": "x"}, {"name": "y"}],
    [{"name": "x"}, {"name": 1}, {}],
    [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "UDP"}],
    [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "TCP"}],
    {"create": True},
    {"create": True, "size": "1Gi", "storageClass": "", "volumeAccessMode": ""},
    {"config": {}},
    {"size": 0},
    {"disabled": True},
    "vllm",
    2**31,
]
DEEPEST = 6
MAP: Node = {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}
RULED: Node = {"type": "object", "x-kubernetes-validations": [{"rule": PVC_CREATE.rule}]}


def _nodes(node: Node, depth: int = 0) -> list[Node]:
    found = [node]
    meant = resolve(node)
    children = [*(meant.get("properties") or {}).values(), meant.get("items"), meant.get("additionalProperties")]
    for child in children if depth < DEEPEST else ():
        found += _nodes(child, depth + 1) if isinstance(child, dict) else []
    return found


@pytest.mark.parametrize("line", Line)
@pytest.mark.parametrize(("kind", "version"), list_kind_versions())
def test_both_say_the_same_of_any_value_under_any_node(kind: str, version: str, line: Line) -> None:
    asked, distinct = 0, {id(node): node for node in _nodes(load_schema(kind, version, line))}
    for node in distinct.values():
        for value in VALUES:
            assert _accepts(value, node) is _is_sound(copy.deepcopy(value), resolve(node)), (node, value)
            asked += 1
    assert asked >= len(VALUES)


@pytest.mark.parametrize("mark", sorted(MARKS))
def test_a_mark_of_a_line_makes_no_node_slow(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(value: Any, node: Node) -> bool:
        raise AssertionError(f"{node} was asked of {value}")

    marked: Node = {mark: {"type": "integer"}}
    node = {"type": "object", "properties": {"a": {"type": "string", **marked}}, "additionalProperties": {"type": "integer"}, **marked}
    monkeypatch.setattr("dynamo_webhooks.api.walk.validate._is_sound", slow)
    assert _accepts({"a": "x", "b": 1}, node)


@pytest.mark.parametrize(
    ("node", "right", "wrong"),
    [
        ({"type": "object", "maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}),
        ({"type": "object", "minProperties": 1}, {"a": 1}, {}),
        ({"type": "array", "maxItems": 1}, [1], [1, 2]),
        ({"type": "array", "minItems": 1}, [1], []),
        ({"type": "object", "required": ["a"]}, {"a": None}, {"b": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "1"}),
        ({"type": "array", "items": {"type": "boolean"}}, [True], [True, 1]),
        ({"type": "integer", "format": "int32"}, 2**40, 2**63),
        ({"type": "string", "enum": ["a"]}, "a", "b"),
        ({"type": "integer", "minimum": 1}, 1, 0),
        ({"type": "integer", "maximum": 1}, 1, 2),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["a", "b"], ["a", "a"]),
        (MAP, [{"a": "x"}, {"a": "y"}], [{"a": "x"}, {"a": "x"}]),
        (MAP, [{"a": "x"}, {"a": ["x"]}, {}], [{"a": ["x"]}, {"a": ["x"]}]),
        (MAP, [{"a": 1}, {"a": True}, {"a": "1"}], [{"a": 1}, {"a": 1}]),
        (RULED, {"create": False}, {"create": True}),
    ],
)
def test_each_keyword_counts(node: Node, right: Any, wrong: Any) -> None:
    assert _accepts(right, node)
    assert not _accepts(wrong, node)
    assert not _is_sound(wrong, node)


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
