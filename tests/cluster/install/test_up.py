"""The commands of docs/install.md. An installation is up when it says so: after the documented wait, the first write succeeds; and what is
removed is gone. Nodes are drained, too.

The real controllers make pods and endpoints, and a stand-in for kubelets runs our programs and asks their probes.
"""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from dynamo_webhooks.reconciler.render.discovery import make_shared_account
from dynamo_webhooks.reconciler.render.names import PICKER_ACCOUNT, PLANNER_ACCOUNT
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.cluster.admission import COMMAND, FACTS, Admission
from tests.cluster.conversion import KINDS as CONVERTING
from tests.cluster.endpoints import publish
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.playing import MERGE, Player
from tests.cluster.processes import Process, fetched, free_ports, wait_until
from tests.cluster.provisioning import SERVICE, own_address
from tests.cluster.reconciling import Pods
from tests.cluster.rendering import CHART, MANIFESTS, RELEASE, helm, kustomized, of_kind

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
ROOT: Final = MANIFESTS.parent
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


PATH: Final = f"/apis/{GROUP}/{ALPHA}/namespaces/default/dynamographdeployments"
GRAPH: Final[Node] = {
    "apiVersion": f"{GROUP}/{ALPHA}",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "g"},
    "spec": {"services": {"w": {"componentType": "worker", "dynamoNamespace": "old"}}},
}


@pytest.fixture(scope="module")
def lasting(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster whose namespaces are cleared when they are deleted."""
    with control_plane(assets, tmp_path_factory.mktemp("page"), controllers=True) as plane:
        yield plane


def _run(plane: ControlPlane, block: str) -> None:
    """Runs a block in the root of the project, with a kubectl that knows the cluster."""
    programs = plane.home / "programs"
    programs.mkdir(exist_ok=True)
    script = programs / "kubectl"
    script.write_text(f'#!/bin/sh\nexec "{plane.assets / "kubectl"}" --kubeconfig "{plane.kubeconfig}" "$@"\n')
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(plane.home)}
    # no pod runs here, so that nothing would ever be ready; `_steps` runs the wait, too
    text = "".join(line for line in BLOCKS[block].splitlines(keepends=True) if "rollout status" not in line)
    command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def _ours(plane: ControlPlane) -> list[str]:
    """What is left of an installation outside of namespaces, and the namespace."""
    kinds = "clusterrole,clusterrolebinding,validatingwebhookconfiguration,mutatingwebhookconfiguration,namespace"
    kinds += ",validatingadmissionpolicy,validatingadmissionpolicybinding"
    found = plane.kubectl("get", kinds, "-l", "app.kubernetes.io/part-of=dynamo-operator", "-o", "name")
    assert found.code == 0, found.stderr
    return found.stdout.split()


def _install(plane: ControlPlane) -> None:
    """Runs the first block, with one graph that is there before anybody could refuse it."""
    definitions = BLOCKS["install: kustomize"].splitlines()[0]
    assert definitions == "kubectl apply -f manifests/crds/"
    assert plane.kubectl("apply", "-f", str(MANIFESTS / "crds")).code == 0
    wait_until(lambda: plane.request("POST", PATH, GRAPH).status in (201, 409), "the kind being served", plane.server)
    _run(plane, "install: kustomize")
    assert len(_ours(plane)) == 13


def test_what_keeps_the_objects_leaves_a_cluster_that_reads_and_writes_them(lasting: ControlPlane) -> None:
    _install(lasting)
    before = lasting.request("GET", f"{PATH}/g").body["spec"]
    _run(lasting, "uninstall: keep the objects")
    assert _ours(lasting) == []
    label = {"metadata": {"labels": {"written": "again"}}}
    # the API server forgets a deleted configuration with a delay
    wait_until(
        lambda: lasting.request("PATCH", f"{PATH}/g", label, kind="application/merge-patch+json").status == 200,
        "writes being accepted",
        lasting.server,
    )
    assert lasting.request("GET", f"{PATH}/g").body["spec"] == before
    gone = PATH.replace(ALPHA, BETA)
    wait_until(lambda: lasting.request("GET", gone).status == 404, "the other version no longer being served", lasting.server)
    # the namespace controller reads every version that is served
    lasting.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "leaving"}})
    assert lasting.request("POST", PATH.replace("default", "leaving"), GRAPH).status == 201
    assert lasting.kubectl("delete", "namespace", "leaving", "--wait=false").code == 0
    wait_until(lambda: lasting.request("GET", "/api/v1/namespaces/leaving").status == 404, "the namespace being gone", lasting.server)


def test_what_removes_everything_removes_everything(lasting: ControlPlane, admission: Admission) -> None:
    _install(lasting)
    other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "planner", "namespace": "default"}}
    shared = [
        obj
        for name in (PLANNER_ACCOUNT, PICKER_ACCOUNT)
        for obj in make_shared_account(name, "dynamo-webhooks-planner", "default", Settings())
    ]
    lasting.apply(other, *shared)
    client = {"url": f"{admission.url}/convert", "caBundle": base64.b64encode(admission.ca).decode(), "service": None}
    stanza = {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}}}
    for kind in CONVERTING:  # services lead nowhere here, so that another server converts
        done = lasting.kubectl("patch", "crd", f"{kind.lower()}s.{GROUP}", "--type=merge", "-p", json.dumps(stanza))
        assert done.code == 0, done.stderr
    listed = PATH.replace(ALPHA, BETA)
    wait_until(lambda: lasting.request("GET", listed).status == 200, "the other version being served", lasting.server)
    _run(lasting, "uninstall: remove everything")
    assert _ours(lasting) == []
    left = lasting.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body["items"]
    assert [each["metadata"]["name"] for each in left] == []
    found = lasting.kubectl("get", "serviceaccounts,rolebindings", "-n", "default", "-o", "name").stdout.split()
    assert [name for name in found if not name.endswith("/default")] == ["serviceaccount/planner"]


SERVERS: Final = "app.kubernetes.io%2Fcomponent%3Dserver"


@pytest.fixture(scope="module")
def servers(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Servers as we ship them, whose pods become ready by nobody's serving, and their budget."""
    with control_plane(assets, tmp_path_factory.mktemp("drain"), controllers=True) as plane, Pods(plane):
        objects = kustomized(MANIFESTS / "overlays" / "self-signed")
        plane.apply(*of_kind(objects, "Namespace"))
        [server] = [each for each in of_kind(objects, "Deployment") if each["metadata"]["name"].endswith("-server")]
        plane.apply(server, *of_kind(objects, "PodDisruptionBudget"))
        yield plane


def _pods(plane: ControlPlane) -> list[Node]:
    """Server pods that are not on their way out."""
    items = plane.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={SERVERS}").body["items"]
    return [each for each in items if "deletionTimestamp" not in each["metadata"]]


def _whole(plane: ControlPlane, replicas: int) -> bool:
    """Whether so many servers are ready, and the budget knows it."""
    [budget] = plane.request("GET", f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets").body["items"]
    status = budget.get("status", {})
    current = status.get("observedGeneration") == budget["metadata"]["generation"] and status.get("expectedPods") == replicas
    return bool(current) and status.get("disruptionsAllowed") == 1 and status.get("currentHealthy") == replicas == len(_pods(plane))


def _evicted(plane: ControlPlane, name: str) -> bool:
    """One attempt; 429 means: try again later."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
    reply = plane.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction", body)
    assert reply.status in (201, 429), reply.body
    return reply.status == 201


@pytest.mark.parametrize("replicas", [2, 1])
def test_a_drain_is_not_blocked(servers: ControlPlane, replicas: int) -> None:
    """The eviction of servers is let through one by one, whether there are two of them or one."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/dynamo-webhooks-server/scale"
    scaled = servers.request("PATCH", path, {"spec": {"replicas": replicas}}, kind="application/merge-patch+json")
    assert scaled.status == 200, scaled.body
    wait_until(partial(_whole, servers, replicas), "all servers being ready", servers.server)
    for pod in _pods(servers):
        wait_until(partial(_evicted, servers, pod["metadata"]["name"]), "its eviction", servers.server)
        # as the kubelet does when the process has ended
        done = servers.kubectl(
            "delete", "pod", pod["metadata"]["name"], "-n", NAMESPACE, "--force", "--grace-period=0", "--ignore-not-found"
        )
        assert done.code == 0, done.stderr
        wait_until(partial(_whole, servers, replicas), "its successor being ready", servers.server)
