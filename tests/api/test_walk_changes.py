"""Pruning, defaulting and the dropping of nulls do to an object what the API server does, and say where."""

import copy
from typing import Any

import pytest

from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.api.walk.default import default, drop_nulls
from dynamo_webhooks.api.walk.prune import prune
from tests.api.admit import admit

NODE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "default": "a"},
                "maybe": {"type": "string", "default": "b", "nullable": True},
                "plain": {"type": "string"},
                "inner": {"type": "object", "properties": {"list": {"type": "array", "default": [1], "items": {"type": "integer"}}}},
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "properties": {"on": {"type": "boolean", "default": False}}},
                },
                "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": {"type": "object"}}},
                "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
                "texts": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
}


def paths(changed: tuple[Any, ...]) -> list[str]:
    return [format_path(path) for path in changed]


def changed(spec: Any, **metadata: Any) -> tuple[dict[str, Any], list[str]]:
    obj = {"metadata": metadata, "spec": spec}
    return obj, paths(prune(obj, NODE))


def test_unknown_fields_go_and_are_named() -> None:
    obj, gone = changed({"plain": "x", "typo": {"a": 1}, "inner": {"b": 1}, "map": {"k": {"c": 1}}, "items": [{"d": 1, "n": 2}]})
    assert obj["spec"] == {"plain": "x", "inner": {}, "map": {"k": {}}, "items": [{"n": 2}]}
    assert gone == ["spec.typo", "spec.inner.b", "spec.map[k].c", "spec.items[0].d"]


def test_free_form_parts_keep_all_but_what_their_own_schema_prunes() -> None:
    obj, gone = changed({"free": {"any": {"thing": [1]}, "known": {"x": 1}}, "embedded": {"any": 1, "metadata": {"name": "a", "y": 2}}})
    assert obj["spec"] == {"free": {"any": {"thing": [1]}, "known": {}}, "embedded": {"any": 1, "metadata": {"name": "a"}}}
    assert gone == ["spec.free.known.x", "spec.embedded.metadata.y"]


def test_lists_where_none_belongs_are_emptied_however_deep() -> None:
    deep: list[Any] = [{"a": 1}]
    for _ in range(2_000):
        deep = [deep]
    obj, gone = changed({"map": {"k": [{"x": {}}]}, "plain": deep})
    assert obj["spec"]["map"] == {"k": [{}]}
    assert gone[0] == "spec.map[k][0].x"
    assert len(gone) == 2


def test_defaults_fill_only_objects_that_are_present() -> None:
    obj: dict[str, Any] = {"spec": {"map": {"k": {}}, "items": [{}, {"n": 5}]}}
    assert paths(default(obj, NODE)) == ["spec.text", "spec.maybe", "spec.map[k].on", "spec.items[0].n"]
    assert obj["spec"] == {"text": "a", "maybe": "b", "map": {"k": {"on": False}}, "items": [{"n": 1}, {"n": 5}]}
    assert default({}, NODE) == ()


def test_defaulting_twice_changes_nothing_and_shares_nothing() -> None:
    obj: dict[str, Any] = {"spec": {"inner": {}}}
    default(obj, NODE)
    assert default(obj, NODE) == ()
    obj["spec"]["inner"]["list"].append(2)
    assert NODE["properties"]["spec"]["properties"]["inner"]["properties"]["list"]["default"] == [1]


def test_null_is_absent_unless_the_schema_takes_it() -> None:
    obj: dict[str, Any] = {"spec": {"text": None, "maybe": None, "plain": None, "map": {"k": None}, "free": {"x": None}, "texts": [None]}}
    default(obj, NODE)
    assert paths(drop_nulls(obj, NODE)) == ["spec.plain", "spec.map[k]"]
    assert obj["spec"] == {"text": "a", "maybe": None, "map": {}, "free": {"x": None}, "texts": [None]}


@pytest.mark.parametrize(
    ("spec", "dropped"),
    [
        ({"items": [{}, {"n": None}]}, ["spec.items[1].n"]),
        ({"map": {"k": {"on": None}}}, ["spec.map[k].on"]),
        ({"texts": [None]}, []),
        ({"plain": ""}, []),
    ],
)
def test_a_null_is_found_wherever_it_is_the_only_one(spec: dict[str, Any], dropped: list[str]) -> None:
    assert paths(drop_nulls({"spec": spec}, NODE)) == dropped


def test_an_admitted_object_is_its_own_answer() -> None:
    """Admitting what was admitted prunes, defaults and drops nothing more."""
    obj = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "a"}, "status": {"state": "failed"}}
    obj["spec"] = {"services": {"w": {"multinode": {}, "checkpoint": None, "x": 1}}}
    first = admit(obj, "DynamoGraphDeployment", "v1alpha1")
    assert first.object["spec"] == {"services": {"w": {"multinode": {"nodeCount": 2}}}}
    assert "status" not in first.object
    assert (paths(first.defaulted), paths(first.pruned), paths(first.dropped)) == (
        ["spec.services[w].multinode.nodeCount"],
        ["spec.services[w].x"],
        ["spec.services[w].checkpoint"],
    )
    second = admit(copy.deepcopy(first.object), "DynamoGraphDeployment", "v1alpha1")
    assert second == type(first)(first.object, (), (), (), ())


def test_an_update_keeps_the_old_status() -> None:
    obj: dict[str, Any] = {
        "kind": "DynamoModel",
        "metadata": {"name": "a"},
        "spec": {"modelName": "a", "baseModelName": "b"},
        "status": {"x": 1},
    }
    old = {**copy.deepcopy(obj), "status": {"readyEndpoints": 1}}
    assert admit(obj, "DynamoModel", "v1alpha1", old).object["status"] == {"readyEndpoints": 1}
