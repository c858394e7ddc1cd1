"""When two specs of a request are the same: by meaning for our lock, by their text for that of the Go operator 1.2."""

from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.request._sameness import same_meaning
from tests.golden.overlay.engine import profile_1_2

SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "null": ({"model": "m", "image": None}, {"model": "m"}),
    "empty text": ({"model": "m", "image": ""}, {"model": "m"}),
    "nested empty text": ({"modelCache": {"pvcName": "c", "pvcModelPath": ""}}, {"modelCache": {"pvcName": "c"}}),
    "a whole float": ({"sla": {"ttft": 50.0}}, {"sla": {"ttft": 50}}),
    "order of typed fields": ({"model": "m", "image": "i"}, {"image": "i", "model": "m"}),
    "quantities of the job": (
        {"overrides": {"profilingJob": {"template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}]}}}}},
        {"overrides": {"profilingJob": {"template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}}]}}}}},
    ),
    "empty lists of the job": ({"overrides": {"profilingJob": {"tolerations": []}}}, {"overrides": {"profilingJob": {}}}),
    "metadata of the job's template": (
        {"overrides": {"profilingJob": {"template": {"metadata": {}, "spec": {"hostname": "h"}}}}},
        {"overrides": {"profilingJob": {"template": {"spec": {"hostname": "h"}}}}},
    ),
    "the mocker, off or silent": ({"features": {"mocker": {"enabled": False}}}, {"features": {"mocker": {}}}),
    "empty maps of the job": (
        {"overrides": {"profilingJob": {"template": {"spec": {"nodeSelector": {}, "overhead": {}}}}}},
        {"overrides": {"profilingJob": {"template": {"spec": {}}}}},
    ),
    "switches that are off anyway": (
        {"overrides": {"profilingJob": {"template": {"spec": {"hostNetwork": False, "containers": [{"name": "a", "stdin": False}]}}}}},
        {"overrides": {"profilingJob": {"template": {"spec": {"containers": [{"name": "a"}]}}}}},
    ),
    "numbers that are zero anyway": (
        {"overrides": {"profilingJob": {"template": {"spec": {"containers": [{"livenessProbe": {"periodSeconds": 0}}]}}}}},
        {"overrides": {"profilingJob": {"template": {"spec": {"containers": [{"livenessProbe": {}}]}}}}},
    ),
    "fields that nobody knows": (
        {"hardware": {"colour": "green"}, "overrides": {"profilingJob": {"template": {"spec": {"colour": "green"}}}}},
        {"hardware": {}, "overrides": {"profilingJob": {"template": {"spec": {}}}}},
    ),
}
SAME_IN_MEANING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an empty block": ({"model": "m", "hardware": {}}, {"model": "m"}),
    "blocks that hold nothing": ({"features": {"mocker": {}}}, {}),
    "order of keys in a free part": (
        {"features": {"planner": {"a": 1, "b": 2}}},
        {"features": {"planner": {"b": 2, "a": 1}}},
    ),
    "spelling of numbers in a free part": ({"overrides": {"dgd": {"spec": {"a": 1.0}}}}, {"overrides": {"dgd": {"spec": {"a": 1}}}}),
}
DIFFERENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a value": ({"model": "m"}, {"model": "n"}),
    "zero is not absent": ({"workload": {"isl": 0}}, {"workload": {}}),
    "true is not 1": ({"features": {"planner": {"a": True}}}, {"features": {"planner": {"a": 1}}}),
    "null in a free part": ({"features": {"planner": {"a": None}}}, {"features": {"planner": {"b": None}}}),
    "an empty planner switches it on": ({"features": {"planner": {}}}, {}),
    "order of a list": ({"overrides": {"dgd": {"a": [1, 2]}}}, {"overrides": {"dgd": {"a": [2, 1]}}}),
    "a label without a value": (
        {"overrides": {"profilingJob": {"template": {"spec": {"nodeSelector": {"gpu": ""}}}}}},
        {"overrides": {"profilingJob": {"template": {"spec": {"nodeSelector": {}}}}}},
    ),
    "a user that is root is not an unset one": (
        {"overrides": {"profilingJob": {"template": {"spec": {"securityContext": {"runAsUser": 0}}}}}},
        {"overrides": {"profilingJob": {"template": {"spec": {"securityContext": {}}}}}},
    ),
    "a switch without a default": ({"hardware": {"rdma": False}}, {"hardware": {}}),
    "labels of the job's template": (
        {"overrides": {"profilingJob": {"template": {"metadata": {"labels": {"a": "1"}}}}}},
        {"overrides": {"profilingJob": {"template": {"metadata": {"labels": {"a": "2"}}}}}},
    ),
    "an empty selector selects all": (
        {"overrides": {"profilingJob": {"selector": {}}}},
        {"overrides": {"profilingJob": {}}},
    ),
}


def same_text(one: dict[str, Any], other: dict[str, Any], line: Line) -> bool:
    with profile_1_2():
        return same_meaning(one, other, line)


@pytest.mark.parametrize("line", Line)
@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_the_same_for_both(one: dict[str, Any], other: dict[str, Any], line: Line) -> None:
    assert same_meaning(one, other, line)
    assert same_text(one, other, line)


@pytest.mark.parametrize("line", Line)
@pytest.mark.parametrize(("one", "other"), SAME_IN_MEANING.values(), ids=SAME_IN_MEANING)
def test_the_same_in_meaning_only(one: dict[str, Any], other: dict[str, Any], line: Line) -> None:
    assert same_meaning(one, other, line)
    assert not same_text(one, other, line)


@pytest.mark.parametrize("line", Line)
@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_for_both(one: dict[str, Any], other: dict[str, Any], line: Line) -> None:
    assert not same_meaning(one, other, line)
    assert not same_text(one, other, line)


def test_what_line_1_5_adds_is_different_there_alone() -> None:
    one, other = {"model": "m"}, {"model": "m", "runtimeVersionOverride": "1.5.0"}
    assert same_meaning(one, other, Line.V1_2)
    assert not same_meaning(one, other, Line.V1_5)
