"""Thirty policies say of two hundred graphs offline what an API server says: which of them refuse, with which words."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.cli.main import main
from tests.cluster.conversion import converting_plane
from tests.cluster.harness import ADMIN, ControlPlane
from tests.cluster.objects import path_of
from tests.cluster.processes import wait_until
from tests.cluster.user_policies import GROUP, policies
from tests.cluster.writes import examples

Node: TypeAlias = dict[str, Any]
GRAPHS: Final = 200
_WARNED: Final = re.compile(r"Validation failed for ValidatingAdmissionPolicy '([^']+)' with binding '[^']+': (.*)", re.DOTALL)
_PLURALS: Final = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies"}
NAMESPACE: Final = "default"
MADE: Final = 120
NEVER: Final = {"reads-nothing", "not-in-prod", "by-request", "new-object"}  # what no creation here breaks


@pytest.fixture(scope="module")
def judged(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server with both versions of graphs and all policies."""
    with converting_plane(assets, tmp_path_factory.mktemp("judged")) as (plane, _):
        for one in policies():
            plural = _PLURALS.get(one["kind"], "validatingadmissionpolicybindings")
            reply = plane.request("POST", f"/apis/{GROUP}/v1/{plural}", one)
            assert reply.status == 201, reply.body
        probe = {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "a-probe-of-everything", "namespace": NAMESPACE},
            "spec": {"components": [{"name": "Z", "type": "frontend", "replicas": 3}, {"name": "A"}, {"name": "b"}]},
        }
        wanted = {"short-names", "sorted-names", "services-named", "one-worker", "few-components"}
        wait_until(lambda: wanted <= set(_online(plane, probe) or ()), "all policies being asked", plane.server)
        yield plane


def _online(plane: ControlPlane, obj: Node) -> dict[str, str] | None:
    """What each policy says; None where the schema refuses the object."""
    reply = plane.request("POST", f"{path_of(obj)}?dryRun=All", obj)
    if reply.status != 201:
        return None
    found = (_WARNED.fullmatch(warning) for warning in reply.warnings)
    return {one[1]: one[2] for one in found if one is not None}


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
        told = _online(judged, obj)
        if told is not None:
            name = obj["metadata"]["name"]
            (tmp_path / "graphs" / f"{name}.json").write_text(json.dumps(obj))
            online[name] = told
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
    assert {policy for told in online.values() for policy in told} >= {one["metadata"]["name"] for one in policies()} - NEVER
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
    assert {f"user/{one['metadata']['name']}" for one in policies()} <= names
