"""Two dozen policies say of two hundred graphs offline what an API server says: which of them refuse, with which words."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.cli.main import main
from tests.cluster.conversion import converting_plane
from tests.cluster.harness import ADMIN, ControlPlane, Reply
from tests.cluster.objects import path_of
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.writes import examples

Node: TypeAlias = dict[str, Any]
GROUP: Final = "admissionregistration.k8s.io"
_GRAPHS: Final = "dynamographdeployments"
_POD: Final = "c.podTemplate.spec"
_CONTAINERS: Final = f"(has(c.podTemplate) && has({_POD}) && has({_POD}.containers) ? {_POD}.containers : [])"


def _each(expression: str) -> str:
    return f"object.spec.components.all(c, {expression})"


def _containers(expression: str) -> str:
    return _each(f"{_CONTAINERS}.all(d, {expression})")


# name -> the expression, and what else the policy says
_V1BETA1: Final[dict[str, tuple[str, Node]]] = {
    "replica-limit": (_each("!has(c.replicas) || c.replicas <= 2"), {"message": "at most 2 replicas"}),
    "few-components": ("object.spec.components.size() <= 2", {"messageExpression": "'got ' + string(object.spec.components.size())"}),
    "short-names": ("object.metadata.name.size() <= 9", {"message": " a short name "}),
    "team-label": ("has(object.metadata.labels) && 'team' in object.metadata.labels", {"message": "label team", "reason": "Forbidden"}),
    "team-optional": ("object.metadata.?labels[?'team'].orValue('none') in ['chat', 'search']", {}),
    "no-annotations": ("!has(object.metadata.annotations) || object.metadata.annotations.size() == 0", {"message": "no annotations"}),
    "no-latest": (_containers("!has(d.image) || !d.image.endsWith(':latest')"), {"message": "no tag latest"}),
    "tagged": (_containers("!has(d.image) || d.image.contains(':')"), {"message": "a tag"}),
    "registry": (
        _containers("!has(d.image) || ['nvcr.io/', 'x/'].exists(r, d.image.startsWith(r))"),
        {"messageExpression": "'images of ' + object.metadata.name"},
    ),
    "no-privileged": (_containers("!has(d.securityContext) || !d.securityContext.?privileged.orValue(false)"), {}),
    "no-host-network": (_each(f"!has(c.podTemplate) || !has({_POD}) || !has({_POD}.hostNetwork) || !{_POD}.hostNetwork"), {}),
    "env-without-secrets": (
        _containers("!has(d.env) || d.env.all(e, !e.name.lowerAscii().contains('token') || has(e.valueFrom))"),
        {"message": "secrets by reference"},
    ),
    "gpu-quantity": (
        _containers(
            "!has(d.resources) || !has(d.resources.limits) || !('nvidia.com/gpu' in d.resources.limits) "
            "|| quantity(string(d.resources.limits['nvidia.com/gpu'])).isLessThan(quantity('2'))"
        ),
        {"message": "less than 2 GPUs"},
    ),
    "unique-types": ("object.spec.components.map(c, c.?type.orValue('')).filter(t, t == 'frontend').size() <= 1", {}),
    "one-worker": ("object.spec.components.exists_one(c, c.?type.orValue('worker') == 'worker')", {"message": "one worker"}),
    "fails-closed": ("object.spec.components[1].name != ''", {"message": "a second component"}),
    "reads-nothing": (_each("c.replicas < 100"), {}),
    "not-in-prod": ("request.operation != 'CREATE' || !request.namespace.startsWith('prod')", {"message": "not in prod"}),
    "by-request": ("request.kind.version in ['v1alpha1', 'v1beta1'] && request.resource.group == 'nvidia.com'", {}),
    "new-object": ("oldObject == null || object.spec == oldObject.spec", {"message": "no changes"}),
    "sorted-names": ("object.spec.components.map(c, c.name).isSorted()", {"message": "sorted"}),
    "joined-names": (
        "object.spec.components.map(c, c.name).join('-').size() < 12",
        {"messageExpression": "'%s is long: %d'.format([object.spec.components.map(c, c.name).join('-'), 12])"},
    ),
}
_V1ALPHA1: Final[dict[str, tuple[str, Node]]] = {
    "services-few": ("!has(object.spec.services) || object.spec.services.size() <= 1", {"message": "one service"}),
    "services-named": ("has(object.spec.services) && object.spec.services.all(k, k.lowerAscii() == k)", {"message": "lower case"}),
}
_EXTRA: Final[dict[str, Node]] = {
    "registry": {"matchConditions": [{"name": "several", "expression": "object.spec.components.size() > 1"}]},
    "reads-nothing": {"failurePolicy": "Ignore"},
    "few-components": {
        "variables": [
            {"name": "count", "expression": "object.spec.components.size()"},
            {"name": "most", "expression": "variables.count - 1"},
        ],
        "validations": [{"expression": "variables.most < 2", "messageExpression": "'got ' + string(variables.count)"}],
    },
    "tagged": {"matchConstraints": {"matchPolicy": "Exact"}},
    "no-latest": {"matchConstraints": {"objectSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}},
    "sorted-names": {"matchConstraints": {"namespaceSelector": {"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}}},
}  # fmt: skip


def _policy(name: str, constraints: Node, validations: list[Node], **more: Any) -> list[Node]:
    """A policy and its binding, which warns."""
    spec = {"matchConstraints": constraints, "validations": validations, **more}
    bound = {"policyName": name, "validationActions": ["Warn"]}
    return [
        {"apiVersion": f"{GROUP}/v1", "kind": f"ValidatingAdmissionPolicy{suffix}", "metadata": {"name": name}, "spec": part}
        for suffix, part in (("", spec), ("Binding", bound))
    ]


def policies() -> list[Node]:
    """All of them, each with a binding that warns, so that one write is judged by every one."""
    objects = []
    for version, table in (("v1beta1", _V1BETA1), ("v1alpha1", _V1ALPHA1)):
        for name, (expression, fields) in table.items():
            extra = dict(_EXTRA.get(name, {}))
            rule = {"apiGroups": ["nvidia.com"], "apiVersions": [version], "operations": ["CREATE", "UPDATE"], "resources": [_GRAPHS]}
            constraints = {"resourceRules": [rule], **extra.pop("matchConstraints", {})}
            validations = extra.pop("validations", [{"expression": expression, **fields}])
            objects += _policy(name, constraints, validations, **extra)
    return objects


GRAPHS: Final = 200
_WARNED: Final = re.compile(r"Validation failed for ValidatingAdmissionPolicy '([^']+)' with binding '[^']+': (.*)", re.DOTALL)
_PLURALS: Final = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies"}
NAMESPACE: Final = "default"
MADE: Final = 120
NEVER: Final = {"reads-nothing", "not-in-prod", "by-request", "new-object"}  # what no creation here breaks


@pytest.fixture(scope="module")
def judged(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server with both versions of graphs and all policies."""
    with converting_plane(planes, tmp_path_factory.mktemp("judged")) as (plane, _):
        assert {_post(plane, policy).status for policy in policies()} == {201}
        probe = {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "a-probe-of-everything", "namespace": NAMESPACE},
            "spec": {"components": [{"name": "Z", "type": "frontend", "replicas": 3}, {"name": "A"}, {"name": "b"}]},
        }
        wanted = {"short-names", "sorted-names", "services-named", "one-worker", "few-components"}
        wait_until(lambda: wanted <= set(_online(plane, probe) or ()), "all policies being asked", plane.server)
        yield plane


def _post(plane: ControlPlane, policy: Node) -> Reply:
    plural = _PLURALS.get(policy["kind"], "validatingadmissionpolicybindings")
    return plane.request("POST", f"/apis/{GROUP}/v1/{plural}", policy)


def _online(plane: ControlPlane, obj: Node) -> dict[str, str] | None:
    """What each policy says; None where the schema refuses the object."""
    reply = plane.request("POST", f"{path_of(obj)}?dryRun=All", obj)
    if reply.status != 201:
        return None
    matches = (_WARNED.fullmatch(warning) for warning in reply.warnings)
    return {match[1]: match[2] for match in matches if match is not None}


def _graphs() -> Iterator[Node]:
    """Graphs of both versions, each with a name of its own: made ones, which together break all policies, and examples of rules."""
    written = (write.object for write in examples() if write.old is None)
    for number, obj in enumerate((*(_made(number) for number in range(MADE)), *written)):
        if obj.get("kind") == "DynamoGraphDeployment" and isinstance(obj.get("spec"), dict):
            metadata: Node = obj.get("metadata") or {}
            named = {**metadata, "name": f"{'pq'[number % 2]}{'x' * (number % 9)}{number}", "namespace": NAMESPACE}
            labelled = {"labels": {"team": ("chat", "ops")[number % 2]}} if number % 3 == 0 else {}
            yield {**obj, "metadata": {**named, **labelled}}


def _made(number: int) -> Node:
    """A graph whose every field depends on its number."""
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"annotations": {"note": "x"}} if number % 4 == 0 else {},
        "spec": {"components": [_component(number, place) for place in range(1 + number % 4)]},
    }


def _component(number: int, place: int) -> Node:
    dice = number * 7 + place * 3
    gpus = {"nvidia.com/gpu": str(dice % 4)} if dice % 5 else {"memory": "1Gi"}
    main = {
        "name": "main",
        "image": ("x/vllm:1.5.0", "nvcr.io/vllm:latest", "docker.io/vllm", "x/y:2")[dice % 4],
        "env": [{"name": ("HF_TOKEN", "HOME")[dice % 2], "value": "x"}],
        "resources": {"limits": gpus},
        "securityContext": {"privileged": dice % 6 == 0},
    }
    return {
        "name": ("worker", "Worker", "a", "b-9")[dice % 4] + str(place),
        "type": ("worker", "frontend", "prefill")[dice % 3],
        **({"replicas": dice % 5} if dice % 2 else {}),
        **({"modelRef": {"name": ("Qwen/Qwen3", "llama")[dice % 2]}} if dice % 3 == 0 else {}),
        "podTemplate": {"spec": {"hostNetwork": dice % 7 == 0, "containers": [main]}},
    }


def test_policies_say_offline_what_an_api_server_says(
    judged: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies.yaml").write_text(yaml.safe_dump_all(policies()))
    (tmp_path / ".dynamo-webhooks.yaml").write_text("rules-from: [policies.yaml]\n")
    (tmp_path / "graphs").mkdir()
    online: dict[str, dict[str, str]] = {}
    for obj in _graphs():
        warned = _online(judged, obj)
        if warned is not None:
            name = obj["metadata"]["name"]
            (tmp_path / "graphs" / f"{name}.json").write_text(json.dumps(obj))
            online[name] = warned
        if len(online) == GRAPHS:
            break
    assert len(online) == GRAPHS
    capsys.readouterr()
    main(["check", "graphs", "--no-defaults", "--validate", "ignore", "--select", "user/", "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    offline: dict[str, dict[str, str]] = {name: {} for name in online}
    for row in document["findings"]:
        if row["rule"].startswith("user/"):
            offline[row["object"]["name"]][row["rule"].removeprefix("user/")] = row["message"]
    assert [row for row in document["notEvaluated"] if row["rule"].startswith("user/")] == []
    assert {policy for names in online.values() for policy in names} >= {item["metadata"]["name"] for item in policies()} - NEVER
    different = {name: (online[name], offline[name]) for name in online if online[name] != offline[name]}
    assert different == {}


def test_the_policies_of_a_cluster_are_printed_as_rules_from_takes_them(
    judged: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["policy", "from-cluster", "--kubeconfig", str(judged.kubeconfig), "--context", ADMIN]) == 0
    (tmp_path / "policies.yaml").write_text(capsys.readouterr().out)
    (tmp_path / ".dynamo-webhooks.yaml").write_text("rules-from: [policies.yaml]\n")
    assert main(["rules", "-o", "json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert {f"user/{policy['metadata']['name']}" for policy in policies()} <= names


def test_a_refusal_is_answered_in_the_words_of_the_api_server(
    judged: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".dynamo-webhooks.yaml").write_text("rules-from: [policies.yaml]\n")
    for name, more in {"plain": {"message": "never"}, "forbidden": {"reason": "Forbidden"}}.items():
        graph = {**_made(1), "metadata": {"name": f"refused-{name}", "namespace": NAMESPACE}}
        matched = {"apiGroups": ["nvidia.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [_GRAPHS]}
        matched["resourceNames"] = [graph["metadata"]["name"]]
        policy, binding = _policy(f"refuses-{name}", {"resourceRules": [matched]}, [{"expression": "false", **more}])
        binding["spec"]["validationActions"] = ["Deny"]
        assert {_post(judged, obj).status for obj in (policy, binding)} == {201}
        (tmp_path / "policies.yaml").write_text(yaml.safe_dump_all([policy, binding]))
        (tmp_path / "graph.json").write_text(json.dumps(graph))
        reply = wait_until(partial(_refused, judged, graph), "the policy being in force", judged.server)
        shown = judged.kubectl("create", "--dry-run=server", "-f", str(tmp_path / "graph.json")).stderr
        capsys.readouterr()
        main(["check", "graph.json", "--answer", "-o", "json"])
        [answer] = json.loads(capsys.readouterr().out)["answers"]
        assert (answer["status"], answer["message"]) == (reply.status, reply.body["message"])
        main(["check", "graph.json", "--answer"])
        assert re.sub(r'error when creating "[^"]+": ', "", shown.splitlines()[-1]) in capsys.readouterr().out


def _refused(plane: ControlPlane, obj: Node) -> Reply | None:
    """The refusal of a graph; None as long as it is accepted."""
    reply = plane.request("POST", f"{path_of(obj)}?dryRun=All", obj)
    return None if reply.status == 201 else reply
