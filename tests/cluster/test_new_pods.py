"""Pods of workers on a real API server: new ones are restored by our webhook, with the entry and the rights of the manifests alone."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.admission.new_pods import OFFER, PATH
from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.render.checkpoint.identity import identity_hash
from tests.cluster.admission import COMMAND
from tests.cluster.processes import Process, running, wait_until
from tests.cluster.reconciling import COMPONENTS, DEPLOYMENTS, GRAPHS, NAMESPACE, PODS, Reconciled, controllers, installed
from tests.cluster.rendering import composed, of_kind
from tests.cluster.scene import CHECKPOINTS, JOBS, MAPS
from tests.reconciler.rendering import graph, vllm

Node = dict[str, Any]
TARGET: Final = "nvidia.com/snapshot-is-restore-target"
IDENTITY: Final = {"model": "warm", "backendFramework": "vllm"}
CONFIGURATION: Final = """
checkpoint:
  enabled: true
  storage: {type: pvc, pvc: {pvcName: snaps, basePath: /snapshots, create: true, size: 1Gi}}
"""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Node]:
    """The installation with checkpoints and labels of places."""
    return composed(tmp_path_factory.mktemp("rendered"), "self-signed", "../checkpoints", "../topology-labels")


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory, objects: list[Node]) -> Iterator[Reconciled]:
    """A control plane with a reconciler."""
    home = tmp_path_factory.mktemp("pods")
    definitions = [crd("DynamoCheckpoint", versions=["v1alpha1"])]
    definitions += [crd(kind, versions=["v1beta1"], line=Line.V1_5) for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment")]
    with installed(assets, home, objects=objects, definitions=definitions) as site, controllers(site.plane), site.pods:
        with (home / "config.yaml").open("a") as file:
            file.write(CONFIGURATION)
        site.reconcile()
        yield site


@pytest.fixture
def server(site: Reconciled, objects: list[Node]) -> Iterator[Process]:
    """A server with its account's rights, and the manifests' entry of pods, which leads to it."""
    kubeconfig = site.plane.kubeconfig_of("dynamo-webhooks-server", NAMESPACE, site.home / "server.kubeconfig")
    flags: dict[str, Any] = {f"--{name}": "127.0.0.1:0" for name in ("listen", "probe-listen", "metrics-listen")}
    flags |= {"--cert-dir": site.home / "certs", "--config": site.home / "config.yaml", "--kubeconfig": kubeconfig}
    words = [str(COMMAND), "serve", "--self-signed", *(str(part) for flag in flags.items() for part in flag)]
    environment = {"POD_NAMESPACE": NAMESPACE, "POD_NAME": "server", "POD_SERVICE_ACCOUNT": "dynamo-webhooks-server"}
    with running(Process("server", words, site.home / "server.log", environment)) as process:
        ready = wait_until(lambda: re.search(r"^ready (https://\S+)", process.text(), re.MULTILINE), "the server being ready", process)
        [configuration] = of_kind(objects, "MutatingWebhookConfiguration")
        [entry] = [one for one in configuration["webhooks"] if one["clientConfig"]["service"]["path"] == PATH]
        bundle = base64.b64encode((site.home / "certs" / "ca.crt").read_bytes()).decode()
        entry = {**entry, "clientConfig": {"url": ready[1] + PATH, "caBundle": bundle}}
        kind = {name: configuration[name] for name in ("apiVersion", "kind")}
        site.plane.apply({**kind, "metadata": {"name": "pods"}, "webhooks": [entry]})
        yield process


def _available(site: Reconciled, namespace: str, component: str) -> int:
    """The available replicas in a component's status, which may lack it for a while."""
    status: Node = site.get(COMPONENTS, namespace, component).get("status", {}).get("component", {})
    return int(status.get("availableReplicas", 0))


def _pods(site: Reconciled, namespace: str) -> dict[str, bool]:
    """The worker's pods, and whether each is restored."""
    found = site.plane.request("GET", PODS.format(namespace)).body["items"]
    metadata = [one["metadata"] for one in found if "nvidia.com/selector" in one["metadata"].get("labels", {})]
    return {one["name"]: one["labels"].get(TARGET) == "true" for one in metadata}


def _scale(site: Reconciled, namespace: str, replicas: int) -> dict[str, bool]:
    """The pods that a change of the replicas adds."""
    before = _pods(site, namespace)
    site.patch(
        GRAPHS, namespace, "g", [{"op": "replace", "path": "/spec/components/0/replicas", "value": replicas}], "application/json-patch+json"
    )
    site.until(lambda: len(_pods(site, namespace)) == replicas, f"{replicas} workers")
    return {name: restored for name, restored in _pods(site, namespace).items() if name not in before}


def test_a_pod_that_is_added_to_cold_workers_starts_restored(site: Reconciled, server: Process) -> None:
    namespace, of = site.plane.namespace(), identity_hash(IDENTITY)
    made = graph(vllm("worker", replicas=2, experimental={"checkpoint": {"enabled": True, "identity": IDENTITY}}))
    made["metadata"]["namespace"] = namespace
    site.plane.apply(made)
    site.ready(namespace)
    job, name = f"checkpoint-job-{of}-1", f"checkpoint-{of}"
    site.until(lambda: job in site.names(JOBS, namespace), "the Job being made")
    site.patch(JOBS, namespace, job, {"metadata": {"annotations": {"nvidia.com/snapshot-checkpoint-status": "completed"}}})

    def offered() -> list[str]:
        annotations = site.get(CHECKPOINTS, namespace, name)["metadata"]["annotations"]
        return [one.removeprefix(OFFER) for one in annotations if one.startswith(OFFER)]

    site.until(lambda: len(offered()) == 1, "the snapshot being offered")
    [worker] = offered()
    main = {"name": "main", "image": "img:1"}
    pod: Node = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "labels": {"nvidia.com/selector": worker}}}
    pod["spec"] = {
        "containers": [{**main, "image": site.get(DEPLOYMENTS, namespace, worker)["spec"]["template"]["spec"]["containers"][0]["image"]}]
    }

    def tried(sent: Node) -> Node:
        reply = site.plane.request("POST", PODS.format(namespace) + "?dryRun=All", sent)
        assert reply.status == 201, reply.body
        return reply.body

    site.until(lambda: tried(pod)["metadata"]["labels"].get(TARGET) == "true", "new pods being restored")
    foreign = {**pod, "metadata": {"name": "try"}}
    assert tried(foreign)["spec"]["containers"][0].get("command") is None
    generation = site.get(DEPLOYMENTS, namespace, worker)["metadata"]["generation"]
    assert [*_scale(site, namespace, 3).values()] == [True]
    [added] = [one for one, restored in _pods(site, namespace).items() if restored]
    spec = site.get(PODS, namespace, added)["spec"]
    assert spec["containers"][0]["command"] == ["sleep", "infinity"]
    assert {"checkpoint-storage", "snapshot-control", "podinfo"} <= {one["name"] for one in spec["volumes"]}
    assert site.get(DEPLOYMENTS, namespace, worker)["metadata"]["generation"] == generation + 1, "its replicas changed, and nothing else"
    site.ready(namespace)
    before = site.get(CHECKPOINTS, namespace, name)["metadata"]["resourceVersion"]
    assert server.stop(patience=60) == 0
    assert [*_scale(site, namespace, 4).values()] == [False], "without an answer a pod starts cold"
    assert site.get(CHECKPOINTS, namespace, name)["metadata"]["resourceVersion"] == before


def test_a_pod_gets_the_label_of_its_nodes_place(site: Reconciled) -> None:
    namespace, zone = site.plane.namespace(), "topology.kubernetes.io/zone"
    site.plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "placed", "labels": {zone: "a", "secret": "x"}}})
    made = graph(vllm("worker"))
    made["metadata"]["namespace"] = namespace
    made["spec"]["experimental"] = {"kvTransferPolicy": {"labelKey": zone, "domain": "zone", "enforcement": "required"}}
    site.plane.apply(made)
    site.until(lambda: len(_pods(site, namespace)) == 1, "the worker's pod")
    [name] = _pods(site, namespace)
    before = site.get(PODS, namespace, name)["metadata"]["labels"]
    assert zone not in before
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "placed"}}
    reply = site.plane.request("POST", f"{PODS.format(namespace)}/{name}/binding", binding)
    assert reply.status == 201, reply.body
    site.until(lambda: site.get(PODS, namespace, name)["metadata"]["labels"] == {**before, zone: "a"}, "the label alone")
    pod = site.get(PODS, namespace, name)
    [volume] = [one for one in pod["spec"]["volumes"] if one["name"] == "topology-labels"]
    assert volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"] == f"metadata.labels['{zone}']"
    site.until(lambda: site.get(GRAPHS, namespace, "g").get("status", {}).get("conditions"), "the status of the graph")
    assert "FieldsIgnored" not in [one["type"] for one in site.get(GRAPHS, namespace, "g")["status"]["conditions"]]


def test_a_restored_pod_whose_memory_is_lost_is_replaced(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    containers = {"containers": [{"name": "main", "image": "i"}]}
    server = {"name": "gms-server", "image": "i", "restartPolicy": "Always"}
    site.plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", "namespace": namespace}})
    uid = site.get(MAPS, namespace, "owner")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True}
    for name, owners in (("broken", [owner]), ("whole", [owner]), ("stray", [])):
        metadata: Node = {"name": name, "namespace": namespace, "labels": {TARGET: "true"}, "ownerReferences": owners}
        metadata["annotations"] = {"nvidia.com/snapshot-target-containers": "main"}
        site.plane.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**containers, "initContainers": [server]}})

    def runs(container: str, since: str, restarts: int) -> Node:
        running = {"running": {"startedAt": since}}
        return {"name": container, "image": "i", "imageID": "i", "ready": True, "started": True, "restartCount": restarts, "state": running}

    for name, restarts, since in (("whole", 0, "2026-01-01T00:00:00Z"), ("broken", 1, "2026-01-01T00:01:00Z")):
        status = {"containerStatuses": [runs("main", "2026-01-01T00:00:30Z", 0)]}
        status["initContainerStatuses"] = [runs("gms-server", since, restarts)]
        site.patch(PODS, namespace, f"{name}/status", {"status": status})
    site.until(lambda: site.names(PODS, namespace) == {"whole", "stray"}, "the broken pod being deleted")
    site.told(namespace, "broken", ("Warning", "RestoredPodReplaced", "Pod broken is replaced: its GPU memory service"))


def test_a_roll_waits_until_frontends_know_the_new_worker(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    made = graph(vllm("worker", replicas=1))
    made["metadata"]["namespace"] = namespace
    site.plane.apply(made)
    site.ready(namespace)

    def register(pod: str) -> None:
        """What a worker does once it serves."""
        uid = site.get(PODS, namespace, pod)["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}
        metadata = {"name": pod, "namespace": namespace, "ownerReferences": [owner]}
        spec: Node = {"data": {"endpoints": {}}}
        site.plane.apply({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoWorkerMetadata", "metadata": metadata, "spec": spec})

    [old] = _pods(site, namespace)
    register(old)
    site.plane.apply({**made, "spec": graph(vllm("worker", args=("--new",), replicas=1))["spec"]})

    def ready() -> list[str]:
        items = site.plane.request("GET", PODS.format(namespace)).body["items"]
        states = {one["metadata"]["name"]: one["status"].get("conditions", ()) for one in items}
        return [name for name, found in states.items() if any(one["type"] == "Ready" and one["status"] == "True" for one in found)]

    site.until(lambda: len(ready()) == 2, "the new pod being ready beside the old one")
    [new] = {*ready()} - {old}
    workers = site.names(COMPONENTS, namespace)
    component = next(name for name in workers if new.startswith(name))
    site.until(lambda: _available(site, namespace, component) == 1, "it being available")
    assert site.plane.kubectl("wait", "--for=delete", "-n", namespace, f"pod/{old}", "--timeout=5s").code != 0
    assert (site.state(namespace), {*ready()}) == ("pending", {old, new})
    register(new)
    site.until(lambda: {*_pods(site, namespace)} == {new}, "the old worker going")
    site.ready(namespace)
