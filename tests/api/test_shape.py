"""A partial value over another: maps by name, lists by their keys, others as a whole."""

from typing import Any

import pytest

from dynamo_webhooks.api.schema import resolve, whole_schema
from dynamo_webhooks.api.shape import merge

_SPEC = resolve(whole_schema("DynamoGraphDeployment", "v1beta1")["properties"]["spec"])
_POD = resolve(resolve(_SPEC["properties"]["components"]["items"])["properties"]["podTemplate"])


def _merged(base: Any, over: Any, node: Any = None) -> tuple[Any, list[Any]]:
    replaced: list[Any] = []
    return merge(base, over, node, replaced), replaced


def test_maps_are_merged_by_name_and_null_removes() -> None:
    rows: list[tuple[Any, Any, Any]] = [
        ({"a": 1, "b": {"c": 2}}, {"b": {"d": 3}}, {"a": 1, "b": {"c": 2, "d": 3}}),
        ({"a": 1, "b": 2}, {"a": None, "z": None}, {"b": 2}),
        ({}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {}}, {"a": {}}, {"a": {}}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ]
    assert [(base, over, merged) for base, over, out in rows if (merged := _merged(base, over)) != (out, [])] == []


def test_lists_are_merged_by_the_keys_of_the_schema_in_the_order_of_the_base() -> None:
    base = {"components": [{"name": "b", "replicas": 1}, {"name": "a", "type": "worker"}]}
    over = {"components": [{"name": "a", "replicas": 3}, {"name": "c"}, {"name": "b", "replicas": 2}]}
    merged = {"components": [{"name": "b", "replicas": 2}, {"name": "a", "type": "worker", "replicas": 3}, {"name": "c"}]}
    assert _merged(base, over, _SPEC) == (merged, [])


def test_a_key_that_an_item_leaves_out_has_the_default_of_the_schema() -> None:
    base = {"spec": {"containers": [{"name": "m", "ports": [{"containerPort": 1, "protocol": "TCP", "name": "p"}]}]}}
    over = {"spec": {"containers": [{"name": "m", "ports": [{"containerPort": 1, "hostPort": 2}]}]}}
    ports = [{"containerPort": 1, "protocol": "TCP", "name": "p", "hostPort": 2}]
    assert _merged(base, over, _POD) == ({"spec": {"containers": [{"name": "m", "ports": ports}]}}, [])


@pytest.mark.parametrize(
    ("base", "over"),
    [
        (["--a"], ["--b"]),
        ([{"name": "a"}, {"name": "a"}], [{"name": "a"}]),
        ([{"name": "a"}], [1]),
    ],
)
def test_what_has_no_keys_is_replaced_and_told(base: list[Any], over: list[Any]) -> None:
    assert _merged({"components": base}, {"components": over}, _SPEC) == ({"components": over}, [("components",)])
    assert _merged({"components": []}, {"components": over}, _SPEC) == ({"components": over}, [])


def test_sets_are_united_and_neither_side_changes() -> None:
    base, over = {"a": ["x"], "b": {"c": 1}}, {"a": ["y", "x"], "b": {"d": 2}}
    node = {"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-type": "set"}}}
    assert _merged(base, over, node) == ({"a": ["x", "y"], "b": {"c": 1, "d": 2}}, [])
    assert (base, over) == ({"a": ["x"], "b": {"c": 1}}, {"a": ["y", "x"], "b": {"d": 2}})


def test_depth_is_bounded() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert merge(deep, deep, None, [])
