"""Users' policies in the server: refusals, warnings, and what is unknown, by a request's body alone."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.daemon.server import read_policies
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES, route_path
from tests.cli.userrules.samples import FEW, GRAPH, OLDER, policy


def asked(tmp_path: Path, text: str, graph: str = GRAPH, user: str = "jane", facts: Facts = Facts()) -> dict[str, Any]:  # noqa: B008 - immutable
    (tmp_path / "p.yaml").write_text(text)
    settings = Settings(facts, policies=read_policies(str(tmp_path)))
    obj = yaml.safe_load(graph)
    version = obj["apiVersion"].rpartition("/")[2]
    request = {"uid": "u", "operation": "CREATE", "object": obj, "userInfo": {"username": user, "groups": ["authors"]}}
    body = orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    route = ROUTES[route_path("DynamoGraphDeployment", version, Purpose.VALIDATE)]
    response: dict[str, Any] = json.loads(answer(route, body, settings).body)["response"]
    return response


@pytest.mark.parametrize(("graph", "field"), [(GRAPH, "spec.components[0].replicas"), (OLDER, "spec.services[worker].replicas")])
def test_a_policy_refuses_with_its_field_in_the_version_of_the_request(tmp_path: Path, graph: str, field: str) -> None:
    response = asked(tmp_path, policy(), graph)
    assert response["status"]["details"]["causes"] == [{"reason": "FieldValueInvalid", "message": "breaks few [user/few]", "field": field}]
    assert asked(tmp_path, policy(FEW.replace("3", "4")), graph)["allowed"]


def test_the_user_of_the_request_is_known(tmp_path: Path) -> None:
    text = policy("request.userInfo.username == 'jane' && 'authors' in request.userInfo.groups")
    assert (asked(tmp_path, text)["allowed"], asked(tmp_path, text, user="max")["allowed"]) == (True, False)


def test_what_is_unknown_is_decided_by_the_failure_policy(tmp_path: Path) -> None:
    needing = {"kind": "Check", "expression": "facts.grove"}
    assert "is not evaluated: the fact grove is not known" in asked(tmp_path, policy(**needing))["status"]["message"]
    assert asked(tmp_path, policy(**needing, failurePolicy="Ignore"))["allowed"]
    assert asked(tmp_path, policy(**needing), facts=Facts(grove=True))["allowed"]


def test_a_folder_or_policy_that_the_server_can_not_use_is_refused_at_its_start(tmp_path: Path) -> None:
    assert read_policies("") == ()
    with pytest.raises(UsageError, match="must be a folder that exists"):
        read_policies(str(tmp_path / "none"))
    (tmp_path / "p.yaml").write_text(policy("pods.size() > 0", kind="Check"))
    with pytest.raises(UsageError, match="few: must not read pods, which the server does not know"):
        read_policies(str(tmp_path))
