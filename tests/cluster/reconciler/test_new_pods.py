"""Snapshots on a real API server: new pods are restored by our webhook, with the entry and the rights of the manifests alone, and graphs of
line 1.5 read PodSnapshots."""

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
from tests.cluster.objects import foreign
from tests.cluster.processes import Process, running, wait_until
from tests.cluster.reconciler.scene import CHECKPOINTS, JOBS
from tests.cluster.reconciling import DEPLOYMENTS, GRAPHS, NAMESPACE, PODS, Reconciled, controllers, installed
from tests.cluster.rendering import composed, of_kind
from tests.reconciler.rendering import graph, vllm

Node = dict[str, Any]
TARGET: Final = "nvidia.com/snapshot-is-restore-target"
IDENTITY: Final = {"model": "warm", "backendFramework": "vllm"}
DEFINITIONS: Final = [crd(kind, versions=["v1beta1"], line=Line.V1_5) for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment")]
CONFIGURATION: Final = """
checkpoint:
  enabled: true
  storage: {type: pvc, pvc: {pvcName: snaps, basePath: /snapshots, create: true, size: 1Gi}}
"""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Node]:
    """The installation with checkpoints."""
    return composed(tmp_path_factory.mktemp("rendered"), "self-signed", "../checkpoints")


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory, objects: list[Node]) -> Iterator[Reconciled]:
    """A control plane with a reconciler."""
    home = tmp_path_factory.mktemp("pods")
    definitions = [crd("DynamoCheckpoint", versions=["v1alpha1"]), *DEFINITIONS]
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


SNAPSHOTS: Final = "/apis/nvidia.com/v1alpha1/namespaces/{}/podsnapshots"


def _definition() -> Node:
    """As much of it as is known: a pod and one of its containers."""
    found = foreign("nvidia.com", "PodSnapshot", "podsnapshots", version="v1alpha1")
    containers = {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "string"}}
    schema: Node = {"type": "object", "properties": {"containers": containers}}
    for name in ("podRef", "source", "spec"):
        schema = {"type": "object", "properties": {name: schema}}
    found["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return found


def _graph(namespace: str, name: str, snapshot: str) -> Node:
    wanted = {"enabled": True, "checkpointRef": snapshot, "startupPolicy": "WaitForCheckpoint"}
    made = graph(vllm(main={"image": "img:1.5.0"}, experimental={"checkpoint": wanted}), name=name)
    made["metadata"]["namespace"] = namespace
    return made


def test_a_graph_reads_the_snapshot_that_it_names_and_starts_cold(assets: Path, tmp_path: Path, objects: list[Node]) -> None:
    """Graphs of line 1.5 name one, which the reconciler may read with the overlay of checkpoints alone."""
    with (
        installed(assets, tmp_path, objects=objects, definitions=[_definition(), *DEFINITIONS]) as site,
        controllers(site.plane),
        site.pods,
    ):
        config = tmp_path / "config.yaml"
        config.write_text(f"{config.read_text()}\noperator: {{version: 1.5.0}}\ncheckpoint: {{enabled: true}}\n")
        site.reconcile()
        namespace = site.plane.namespace()
        spec = {"source": {"podRef": {"containers": ["main"]}}}
        metadata = {"name": "snap", "namespace": namespace}
        site.plane.apply({"apiVersion": "nvidia.com/v1alpha1", "kind": "PodSnapshot", "metadata": metadata, "spec": spec})
        before = site.get(SNAPSHOTS, namespace, "snap")
        site.plane.apply(_graph(namespace, "g", "snap"), _graph(namespace, "h", "other"))

        def restore(name: str) -> str:
            found = site.condition(namespace, name, "Restore")
            return f"{found['reason']}: {found['message']}" if found else ""

        site.until(lambda: restore("g").startswith("RestoreUnavailable: worker: PodSnapshot snap is there"), "the snapshot being read")
        site.until(
            lambda: restore("h") == "CheckpointMissing: worker: PodSnapshot other is not there; pods start cold", "the other one missing"
        )
        for name in ("g", "h"):
            site.ready(namespace, name)
        assert site.get(SNAPSHOTS, namespace, "snap") == before
