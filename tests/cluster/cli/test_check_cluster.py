"""Commands on a real API server and with a real kubectl: `check --cluster` finds what etcd holds under its name, `check -k` renders a
kustomization, `facts --cluster` says what discovery and ConfigMaps say, and kubectl finds and completes its plugin. The
embedded types of Kubernetes are that API server's."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.api.line import DEFAULT_LINE
from dynamo_webhooks.cli.commands.completion.command import SCRIPTS
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.objects.apply import simulate_apply
from tests.cli.facts.installed import OURS, configuration
from tests.cluster.assets.build import KUBERNETES, USUAL
from tests.cluster.harness import ADMIN, USER, ControlPlane
from tests.cluster.objects import Node, graph, make
from tests.cluster.openapi import FILE, fetched, rendered


def check(plane: ControlPlane, capsys: pytest.CaptureFixture[str], *flags: str, user: str = ADMIN) -> tuple[int, Any, str]:
    """The exit code, the report as data, and the talk."""
    capsys.readouterr()
    code = main(["check", "-o", "json", "--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", user, *flags])
    ran = capsys.readouterr()
    assert "Traceback" not in ran.err
    return code, json.loads(ran.out), ran.err


@pytest.mark.parametrize("user", [ADMIN, USER])
def test_what_is_stored_is_judged(alpha: ControlPlane, capsys: pytest.CaptureFixture[str], user: str) -> None:
    """A graph that our webhooks, had they been there, would have refused, and a model that they would not."""
    namespace = alpha.namespace()
    wrong = graph(namespace, {"w": {"ingress": {"enabled": True}}})
    alpha.apply(wrong, make("MODEL", "v1alpha1", namespace, {"modelName": "a", "baseModelName": "b"}))
    code, report, _ = check(alpha, capsys, "-n", namespace, "--line", "1.2", user=user)
    assert (code, report["summary"]["objects"]) == (1, 2)
    [finding] = [row for row in report["findings"] if row["level"] == "error"]
    assert finding["rule"] == "ingress-host-required"
    assert finding["file"] == f"cluster:dynamographdeployments/{namespace}/t"
    assert finding["object"] == {"kind": "DynamoGraphDeployment", "namespace": namespace, "name": "t"}
    if user == ADMIN:  # all namespaces are seen, and facts of the cluster are known
        _, report, _ = check(alpha, capsys)
        assert f"cluster:dynamographdeployments/{namespace}/t" in {row["file"] for row in report["findings"]}
        assert not [note for note in report["notEvaluated"] if "grove" in note["reason"]]


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
    assert (code, "dgd-node-layout-immutable" in {finding["rule"] for finding in report["findings"]}) == (1, True)
    code = main(["diff", "t.yaml", "--cluster", "--kubeconfig", str(beta.kubeconfig), "-o", "json"])
    [change] = json.loads(capsys.readouterr().out)["objects"]
    assert (code, change["what"]) == (1, "changed")
    # nothing was written by either
    assert stored() == before
    foreseen = simulate_apply(second, before, before, second["kind"])
    beta.kubectl("apply", "-f", "-", *flags, input=second)
    after = stored()
    assert foreseen["spec"] == after["spec"]
    assert foreseen["metadata"]["labels"] == after["metadata"]["labels"] == {"ours": "2", "theirs": "1"}


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


def _gather(plane: ControlPlane, capsys: pytest.CaptureFixture[str], *flags: str, user: str = ADMIN) -> tuple[dict[str, Any], str]:
    """The facts of the file of `facts --cluster`, and the file itself."""
    capsys.readouterr()
    code = main(["facts", "--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", user, *flags])
    ran = capsys.readouterr()
    assert (code, "Traceback" in ran.err) == (0, False), ran.err
    return yaml.safe_load(ran.out), ran.out


def test_facts_of_an_installation_are_told_and_what_may_not_be_read_is_unknown_with_the_servers_sentence(
    alpha: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace = alpha.namespace()
    config = {"name": "dynamo-webhooks-config", "namespace": namespace}
    data = {"config.yaml": json.dumps(configuration(dra={"enabled": False}))}
    alpha.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": config, "data": data},
        {**OURS, "metadata": {**OURS["metadata"], "namespace": namespace}},
    )
    try:
        facts, text = _gather(alpha, capsys, "-n", namespace)
        assert (facts["operatorScope"], facts["operatorVersion"]) == ("cluster", f"{DEFAULT_LINE}.0")
        assert facts["operatorPrincipal"] == f"system:serviceaccount:{namespace}:dynamo-webhooks-reconciler"
        assert (facts["lws"], facts["istio"], facts["gpuDiscovery"]) == (False, False, True)
        assert facts["dra"] is False  # by its configuration, for resource.k8s.io/v1 is served
        assert " is not known: " not in text
        facts, text = _gather(alpha, capsys, user=USER)
        assert (facts["operatorScope"], facts["excludedNamespaces"], facts["lws"], facts["dra"]) == (None, None, False, True)
        assert 'cannot list resource "leases"' in text
    finally:
        alpha.kubectl("-n", namespace, "delete", "deployment", "--all")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Plugin and completion first on the PATH, as a user installs them."""
    program = tmp_path / "kubectl_complete-dynamo"
    program.write_text(SCRIPTS["kubectl"])
    program.chmod(0o700)
    (tmp_path / "kubectl-dynamo").symlink_to(Path(sys.executable).parent / "kubectl-dynamo")
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["che"], "check\n:4\n"),
        (["check", "--op=c"], "--op=create\n:4\n"),
        (["check", "--set-fact", "gro"], "grove=\n:6\n"),
        (["check", ""], ":0\n"),
    ],
)
def test_kubectl_completes_the_words_of_its_plugin(assets: Path, environment: dict[str, str], words: list[str], output: str) -> None:
    """No API server is asked."""
    command = [str(assets / "kubectl"), "__complete", "dynamo", *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, output), ran.stderr


def test_kubectl_runs_its_plugin(assets: Path, environment: dict[str, str]) -> None:
    ran = subprocess.run([assets / "kubectl", "dynamo", "chek"], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, "did you mean check?" in ran.stderr) == (2, True)


@pytest.mark.skipif(KUBERNETES != USUAL, reason=f"the definitions are recorded on Kubernetes {USUAL}")
def test_the_definitions_are_those_of_the_api_server(alpha: ControlPlane) -> None:
    assert FILE.read_bytes() == rendered(fetched(alpha)), "stale: run python -m tests.cluster.openapi"
