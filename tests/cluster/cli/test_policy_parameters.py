"""Parameters and Namespaces that policies read: `check --cluster` takes them from the cluster, the server from its folder; both decide as
the API server does, and what may not be read is not evaluated.
"""

import itertools
import json
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson
import pytest
import yaml

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.cli.daemon.policies import read_policies
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES, route_path
from tests.cluster.harness import ADMIN, USER, ControlPlane, Reply
from tests.cluster.objects import path_of
from tests.cluster.processes import wait_until

Node: TypeAlias = dict[str, Any]
LIMITS: Final[Node] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "limits", "namespace": "default", "labels": {"of": "limits"}},
    "data": {"most": "1"},
}
REFERENCES: Final[dict[str, Node]] = {
    "there": {"name": "limits"},
    "gone": {"name": "nothing"},
    "selected": {"selector": {"matchLabels": {"of": "limits"}}},
    "unselected": {"selector": {"matchLabels": {"of": "nothing"}}},
    "elsewhere": {"name": "limits", "namespace": "kube-system"},
}
KIND: Final = "DynamoGraphDeployment"


def _bound(name: str, spec: Node, **bound: Any) -> list[Node]:
    """A policy about the graph of its name, and its Binding."""
    rule = {"apiGroups": ["nvidia.com"], "apiVersions": ["v1beta1"], "operations": ["CREATE"], "resources": ["dynamographdeployments"]}
    spec = {**spec, "matchConstraints": {"resourceRules": [{**rule, "resourceNames": [name]}], **spec.get("matchConstraints", {})}}
    made = {"": spec, "Binding": {"policyName": name, "validationActions": ["Deny"], **bound}}
    version, kind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
    return [{"apiVersion": version, "kind": f"{kind}{end}", "metadata": {"name": name}, "spec": part} for end, part in made.items()]


def _policies() -> dict[str, list[Node]]:
    """Policies with their Bindings by name; the last one refuses."""
    policies = {}
    for ref, missing, level, fails in itertools.product(REFERENCES, ("Allow", "Deny"), ("Warn", "Deny"), ("Fail", "Ignore")):
        name = f"{ref}-{missing}-{level}-{fails}".lower()
        validation = {"expression": "object.spec.components.size() < int(params.data.most)", "message": f"too many for {name}"}
        spec = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "failurePolicy": fails, "validations": [validation]}
        policies[name] = _bound(name, spec, validationActions=[level], paramRef={**REFERENCES[ref], "parameterNotFoundAction": missing})
    chat, never = {"matchLabels": {"team": "chat"}}, {"expression": "false", "message": "never"}
    policies["by-selector"] = _bound("by-selector", {"matchConstraints": {"namespaceSelector": chat}, "validations": [never]})
    policies["by-object"] = _bound(
        "by-object", {"validations": [{"expression": "namespaceObject.metadata.?labels[?'team'] != optional.of('chat')"}]}
    )
    policies["zz-last"] = _bound("zz-last", {"validations": [never]})
    return policies


def _graph(name: str, namespace: str) -> Node:
    spec = {
        "components": [
            {"name": "w", "type": "worker", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "x/vllm:1.6.0"}]}}}
        ]
    }
    return {"apiVersion": "nvidia.com/v1beta1", "kind": KIND, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _create(plane: ControlPlane, obj: Node) -> Reply:
    return plane.request("POST", f"{path_of(obj)}?dryRun=All", obj)


@pytest.fixture(scope="module")
def judging(beta: ControlPlane) -> tuple[ControlPlane, str]:
    """An API server with the policies in force, and a namespace of the team chat."""
    beta.apply(LIMITS, *itertools.chain(*_policies().values()))
    wait_until(lambda: _create(beta, _graph("zz-last", "default")).status != 201, "the last policy being asked", beta.server)
    return beta, beta.namespace({"team": "chat"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the policies and without their parameters."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graphs").mkdir()
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "all.yaml").write_text(yaml.safe_dump_all(itertools.chain(*_policies().values())))
    (tmp_path / ".dynamo-webhooks.yaml").write_text("rules-from: [policies]\n")
    return tmp_path


def _graphs(namespaces: tuple[str, ...]) -> list[Node]:
    return [_graph(name, namespace) for name in _policies() for namespace in namespaces]


def test_what_a_policy_says_by_parameters_and_namespaces_is_what_the_api_server_says(
    judging: tuple[ControlPlane, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane, chat = judging
    graphs = _graphs(("default", chat))
    replies = [_create(plane, obj) for obj in graphs]
    (folder / "graphs" / "all.yaml").write_text(yaml.safe_dump_all(graphs))
    capsys.readouterr()
    words = ["--kubeconfig", str(plane.kubeconfig), "--context", ADMIN]
    main(["check", "graphs", "--cluster", *words, "--no-defaults", "--select", "user/", "--answer", "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["notEvaluated"] == []
    answered = {(row["object"]["name"], row["object"]["namespace"]): row for row in report["answers"]}
    refused = 0
    for graph, reply in zip(graphs, replies, strict=True):
        offline = answered[graph["metadata"]["name"], graph["metadata"]["namespace"]]
        online = (reply.status, reply.body["message"] if reply.status != 201 else "", reply.warnings)
        assert (offline["status"], offline["message"] if offline["status"] != 201 else "", tuple(offline["warnings"])) == online
        refused += reply.status != 201
    assert 20 < refused < len(graphs) - 20


def test_the_server_decides_as_the_api_server_by_what_its_folder_has(judging: tuple[ControlPlane, str], folder: Path) -> None:
    """It reads nothing from the cluster: its account may read neither ConfigMaps nor Namespaces."""
    plane, chat = judging
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": chat, "labels": {"team": "chat"}}}]
    namespaces.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    (folder / "policies" / "cluster.yaml").write_text(yaml.safe_dump_all([LIMITS, *namespaces]))
    settings = Settings(policies=read_policies(str(folder / "policies")).documents)
    for graph in _graphs(("default", chat)):
        request = {"uid": "u", "operation": "CREATE", "object": graph, "userInfo": {"username": "jane"}}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        route = ROUTES[route_path(KIND, "v1beta1", Purpose.VALIDATE)]
        response = json.loads(answer(route, orjson.dumps(review), settings).body)["response"]
        assert response["allowed"] == (_create(plane, graph).status == 201), graph["metadata"]


def test_a_parameter_that_may_not_be_read_is_not_evaluated_and_named(
    judging: tuple[ControlPlane, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane, chat = judging
    names = ("there-allow-warn-ignore", "gone-deny-deny-fail", "by-object")
    (folder / "graphs" / "all.yaml").write_text(yaml.safe_dump_all([_graph(name, chat) for name in names]))
    capsys.readouterr()
    words = ["--kubeconfig", str(plane.kubeconfig), "--context", USER]
    main(["check", "graphs", "--cluster", *words, "--no-defaults", "--select", "user/", "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    reasons = {note["object"]["name"]: note["reason"] for note in report["notEvaluated"]}
    for name, parameter in (("there-allow-warn-ignore", "limits"), ("gone-deny-deny-fail", "nothing")):
        forbidden = f'configmaps "{parameter}" is forbidden: User "{USER}" cannot get resource "configmaps"'
        assert reasons[name].startswith(f"its parameter, the ConfigMap {parameter} of namespace {chat}, can't be read: ")
        assert forbidden in reasons[name]
    assert [finding["rule"] for finding in report["findings"]] == ["user/by-object"]
