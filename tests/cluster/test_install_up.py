"""An installation is up when it says so: after the documented commands and the documented wait, the first write succeeds.

The real controllers make pods and endpoints, and a stand-in for kubelets runs our programs and asks their probes.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.kubelet import Kubelet
from tests.cluster.processes import free_ports
from tests.cluster.provisioning import own_address
from tests.cluster.rendering import CHART, MANIFESTS, RELEASE, helm

Node: TypeAlias = dict[str, Any]
NAMESPACE: Final = "dynamo-system"
PAGE: Final = (MANIFESTS.parent / "docs" / "install.md").read_text()
BLOCKS: Final = dict(re.findall(r"^```sh\n# (.+)\n((?:.*\n)+?)^```$", PAGE, re.MULTILINE))
WRITES: Final = 20
SPEC: Final[dict[str, Node]] = {
    ALPHA: {"services": {"w": {"componentType": "worker"}}},
    BETA: {"components": [{"name": "w", "type": "worker"}]},
}


@pytest.fixture
def cluster(assets: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """A new cluster: what an earlier installation left would help."""
    with control_plane(assets, tmp_path / "plane", controllers=True) as plane:
        yield plane


def _refused(plane: ControlPlane) -> list[str]:
    """Writes and reads in both versions, each once, and what was said against those that failed. The very first one counts, too."""
    wrong = []
    for index in range(WRITES):
        version = (ALPHA, BETA)[index % 2]
        path = f"/apis/{GROUP}/{version}/namespaces/default/dynamographdeployments"
        metadata = {"name": f"g-{index}", "namespace": "default"}
        graph = {"apiVersion": f"{GROUP}/{version}", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": SPEC[version]}
        other = path.replace(version, BETA if version == ALPHA else ALPHA)
        for method, where, body in (("POST", path, graph), ("GET", f"{other}/g-{index}", None)):
            reply = plane.request(method, where, body)
            if reply.status not in (200, 201):
                wrong.append(f"{index} {method} {version}: {reply.status} {reply.body.get('message')}")
    return wrong


def _steps(block: str) -> list[list[str]]:
    return [line.split() for line in BLOCKS[block].splitlines()]


def test_after_kustomize_and_the_wait(cluster: ControlPlane, tmp_path: Path) -> None:
    """The commands of the page; only the port differs and there is one server, because all pods share this machine's address."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    port = str(*free_ports(1, own_address()))
    for file in (tmp_path / "manifests" / "base" / "config.yaml", tmp_path / "manifests" / "base" / "server.yaml"):
        file.write_text(file.read_text().replace("9443", port).replace("replicas: 2", "replicas: 1"))
    with Kubelet(cluster, tmp_path / "pods", NAMESPACE):
        for program, *words in _steps("install: kustomize"):
            assert program == "kubectl"
            done = cluster.kubectl(*(word.replace("manifests/", f"{tmp_path}/manifests/") for word in words))
            assert done.code == 0, done.stderr
        assert words[:4] == ["-n", NAMESPACE, "rollout", "status"], "the last command is the wait"
        assert _refused(cluster) == []


def test_after_helm_with_wait(cluster: ControlPlane, tmp_path: Path) -> None:
    [definitions, install] = _steps("install: helm")
    assert cluster.kubectl(*(word.replace("manifests/", f"{MANIFESTS}/") for word in definitions[1:])).code == 0
    assert install[:2] == ["helm", "install"]
    assert "--wait" in install
    with Kubelet(cluster, tmp_path / "pods", NAMESPACE):
        words = [str(CHART) if word == "manifests/chart" else word for word in install[1:]]
        values = ["--set", f"webhook.port={free_ports(1, own_address())[0]}", "--set", "controllerManager.replicas=1"]
        done = helm(*words, *values, kubeconfig=cluster.kubeconfig)
        assert done.returncode == 0, done.stderr
        assert words[1] == RELEASE
        assert _refused(cluster) == []
