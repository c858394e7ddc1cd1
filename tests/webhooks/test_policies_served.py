"""Users' policies in the server: refusals, warnings, and what is unknown, by a request's body alone."""

import contextlib
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.cli.daemon.policies import read_policies
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.engine.judge import Judge
from dynamo_webhooks.webhooks import convert
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.policies import PolicySet
from dynamo_webhooks.webhooks.routes import ROUTES, route_path
from tests.cli.userrules.samples import FEW, GRAPH, OLDER, binding, policy
from tests.webhooks.processes import Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_facts_serving import stored
from tests.webhooks.test_processes import eventually, proc_only


def asked(
    tmp_path: Path,
    text: str,
    graph: str = GRAPH,
    user: str = "jane",
    facts: Facts = Facts(),  # noqa: B008 - immutable
    **more: Any,
) -> dict[str, Any]:
    (tmp_path / "p.yaml").write_text(text)
    settings = Settings(facts, policies=read_policies(str(tmp_path)).documents)
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


def test_a_converted_request_names_both_versions(tmp_path: Path) -> None:
    """A policy that matches v1beta1 judges a v1alpha1 object as such, and may see how it was sent."""
    text = policy("request.kind.version + request.resource.version + request.requestKind.version == 'v1beta1v1beta1v1alpha1'")
    assert asked(tmp_path, text, OLDER)["allowed"]
    assert not asked(tmp_path, text)["allowed"]


def test_what_is_unknown_is_decided_by_the_failure_policy(tmp_path: Path) -> None:
    needing = {"kind": "Check", "expression": "facts.grove"}
    assert "is not evaluated: the fact grove is not known" in asked(tmp_path, policy(**needing))["status"]["message"]
    assert asked(tmp_path, policy(**needing, failurePolicy="Ignore"))["allowed"]
    assert asked(tmp_path, policy(**needing), facts=Facts(grove=True))["allowed"]


def test_a_folder_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    assert read_policies("") == PolicySet()
    assert read_policies(str(tmp_path / "none")).problems == (f"serving.policies: must be a folder that exists, got {tmp_path}/none",)
    assert read_policies(str(tmp_path)) == PolicySet()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (policy("object.spec ==="), "p.yaml:18:31: spec.validations[0].expression: is not an expression of CEL"),
        (policy("1 + 'a' == 2"), "p.yaml:18:19: spec.validations[0].expression: is not an expression of CEL: found no matching overload"),
        (policy("pods.size() > 0", kind="Check"), "few: must not read pods, which the server does not know"),
        (policy(variables=[{"name": "a b", "expression": "1"}]), 'spec.variables[0].name: must be an identifier, got "a b"'),
    ],
)
def test_a_policy_that_can_not_be_used_concerns_what_it_matches_by_its_failure_policy(tmp_path: Path, text: str, problem: str) -> None:
    refused = asked(tmp_path, text)
    assert not refused["allowed"]
    assert problem.partition(": ")[2].partition(":")[0] in refused["status"]["message"]
    assert "[user/few]" in refused["status"]["message"]
    policies = read_policies(str(tmp_path))
    assert (policies.usable, len(policies.problems)) == (0, 1)
    assert problem in policies.problems[0]
    assert asked(tmp_path, text.replace("spec:\n", "spec:\n  failurePolicy: Ignore\n", 1))["allowed"]
    assert asked(tmp_path, text.replace("- dynamographdeployments", "- dynamomodels"))["allowed"]
    assert asked(tmp_path, text.replace("- CREATE", "- DELETE"), oldObject=None)["allowed"]


@pytest.mark.parametrize(
    "text",
    [
        policy().replace("resourceRules", "resourceRule"),  # nobody knows what it is about
        policy().replace("name: few", "name: Few"),
        policy(validations=[], auditAnnotations=[{"key": "a", "valueExpression": "'b'"}]),
        binding("none"),
        policy() + binding(actions=("Refuse",)),
        "a: [",
        "- 1\n- {}\n---\n--- text\n",
        policy() + binding(actions=("Warn",), paramRef={"name": "x", "parameterNotFoundAction": "Maybe"}),
    ],
)
def test_what_can_not_be_used_beside_a_policy_refuses_nothing_and_hides_nothing(tmp_path: Path, text: str) -> None:
    assert asked(tmp_path, text)["allowed"]
    (tmp_path / "other.yaml").write_text(policy(name="other"))
    assert asked(tmp_path, text)["status"]["message"].count("breaks other [user/other]") == 1
    policies = read_policies(str(tmp_path))
    assert policies.usable >= 1
    assert (policies.problems == ()) == ("auditAnnotations" in text or text.startswith("- 1"))


def test_a_parameter_that_is_not_there_lets_pass_what_its_binding_allows(tmp_path: Path) -> None:
    def with_parameter(action: str, level: str = "Deny", **spec: Any) -> dict[str, Any]:
        bound = binding(actions=(level,), paramRef={"name": "teams", "namespace": "llm", "parameterNotFoundAction": action})
        return asked(tmp_path, policy("params.data.a == 'b'", paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, **spec) + bound)

    assert with_parameter("Allow")["allowed"]
    assert (
        "must have its parameter, the ConfigMap teams of namespace llm, which does not exist" in with_parameter("Deny")["status"]["message"]
    )
    assert not with_parameter("Deny", "Warn")["allowed"], "as an API server, which does not only warn of a missing parameter"
    assert with_parameter("Deny", failurePolicy="Ignore")["allowed"]


@proc_only
def test_policies_change_without_a_restart_and_no_conversion_fails(tmp_path: Path) -> None:
    folder, broken = tmp_path / "policies", policy("object.spec ===", name="broken")
    file = stored(tmp_path, serving={"policies": str(folder)}, server={"metrics": {"secure": False}})
    with Command(tmp_path, "--config", file) as command:
        command.ready()

        def verdict() -> str:
            with contextlib.closing(command.connect()) as connection:
                assert ask(connection, "/convert", convert.example())["result"]["status"] == "Success"
                answered = ask(connection, GRAPHS, review(graph()))
            return str(answered.get("status", {}).get("message", ""))

        def report() -> str:
            return command.get("probes", "/readyz?verbose")[1]

        assert verdict() == ""
        assert "degraded: policies: serving.policies: must be a folder that exists" in report()
        folder.mkdir()
        for text, message, reported in (
            (policy("false"), "breaks few", "policies: 1 in force"),
            (policy("true"), "", "policies: 1 in force"),
            (policy("true") + "---\n" + broken, "can't be used", "degraded: policies: "),
            ("a: [", "", "degraded: policies: "),
            ("", "", "policies: 0 in force"),
        ):
            (folder / "p.yaml").write_text(text)
            eventually(lambda: (message in verdict()) if message else not verdict())  # noqa: B023 - called at once
            eventually(lambda: reported in report())  # noqa: B023 - as above
        assert "dynamo_webhooks_policies{digest=" in command.get("metrics", "/metrics")[1]


def test_a_namespace_of_another_operator_is_judged_by_them_alone(tmp_path: Path) -> None:
    facts = Facts(operatorScope="cluster", excludedNamespaces=frozenset({"llm"}))
    assert "breaks few [user/few]" in asked(tmp_path, policy(), facts=facts)["status"]["message"]
    wrong, few = GRAPH.replace("replicas: 3", "replicas: -3"), policy()
    assert not asked(tmp_path, few, wrong)["allowed"]
    assert asked(tmp_path, few, wrong, facts=facts)["allowed"], "no rule is asked"


def test_the_reconciler_asks_them_too_but_not_about_the_user(tmp_path: Path) -> None:
    def refusal(text: str) -> str:
        (tmp_path / "p.yaml").write_text(text)
        return Judge(lambda: read_policies(str(tmp_path)).documents).ask(yaml.safe_load(GRAPH), Facts())

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
