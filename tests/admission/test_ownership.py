"""Writes of requests through a version that doesn't own them: E10 to E16, E24a to E24d of what was measured of operator 1.7."""

import json
from typing import Any

import pytest

from dynamo_webhooks.admission.ownership import OwnerAnswer, judge_owner
from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.conversion.test_envelope import ALPHA, BETA, GAMMA, NATIVE, request

DEARER = {**NATIVE, "search": {"budget": {"maxRounds": 3, "parallelEvaluations": 1}}}
WRITTEN: dict[str, Any] = {"backend": "vllm", "profilingConfig": {"profilerImage": "example/planner:1.7.0"}}
DEFAULTS: dict[str, Any] = {"autoApply": False, "enableGpuDiscovery": True, "useMocker": False}


def asked(obj: Any, old: Any = None, purpose: str = "validate", **facts: Any) -> dict[str, Any]:
    operation = "CREATE" if old is None else "UPDATE"
    version = obj["apiVersion"].rpartition("/")[2]
    review = {"uid": "u", "operation": operation, "namespace": "n", "object": obj, "oldObject": old, "userInfo": {"username": "jane"}}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review}).encode()
    route = ROUTES[f"/{purpose}-nvidia-com-{version}-dynamographdeploymentrequest"]
    response: dict[str, Any] = json.loads(answer(route, body, Settings(Facts(**facts))).body)["response"]
    return response


@pytest.mark.parametrize(
    ("obj", "old"),
    [
        (request(GAMMA, NATIVE), None),  # E24a, by its own path
        (request(GAMMA, DEARER), request(GAMMA, NATIVE)),
        (request(GAMMA, {"v1beta1": {"model": "m"}}, a="b"), request(GAMMA, {"v1beta1": {"model": "m"}})),  # E24c
        (request(BETA, {"v1beta2": NATIVE}, labels={"a": "b"}), request(BETA, {"v1beta2": NATIVE})),  # E13
        (request(BETA, {"v1beta2": {"a": 1.0, "b": [2]}}), request(BETA, {"v1beta2": {"b": [2], "a": 1}})),  # E11
        (request(ALPHA, {"v1beta2": NATIVE, **DEFAULTS}), request(ALPHA, {"v1beta2": NATIVE})),
        (request(ALPHA, {"model": "n", **WRITTEN}), request(ALPHA, {"model": "m", **WRITTEN}, {"state": "Pending"})),  # E24d
        (request(GAMMA), None),
        (request(GAMMA, "text"), request(GAMMA, None)),  # which its schema refuses
    ],
)
def test_the_owner_may_write_everything_and_others_what_changes_no_spec(obj: dict[str, Any], old: dict[str, Any] | None) -> None:
    assert asked(obj, old)["allowed"], asked(obj, old)


@pytest.mark.parametrize(
    ("obj", "old", "field"),
    [
        (request(BETA, {"v1beta2": NATIVE}), None, "spec.v1beta2"),
        (request(ALPHA, {"v1beta2": NATIVE}), None, "spec.v1beta2"),  # E10
        (request(BETA, {"v1beta2": DEARER}), request(BETA, {"v1beta2": NATIVE}), "spec.v1beta2"),  # E12
        (request(BETA, {"v1beta2": {"a": True}}), request(BETA, {"v1beta2": {"a": 1}}), "spec.v1beta2"),
        (request(BETA, {"model": "m", "v1beta2": NATIVE}), request(BETA, {"v1beta2": NATIVE}), "spec.v1beta2"),  # TA1
        (request(BETA, {"model": "m"}), request(BETA, {"v1beta2": NATIVE}), "spec.v1beta2"),
        (request(BETA, {"v1beta2": NATIVE}), request(BETA, {"model": "m"}), "spec.v1beta2"),
        (request(GAMMA, {"v1beta1": {"model": "m"}}), None, "spec.v1beta1"),
        (request(GAMMA, {"v1beta1": {"model": "n"}}), request(GAMMA, {"v1beta1": {"model": "m"}}), "spec.v1beta1"),  # E24b
        (request(GAMMA, NATIVE), request(GAMMA, {"v1beta1": {"model": "m"}}), "spec.v1beta1"),
    ],
)
def test_a_spec_is_changed_only_through_its_owner(obj: dict[str, Any], old: dict[str, Any] | None, field: str) -> None:
    response = asked(obj, old)
    assert not response["allowed"]
    [cause] = response["status"]["details"]["causes"]
    assert (cause["field"], cause["reason"], response["status"]["code"]) == (field, "FieldValueForbidden", 422)
    assert f"nvidia.com/{field[5:]}" in cause["message"]
    assert asked(obj, old, operatorScope="cluster", excludedNamespaces=frozenset({"n"}))["allowed"]


@pytest.mark.parametrize("version", [ALPHA, BETA, GAMMA])
@pytest.mark.parametrize("obj", ["text", 5, [], None, True])
def test_what_is_no_object_has_no_owner(obj: Any, version: str) -> None:
    assert judge_owner("DynamoGraphDeploymentRequest", version, obj, obj) in (None, OwnerAnswer())


@pytest.mark.parametrize("old", [None, request(BETA, {"v1beta2": NATIVE})])
def test_nothing_is_defaulted_beside_an_envelope(old: dict[str, Any] | None) -> None:
    assert "patch" not in asked(request(BETA, {"v1beta2": NATIVE}), old, "mutate")  # E15, E16


def test_a_request_of_v1beta1_is_judged_as_ever() -> None:
    assert not asked(request(BETA, {"model": "m", "sla": {"ttft": -1}}))["allowed"]
    assert asked(request(BETA, {"model": "m"}), purpose="mutate", operatorVersion="1.6.0")["patch"]  # E14
