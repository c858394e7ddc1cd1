"""Objects that this project converted before it knew the fields of operator 1.5: what it saved of them then comes home."""

import copy
import json
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target

ALPHA, BETA = "nvidia.com/v1alpha1", "nvidia.com/v1beta1"
OVERRIDE = {"apiVersion": "x/v1", "value": {"k": "v"}}


def former(kept: list[Any], spec: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A graph as v1alpha1, in the form in which an earlier release wrote it."""
    text = json.dumps({"kept": kept, "spec": {"components": [{"name": name} for name in names]} if names else {}, "version": 1})
    metadata = {"name": "g", "namespace": "llm", "annotations": {"nvidia.com/dgd-spec": text}}
    return {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


KEPT = [
    [["spec", "components", 1, "minAvailable"], 5],
    [["spec", "components", 0, "providerOverride"], OVERRIDE],
    [["spec", "components", 0, "experimental", "checkpoint", "enabled"], False],
    [["spec", "providerOverride"], OVERRIDE],
]
SPEC = {"services": {"b": {"checkpoint": {"enabled": True, "checkpointRef": "c"}}, "a": {"replicas": 2}}}


@pytest.mark.parametrize("line", list(Line))
def test_saved_values_come_home(line: Line) -> None:
    made = convert_object(former(KEPT, SPEC, ["b", "a"]), target(BETA, line)).object["spec"]
    b, a = made["components"]
    assert (b["name"], b["providerOverride"], b["experimental"]["checkpoint"]["checkpointRef"]) == ("b", OVERRIDE, "c")
    assert b["experimental"]["checkpoint"]["enabled"] is False
    assert (a["name"], a["minAvailable"], made["providerOverride"]) == ("a", 5, OVERRIDE)


def test_what_came_home_is_carried_by_lenses_from_then_on() -> None:
    beta = convert_object(former(KEPT, SPEC, ["b", "a"]), target(BETA, Line.V1_5)).object
    alpha = convert_object(beta, target(ALPHA, Line.V1_5)).object
    assert alpha["spec"]["services"]["a"]["minAvailable"] == 5
    assert "minAvailable" not in str(alpha["metadata"])
    assert convert_object(alpha, target(BETA, Line.V1_5)).object["spec"] == beta["spec"]


def test_an_edit_of_the_live_object_wins() -> None:
    edited = copy.deepcopy(former(KEPT, SPEC, ["b", "a"]))
    edited["spec"]["services"]["a"]["minAvailable"] = 1
    del edited["spec"]["services"]["b"]["checkpoint"]
    b, a = convert_object(edited, target(BETA, Line.V1_5)).object["spec"]["components"]
    assert a["minAvailable"] == 1
    assert "checkpoint" not in (b.get("experimental") or {})


def test_no_component_gets_the_value_of_one_that_is_gone() -> None:
    edited = copy.deepcopy(former(KEPT[:1], SPEC, ["b", "a"]))
    edited["spec"]["services"] = {"b": {}, "z": {}}
    made = convert_object(edited, target(BETA, Line.V1_5)).object["spec"]["components"]
    assert [(one["name"], one.get("minAvailable")) for one in made] == [("b", None), ("z", None)]


def test_a_status_comes_home_too() -> None:
    kept = [[["status", "components", "a", "scheduledReplicas"], 2], [["status", "placement"], {"state": "Partial"}]]
    alpha = former(kept, SPEC, ["b", "a"])
    alpha["status"] = {"services": {"a": {"replicas": 2}}, "state": "successful"}
    status = convert_object(alpha, target(BETA, Line.V1_5)).object["status"]
    assert (status["components"]["a"]["scheduledReplicas"], status["placement"]) == (2, {"state": "Partial"})


@pytest.mark.parametrize("value", ["x", None, [], {"a": 1}, 2**40])
def test_a_saved_value_of_a_wrong_type_is_left_out(value: Any) -> None:
    made = convert_object(former([[["spec", "components", 1, "minAvailable"], value]], SPEC, ["b", "a"]), target(BETA, Line.V1_5)).object
    assert made["spec"]["components"][1].get("minAvailable") is None
