"""The quick answer of the schema phase is that of the slow one, whatever stands at whichever place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import pairs
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import MARKS, Node, load_schema, resolve
from dynamo_webhooks.api.walk import structure
from dynamo_webhooks.api.walk.accept import Acceptance

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
]
DEEPEST = 6


def _quick() -> Acceptance:
    return Acceptance(lambda value, node: next(structure._check((), value, node), None) is None)


def _nodes(node: Node, depth: int = 0) -> list[Node]:
    found = [node]
    meant = resolve(node)
    children = [*(meant.get("properties") or {}).values(), meant.get("items"), meant.get("additionalProperties")]
    for child in children if depth < DEEPEST else ():
        found += _nodes(child, depth + 1) if isinstance(child, dict) else []
    return found


@pytest.mark.parametrize("line", Line)
@pytest.mark.parametrize(("kind", "version"), pairs())
def test_both_say_the_same_of_any_value_under_any_node(kind: str, version: str, line: Line) -> None:
    quick, asked, distinct = _quick(), 0, {id(node): node for node in _nodes(load_schema(kind, version, line))}
    for node in distinct.values():
        for value in VALUES:
            slow = next(structure._check((), copy.deepcopy(value), resolve(node)), None)
            assert quick.of(value, node) is (slow is None), (node, value)
            asked += 1
    assert asked >= len(VALUES)


@pytest.mark.parametrize("mark", sorted(MARKS))
def test_a_mark_of_a_line_makes_no_node_slow(mark: str) -> None:
    def slow(value: Any, node: Node) -> bool:
        raise AssertionError(f"{node} was asked of {value}")

    marked: Node = {mark: {"type": "integer"}}
    node = {"type": "object", "properties": {"a": {"type": "string", **marked}}, "additionalProperties": {"type": "integer"}, **marked}
    assert Acceptance(slow).of({"a": "x", "b": 1}, node)


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
    ],
)
def test_each_keyword_counts(node: Node, right: Any, wrong: Any) -> None:
    quick = _quick()
    assert quick.of(right, node)
    assert not quick.of(wrong, node)
    assert next(structure._check((), wrong, node), None) is not None
