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
from dynamo_webhooks.cli.daemon.policies import read_policies
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.engine.judge import Judge
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES, route_path
from tests.cli.userrules.samples import FEW, GRAPH, OLDER, policy


def asked(
    tmp_path: Path,
    text: str,
    graph: str = GRAPH,
    user: str = "jane",
    facts: Facts = Facts(),  # noqa: B008 - immutable
    **more: Any,
) -> dict[str, Any]:
    (tmp_path / "p.yaml").write_text(text)
    settings = Settings(facts, policies=read_policies(str(tmp_path)))
    obj = yaml.safe_load(graph)
    version = obj["apiVersion"].rpartition("/")[2]
    request = {"uid": "u", "operation": "CREATE", "object": obj, "userInfo": {"username": user, "groups": ["authors"]}} | more
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


def test_the_dry_run_and_the_options_of_the_request_are_known(tmp_path: Path) -> None:
    text = policy("!request.dryRun && request.options.?fieldManager.orValue('') != 'helm' && request.options.kind == 'CreateOptions'")
    options = {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}
    assert asked(tmp_path, text)["allowed"]
    assert asked(tmp_path, text, dryRun=False, options=options)["allowed"]
    assert not asked(tmp_path, text, dryRun=True, options=options)["allowed"]
    assert not asked(tmp_path, text, options={**options, "fieldManager": "helm"})["allowed"]


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


def test_a_namespace_of_another_operator_is_judged_by_them_alone(tmp_path: Path) -> None:
    facts = Facts(operatorScope="cluster", excludedNamespaces=frozenset({"llm"}))
    assert "breaks few [user/few]" in asked(tmp_path, policy(), facts=facts)["status"]["message"]
    wrong, few = GRAPH.replace("replicas: 3", "replicas: -3"), policy()
    assert not asked(tmp_path, few, wrong)["allowed"]
    assert asked(tmp_path, few, wrong, facts=facts)["allowed"], "no rule is asked"


def test_the_reconciler_asks_them_too_but_not_about_the_user(tmp_path: Path) -> None:
    def refusal(text: str) -> str:
        (tmp_path / "p.yaml").write_text(text)
        return Judge(read_policies(str(tmp_path))).ask(yaml.safe_load(GRAPH), Facts())

    assert "breaks few [user/few]" in refusal(policy())
    assert refusal(policy(FEW.replace("3", "4"))) == ""
    assert refusal(policy("request.userInfo.username == 'max'")) == ""
    assert refusal(policy(kind="Check", expression="facts.grove")) == ""


def test_a_policy_about_v1alpha1_sees_what_an_annotation_keeps_for_it(tmp_path: Path) -> None:
    text = policy("!object.spec.services.exists(n, has(object.spec.services[n].ingress))").replace("- v1beta1", "- v1alpha1")
    kept = '{"spec": {"services": {"worker": {"ingress": {"enabled": true, "host": "chat"}}}}}'
    graph = GRAPH.replace("  name: chat\n", f"  name: chat\n  annotations: {{nvidia.com/dgd-spec: '{kept}'}}\n")
    assert asked(tmp_path, text)["allowed"]
    assert "breaks few [user/few]" in asked(tmp_path, text, graph)["status"]["message"]
