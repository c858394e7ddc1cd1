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
from dynamo_webhooks.api.line import DEFAULT_LINE
from dynamo_webhooks.reconciler.render.accounts import make_shared_account
from dynamo_webhooks.reconciler.render.names import PICKER_ACCOUNT, PLANNER_ACCOUNT
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.cluster.admission import COMMAND, FACTS, Admission, start
from tests.cluster.conversion import KINDS as CONVERTING
from tests.cluster.definitions import install, read_files
from tests.cluster.endpoints import publish
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE, Player
from tests.cluster.processes import Process, fetched, free_ports, wait_until
from tests.cluster.provisioning import SERVICE, own_address
from tests.cluster.reconciling import Pods
from tests.cluster.rendering import CHART, MANIFESTS, RELEASE, helm, kustomized, of_kind, restricted
from tools.crd_files import FOLDERS

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
        facts.write_text(yaml.safe_dump({name: fact for name, fact in FACTS.items() if name != "operatorVersion"}))
        account = pod["spec"]["serviceAccountName"]
        kubeconfig = self.plane.kubeconfig_of(account, self.namespace, self.home / f"{account}.kubeconfig")
        flags: dict[str, str | Path] = {"config": config, "kubeconfig": kubeconfig}
        if component == "server":
            flags |= {"listen": f"{self.address}:{_port(pod)}", "facts": facts}
        return start(name, self.home, COMMAND, PROGRAMS[component], account=f"{self.namespace}/{account}", **flags)

    def _probe(self, process: Process) -> bool:
        addresses = re.findall(r"^probes http://(\S+)", process.text(), re.MULTILINE)
        return bool(addresses) and fetched(addresses[-1], "/readyz", 10)[0] == 200


def _port(pod: Node) -> int:
    [container] = pod["spec"]["containers"]
    return next(int(each["containerPort"]) for each in container["ports"] if each["name"] == "webhook")


NAMESPACE: Final = "dynamo-system"
ROOT: Final = MANIFESTS.parent
PAGE: Final = (MANIFESTS.parent / "docs" / "install.md").read_text()
BLOCKS: Final = dict(re.findall(r"^```sh\n# (.+)\n((?:.*\n)+?)^```$", PAGE, re.MULTILINE))
WRITES: Final = 20
IMAGE: Final = "example/vllm:1.6.0"
SPEC: Final[dict[str, Node]] = {
    ALPHA: {"services": {"w": {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": IMAGE}}}}},
    BETA: {"components": [{"name": "w", "type": "worker", "podTemplate": {"spec": {"containers": [{"name": "main", "image": IMAGE}]}}}]},
}


@pytest.fixture
def cluster(planes: Planes) -> Iterator[ControlPlane]:
    """A new cluster: what an earlier installation left would help."""
    with planes.lend(managed=True) as plane:
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


def _shell(plane: ControlPlane, text: str, folder: Path = ROOT) -> None:
    """Runs commands of the page in the root of the project, with a kubectl and a `dynamo-webhooks` that know the cluster."""
    programs = plane.home / "programs"
    programs.mkdir(exist_ok=True)
    for name, program in (("kubectl", plane.assets / "kubectl"), ("dynamo-webhooks", COMMAND)):
        (programs / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(plane.home), "KUBECONFIG": str(plane.kubeconfig)}
    command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_readme_has_the_commands_of_the_page_in_their_order() -> None:
    """The guard first, so that no definition takes fields from stored objects."""
    block = (ROOT / "README.md").read_text().partition("## Install on a cluster")[2].partition("```sh\n")[2].partition("```")[0]
    commands = [line.partition("  ")[0] for line in block.splitlines()]
    assert commands[0] == "pip install '.[cluster]'"
    assert commands[1:] == BLOCKS["install: kustomize"].splitlines()[:-1]


def test_after_kustomize_and_the_wait(cluster: ControlPlane, tmp_path: Path) -> None:
    """The commands of the page; only the port differs and there is one server, because all pods share this machine's address."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    port = str(*free_ports(1, own_address()))
    for file in (tmp_path / "manifests" / "base" / "config.yaml", tmp_path / "manifests" / "base" / "server.yaml"):
        file.write_text(file.read_text().replace("9443", port).replace("replicas: 2", "replicas: 1"))
    with Kubelet(cluster, tmp_path / "pods", NAMESPACE):
        _shell(cluster, BLOCKS["install: kustomize"], tmp_path)
        assert f"kubectl -n {NAMESPACE} rollout status" in BLOCKS["install: kustomize"].splitlines()[-1], "the last command is the wait"
        assert _refused(cluster) == []


def test_after_helm_with_wait(cluster: ControlPlane, tmp_path: Path) -> None:
    definitions, last = BLOCKS["install: helm"].splitlines()
    _shell(cluster, definitions)
    install = last.split()
    assert install[:2] == ["helm", "install"]
    assert "--wait" in install
    with Kubelet(cluster, tmp_path / "pods", NAMESPACE):
        words = [str(CHART) if word == "manifests/chart" else word for word in install[1:]]
        values = ["--set", f"webhook.port={free_ports(1, own_address())[0]}", "--set", "controllerManager.replicas=1"]
        done = helm(*words, *values, kubeconfig=cluster.kubeconfig)
        assert done.returncode == 0, done.stderr
        assert words[1] == RELEASE
        assert _refused(cluster) == []


PATH: Final = f"/apis/{GROUP}/{BETA}/namespaces/default/dynamographdeployments"
GRAPH: Final[Node] = {
    "apiVersion": f"{GROUP}/{BETA}",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "g"},
    "spec": {"components": [{"name": "w", "type": "worker", "roles": [{"name": "leader", "replicas": 1}]}]},
}


def _run(plane: ControlPlane, block: str) -> None:
    """Runs a block, but what waits for pods."""
    # no pod runs here, so that nothing would ever be ready, and the namespace exists
    left_out = ("rollout status", "create namespace")
    text = "".join(line for line in BLOCKS[block].splitlines(keepends=True) if not any(each in line for each in left_out))
    _shell(plane, text)


def _ours(plane: ControlPlane) -> list[str]:
    """What is left of an installation outside of namespaces."""
    kinds = "clusterrole,clusterrolebinding,validatingwebhookconfiguration,mutatingwebhookconfiguration"
    kinds += ",validatingadmissionpolicy,validatingadmissionpolicybinding"
    output = plane.kubectl("get", kinds, "-l", "app.kubernetes.io/part-of=dynamo-operator", "-o", "name").done()
    return output.split()


def _contents(plane: ControlPlane) -> dict[str, str]:
    """What is in the namespace, and the namespace's labels, without what the API server makes in each namespace by itself."""
    listed = plane.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name").stdout.split()
    kinds = ",".join(kind for kind in listed if not kind.startswith(("events", "replicasets", "endpointslices", "endpoints")))
    items = [
        *plane.kubectl("get", kinds, "-n", NAMESPACE, "-o", "json").json()["items"],
        plane.request("GET", f"/api/v1/namespaces/{NAMESPACE}").body | {"kind": "Namespace", "spec": None},
    ]
    return {
        f"{each['kind']}/{each['metadata']['name']}": json.dumps([each["metadata"].get("labels"), each.get("data"), each.get("spec")])
        for each in items
        if each["metadata"]["name"] not in ("default", "kube-root-ca.crt")
    }


def _install(plane: ControlPlane) -> None:
    """Runs the first block, with one graph that is there before anybody could refuse it."""
    assert BLOCKS["install: kustomize"].splitlines()[1] == "dynamo-webhooks crds --cluster | kubectl apply --server-side -f -"
    install(plane, *read_files(FOLDERS[DEFAULT_LINE]))
    wait_until(lambda: plane.request("POST", PATH, GRAPH).status in (201, 409), "the kind being served", plane.server)
    _run(plane, "install: kustomize")
    made = {"Secret": ("webhook-server-cert", "webhook-server-cert-ca"), "ConfigMap": ("webhook-server-cert-trust",)}
    for kind, names in made.items():  # by a provisioner, which does not run here
        plane.apply(*({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}} for name in names))
    wide = [each for each in kustomized(MANIFESTS / "overlays" / "self-signed") if "namespace" not in each["metadata"]]
    assert len(_ours(plane)) == len(wide) > 10


def _others(plane: ControlPlane) -> dict[str, str]:
    """Puts objects of others into the namespace, which exists and whose pods may be privileged, and says what is in it."""
    metadata = {"name": "nats", "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": "dynamo-operator"}}
    pod = {"metadata": {"labels": {"app": "nats"}}, "spec": {"containers": [{"name": "main", "image": "nats"}]}}
    plane.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {"team": "platform"}}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"port": "4222"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata},
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "nats"}}, "template": pod},
        },
    )
    return _contents(plane)


def test_what_keeps_the_objects_leaves_a_cluster_that_reads_and_writes_them(cluster: ControlPlane) -> None:
    others = _others(cluster)
    _install(cluster)
    assert len(_contents(cluster)) > len(others)
    before = cluster.request("GET", f"{PATH}/g").body["spec"]
    _run(cluster, "uninstall: keep the objects")
    assert _ours(cluster) == []
    assert _contents(cluster) == others
    label = {"metadata": {"labels": {"written": "again"}}}
    # the API server forgets a deleted configuration with a delay
    wait_until(
        lambda: cluster.request("PATCH", f"{PATH}/g", label, kind="application/merge-patch+json").status == 200,
        "writes being accepted",
        cluster.server,
    )
    assert cluster.request("GET", f"{PATH}/g").body["spec"] == before
    gone = PATH.replace(BETA, ALPHA)
    wait_until(lambda: cluster.request("GET", gone).status == 404, "the other version no longer being served", cluster.server)
    # the namespace controller reads every version that is served
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "leaving"}})
    assert cluster.request("POST", PATH.replace("default", "leaving"), GRAPH).status == 201
    assert cluster.kubectl("delete", "namespace", "leaving", "--wait=false").code == 0
    wait_until(lambda: cluster.request("GET", "/api/v1/namespaces/leaving").status == 404, "the namespace being gone", cluster.server)


def test_what_removes_everything_removes_everything(cluster: ControlPlane, admission: Admission) -> None:
    others = _others(cluster)
    _install(cluster)
    other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "planner", "namespace": "default"}}
    shared = [
        obj
        for name in (PLANNER_ACCOUNT, PICKER_ACCOUNT)
        for obj in make_shared_account(name, "dynamo-webhooks-planner", "default", Settings())
    ]
    cluster.apply(other, *shared)
    client = {"url": f"{admission.url}/convert", "caBundle": base64.b64encode(admission.ca).decode(), "service": None}
    stanza = {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}}}
    for kind in CONVERTING:  # services lead nowhere here, so that another server converts
        cluster.kubectl("patch", "crd", f"{kind.lower()}s.{GROUP}", "--type=merge", "-p", json.dumps(stanza)).done()
    listed = PATH.replace(BETA, ALPHA)
    wait_until(lambda: cluster.request("GET", listed).status == 200, "the other version being served", cluster.server)
    _run(cluster, "uninstall: remove everything")
    assert _ours(cluster) == []
    assert _contents(cluster) == others
    left = cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body["items"]
    assert [each["metadata"]["name"] for each in left] == []
    names = cluster.kubectl("get", "serviceaccounts,rolebindings", "-n", "default", "-o", "name").stdout.split()
    assert [name for name in names if not name.endswith("/default")] == ["serviceaccount/planner"]


SERVERS: Final = "app.kubernetes.io%2Fcomponent%3Dserver"


@pytest.fixture
def servers(planes: Planes) -> Iterator[ControlPlane]:
    """Servers as we ship them, whose pods become ready by nobody's serving, and their budget."""
    with planes.lend(managed=True) as plane, Pods(plane):
        objects = kustomized(MANIFESTS / "overlays" / "self-signed")
        plane.apply(restricted(NAMESPACE))
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
    servers.request("PATCH", path, {"spec": {"replicas": replicas}}, kind="application/merge-patch+json").done()
    wait_until(partial(_whole, servers, replicas), "all servers being ready", servers.server)
    for pod in _pods(servers):
        wait_until(partial(_evicted, servers, pod["metadata"]["name"]), "its eviction", servers.server)
        # as the kubelet does when the process has ended
        done = servers.kubectl(
            "delete", "pod", pod["metadata"]["name"], "-n", NAMESPACE, "--force", "--grace-period=0", "--ignore-not-found"
        )
        assert done.code == 0, done.stderr
        wait_until(partial(_whole, servers, replicas), "its successor being ready", servers.server)
