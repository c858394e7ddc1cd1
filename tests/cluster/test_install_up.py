"""An installation is up when it says so: after the documented commands and the documented wait, the first write succeeds.

The real controllers make pods and endpoints, and a stand-in for kubelets runs our programs and asks their probes.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from tests.cluster.admission import COMMAND, FACTS
from tests.cluster.endpoints import publish
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.playing import MERGE, Player
from tests.cluster.processes import Process, fetched, free_ports
from tests.cluster.provisioning import SERVICE, own_address
from tests.cluster.rendering import CHART, MANIFESTS, RELEASE, helm

Node: TypeAlias = dict[str, Any]
PROGRAMS: Final = {"server": "serve", "provisioner": "provision"}


class Kubelet(Player):
    """Runs servers and provisioners of one namespace; other pods are ready at once."""

    def __init__(self, plane: ControlPlane, home: Path, namespace: str) -> None:
        """Runs nothing yet."""
        super().__init__(plane, f"/api/v1/namespaces/{namespace}/pods")
        self.home, self.namespace, self.address = home, namespace, own_address()
        self.processes: dict[str, Process] = {}
        self._ready: dict[str, bool] = {}
        home.mkdir()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for process in self.processes.values():
            process.stop()

    def see_to(self, pod: Node) -> None:
        """Starts a pod's program, and reports what its probe says."""
        name, component = pod["metadata"]["name"], pod["metadata"]["labels"]["app.kubernetes.io/component"]
        if component in PROGRAMS and name not in self.processes:
            self.processes[name] = self._started(pod, component)
        ready = component not in PROGRAMS or self._probe(self.processes[name])
        if self._ready.get(name) == ready:
            return
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"phase": "Running", "conditions": [condition]}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/status"
        if self.plane.request("PATCH", path, {"status": status}, kind=MERGE).status == 200:
            self._ready[name] = ready
            if component == "server":
                # after its pod is ready, as the controller does
                publish(self.plane, SERVICE, self.namespace, name, (self.address, _port(pod)), ready=ready)

    def _started(self, pod: Node, component: str) -> Process:
        """The program of a pod, with the installation's own configuration and the token of its account."""
        name = pod["metadata"]["name"]
        [mounted] = [each["configMap"]["name"] for each in pod["spec"]["volumes"] if "configMap" in each]
        written = self.plane.request("GET", f"/api/v1/namespaces/{self.namespace}/configmaps/{mounted}").body["data"]["config.yaml"]
        config, facts = self.home / f"{name}.yaml", self.home / "facts.yaml"
        config.write_text(yaml.safe_dump({**yaml.safe_load(written), "serving": {"drainLag": "0s"}}))
        facts.write_text(yaml.safe_dump(FACTS))
        account = pod["spec"]["serviceAccountName"]
        kubeconfig = self.plane.kubeconfig_of(account, self.namespace, self.home / f"{account}.kubeconfig")
        flags = ["--config", config, "--kubeconfig", kubeconfig]
        flags += ["--probe-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
        if component == "server":
            flags += ["--listen", f"{self.address}:{_port(pod)}", "--facts", facts]
        environment = {"POD_NAMESPACE": self.namespace, "POD_NAME": name, "POD_SERVICE_ACCOUNT": account}
        words = [str(COMMAND), PROGRAMS[component], *map(str, flags)]
        return Process(name, words, self.home / f"{name}.log", environment)

    def _probe(self, process: Process) -> bool:
        found = re.findall(r"^probes http://(\S+)", process.text(), re.MULTILINE)
        return bool(found) and fetched(found[-1], "/readyz", 10)[0] == 200


def _port(pod: Node) -> int:
    [container] = pod["spec"]["containers"]
    return next(int(each["containerPort"]) for each in container["ports"] if each["name"] == "webhook")


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
