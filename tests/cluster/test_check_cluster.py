"""`check --cluster` on a real API server: what etcd holds is found under its name, and a kustomization through a real kubectl."""

import json
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.objects.apply import simulate_apply
from tests.cluster.harness import ADMIN, USER, ControlPlane
from tests.cluster.objects import Node, graph, make


def check(plane: ControlPlane, capsys: pytest.CaptureFixture[str], *flags: str, user: str = ADMIN) -> tuple[int, Any, str]:
    """The exit code, the report as data, and the talk."""
    capsys.readouterr()
    code = main(["check", "-o", "json", "--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", user, *flags])
    ran = capsys.readouterr()
    assert "Traceback" not in ran.err
    return code, json.loads(ran.out), ran.err


@pytest.fixture
def namespace(alpha: ControlPlane) -> str:
    """A namespace with a graph that our webhooks, had they been there, would have refused, and a model that they would not."""
    name = alpha.namespace()
    wrong = graph(name, {"w": {"ingress": {"enabled": True}}})
    alpha.apply(wrong, make("MODEL", "v1alpha1", name, {"modelName": "a", "baseModelName": "b"}))
    return name


@pytest.mark.parametrize("user", [ADMIN, USER])
def test_what_is_stored_is_judged(alpha: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str], user: str) -> None:
    code, report, _ = check(alpha, capsys, "-n", namespace, "--line", "1.2", user=user)
    assert (code, report["summary"]["objects"]) == (1, 2)
    [finding] = [one for one in report["findings"] if one["level"] == "error"]
    assert finding["rule"] == "ingress-host-required"
    assert finding["file"] == f"cluster:dynamographdeployments/{namespace}/t"
    assert finding["object"] == {"kind": "DynamoGraphDeployment", "namespace": namespace, "name": "t"}
    assert check(alpha, capsys, "-n", namespace, "--line", "1.2", user=user)[1] == report


def test_all_namespaces_are_seen_and_facts_of_the_cluster_are_known(
    alpha: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, report, _ = check(alpha, capsys)
    assert f"cluster:dynamographdeployments/{namespace}/t" in {one["file"] for one in report["findings"]}
    assert not [note for note in report["notEvaluated"] if "grove" in note["reason"]]


def test_a_version_that_only_other_kinds_have_is_not_the_end(beta: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
    name = beta.namespace()
    beta.apply(
        make("DGDR", "v1alpha1", name, {"model": "x", "backend": "vllm", "profilingConfig": {"profilerImage": "i"}}),
        make("DGD", "v1beta1", name, {"components": [{"name": "w", "type": "worker"}]}),
    )
    _, report, _ = check(beta, capsys, "-n", name)
    assert report["summary"]["objects"] == 2


def _graph(namespace: str, *components: Node, **metadata: Any) -> Node:
    return make("DGD", "v1beta1", namespace, {"components": [*components]}, **metadata)


@pytest.mark.parametrize("flags", [("--server-side",), ()])
def test_what_an_apply_makes_of_a_stored_object_is_foreseen(
    beta: ControlPlane, flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = beta.namespace()
    first = _graph(name, {"name": "a", "type": "worker", "multinode": {"nodeCount": 2}}, {"name": "b"}, labels={"ours": "1", "old": "1"})
    beta.kubectl("apply", "-f", "-", *flags, input=first)
    # others write beside it
    beta.kubectl("label", "-n", name, "dynamographdeployments", "t", "theirs=1")
    path = "/spec/components/0/replicas"
    patch = json.dumps([{"op": "add", "path": path, "value": 3}])
    beta.kubectl("patch", "-n", name, "dynamographdeployments", "t", "--type=json", "-p", patch)
    second = _graph(name, {"name": "a", "type": "decode"}, {"name": "c"}, labels={"ours": "2"})
    (tmp_path / "t.yaml").write_text(json.dumps(second))

    def stored() -> Node:
        return beta.kubectl("get", "-n", name, "dynamographdeployments", "t", "-o", "json", "--show-managed-fields").json()

    before = stored()
    code, report, _ = check(beta, capsys, "-n", name, "t.yaml")
    assert (code, "dgd-node-layout-immutable" in {one["rule"] for one in report["findings"]}) == (1, True)
    code = main(["diff", "t.yaml", "--cluster", "--kubeconfig", str(beta.kubeconfig), "-o", "json"])
    [told] = json.loads(capsys.readouterr().out)["objects"]
    assert (code, told["what"]) == (1, "changed")
    # nothing was written by either
    assert stored() == before
    foreseen = simulate_apply(second, before, before, second["kind"])
    beta.kubectl("apply", "-f", "-", *flags, input=second)
    after = stored()
    assert foreseen["spec"] == after["spec"]
    assert foreseen["metadata"]["labels"] == after["metadata"]["labels"] == {"ours": "2", "theirs": "1"}


def test_a_token_that_nobody_knows_is_code_6(alpha: ControlPlane, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = json.loads(alpha.kubeconfig.read_text())
    config["users"] = [{"name": ADMIN, "user": {"token": "of-nobody"}}]
    other = tmp_path / "kubeconfig"
    other.write_text(json.dumps(config))
    other.chmod(0o600)
    code = main(["check", "--cluster", "--kubeconfig", str(other)])
    ran = capsys.readouterr()
    assert (code, ran.out) == (6, "")
    assert ran.err.startswith("the cluster can't be asked: ")
    assert "of-nobody" not in ran.err


def test_a_kustomization_is_rendered_by_kubectl(
    assets: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(assets))
    (tmp_path / "graph.yaml").write_text(json.dumps(graph("llm")))
    (tmp_path / "kustomization.yaml").write_text(
        'resources: [graph.yaml]\npatches:\n- patch: \'[{"op": "add", "path": "/spec/services/w/ingress", "value": {"enabled": true}}]\'\n'
        "  target: {kind: DynamoGraphDeployment}\n"
    )
    code = main(["check", "-k", str(tmp_path), "-q"])
    assert (code, "ingress-host-required" in capsys.readouterr().out) == (1, True)
    (tmp_path / "kustomization.yaml").write_text("resources: [none.yaml]\n")
    assert main(["check", "-k", str(tmp_path), "-q"]) == 4
    [sentence] = capsys.readouterr().err.splitlines()
    assert sentence.startswith(f"kustomize:{tmp_path}: can't be rendered: accumulating resources")
