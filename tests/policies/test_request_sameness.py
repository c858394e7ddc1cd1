"""Requests: when two specs mean the same, and which versions an override of the graph may say.

The text that the Go operator 1.2 compares is in the recorded answers.
"""

from typing import Any

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.request.lock import asks_for_the_same
from dynamo_webhooks.policies.review import CREATE, Review


def pod(**spec: Any) -> dict[str, Any]:
    return {"overrides": {"profilingJob": {"template": {"spec": spec}}}}


SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "null": ({"model": "m", "image": None}, {"model": "m"}),
    "empty text": ({"model": "m", "image": ""}, {"model": "m"}),
    "nested empty text": ({"modelCache": {"pvcName": "c", "pvcModelPath": ""}}, {"modelCache": {"pvcName": "c"}}),
    "a whole float": ({"sla": {"ttft": 50.0}}, {"sla": {"ttft": 50}}),
    "order of typed fields": ({"model": "m", "image": "i"}, {"image": "i", "model": "m"}),
    "quantities of the job": (
        pod(containers=[{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}]),
        pod(containers=[{"name": "a", "resources": {"limits": {"cpu": 1}}}]),
    ),
    "empty lists of the job": ({"overrides": {"profilingJob": {"tolerations": []}}}, {"overrides": {"profilingJob": {}}}),
    "metadata of the job's template": (
        {"overrides": {"profilingJob": {"template": {"metadata": {}, "spec": {"hostname": "h"}}}}},
        pod(hostname="h"),
    ),
    "the mocker, off or silent": ({"features": {"mocker": {"enabled": False}}}, {"features": {"mocker": {}}}),
    "empty maps of the job": (pod(nodeSelector={}, overhead={}), pod()),
    "switches that are off anyway": (
        pod(hostNetwork=False, containers=[{"name": "a", "stdin": False}]),
        pod(containers=[{"name": "a"}]),
    ),
    "numbers that are zero anyway": (
        pod(containers=[{"livenessProbe": {"periodSeconds": 0}}]),
        pod(containers=[{"livenessProbe": {}}]),
    ),
    "fields that nobody knows": ({"hardware": {"colour": "green"}, **pod(colour="green")}, {"hardware": {}, **pod()}),
    "an empty block": ({"model": "m", "hardware": {}}, {"model": "m"}),
    "blocks that hold nothing": ({"features": {"mocker": {}}}, {}),
    "order of keys in a free part": ({"features": {"planner": {"a": 1, "b": 2}}}, {"features": {"planner": {"b": 2, "a": 1}}}),
    "spelling of numbers in a free part": ({"overrides": {"dgd": {"spec": {"a": 1.0}}}}, {"overrides": {"dgd": {"spec": {"a": 1}}}}),
}
DIFFERENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a value": ({"model": "m"}, {"model": "n"}),
    "zero is not absent": ({"workload": {"isl": 0}}, {"workload": {}}),
    "true is not 1": ({"features": {"planner": {"a": True}}}, {"features": {"planner": {"a": 1}}}),
    "null in a free part": ({"features": {"planner": {"a": None}}}, {"features": {"planner": {"b": None}}}),
    "an empty planner switches it on": ({"features": {"planner": {}}}, {}),
    "order of a list": ({"overrides": {"dgd": {"a": [1, 2]}}}, {"overrides": {"dgd": {"a": [2, 1]}}}),
    "a label without a value": (pod(nodeSelector={"gpu": ""}), pod(nodeSelector={})),
    "a user that is root is not an unset one": (pod(securityContext={"runAsUser": 0}), pod(securityContext={})),
    "a switch without a default": ({"hardware": {"rdma": False}}, {"hardware": {}}),
    "labels of the job's template": (
        {"overrides": {"profilingJob": {"template": {"metadata": {"labels": {"a": "1"}}}}}},
        {"overrides": {"profilingJob": {"template": {"metadata": {"labels": {"a": "2"}}}}}},
    ),
    "an empty selector selects all": ({"overrides": {"profilingJob": {"selector": {}}}}, {"overrides": {"profilingJob": {}}}),
}


def test_specs_are_the_same_by_what_they_mean() -> None:
    assert [
        (what, answers)
        for what, (spec, other) in (SAME | DIFFERENT).items()
        if (answers := [asks_for_the_same(spec, other, line) for line in Line]) != [what in SAME] * len(Line)
    ] == []


def test_what_line_1_5_adds_is_different_there_alone() -> None:
    spec, other = {"model": "m"}, {"model": "m", "runtimeVersionOverride": "1.5.0"}
    assert [asks_for_the_same(spec, other, line) for line in (Line.V1_2, Line.V1_5)] == [True, False]


def test_an_override_names_a_version_of_our_group(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, bool]] = [
        ("nvidia.com/v1beta1", True),
        ("nvidia.com/v1alpha1", True),
        ("nvidia.com/", False),
        ("nvidia.com", False),
        ("/v1beta1", False),
        ("v1", False),
    ]
    for version, fine in rows:
        with subtests.test(version=version, fine=fine):
            spec = {"model": "m", "overrides": {"dgd": {"apiVersion": version, "kind": "DynamoGraphDeployment"}}}
            errors = evaluate(Review("DynamoGraphDeploymentRequest/v1beta1", CREATE, {"spec": spec}, facts=Facts(operatorScope="cluster")))
            assert [(finding.rule.name, finding.path[-1]) for finding in errors] == ([] if fine else [("dgdr-override-kind", "apiVersion")])
