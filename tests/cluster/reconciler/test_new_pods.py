"""Snapshots on a real API server: new pods are restored by our webhook, with the entry and the rights of the manifests alone."""

import base64
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.admission.new_pods import OFFER, PATH
from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.render.checkpoint.identity import hash_identity
from tests.cluster.admission import ANYWHERE, COMMAND, start
from tests.cluster.harness import controllers
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, running, wait_until
from tests.cluster.reconciler.scene import CHECKPOINTS, JOBS
from tests.cluster.reconciling import DEPLOYMENTS, GRAPHS, NAMESPACE, PODS, Reconciled, installed
from tests.cluster.rendering import composed, of_kind
from tests.reconciler.rendering import graph, vllm

Node = dict[str, Any]
TARGET: Final = "nvidia.com/snapshot-is-restore-target"
IDENTITY: Final = {"model": "warm", "backendFramework": "vllm"}
DEFINITIONS: Final = (
    crd("DynamoCheckpoint", versions=["v1alpha1"], line=Line.V1_2),
    *(crd(kind, versions=["v1beta1"], line=Line.V1_5) for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment")),
)
CONFIGURATION: Final = """
checkpoint:
  enabled: true
  onReady: {}
  storage: {{type: pvc, pvc: {{pvcName: snaps, basePath: /snapshots, create: true, size: 1Gi}}}}
"""


@contextlib.contextmanager
def checkpointing(planes: Planes, home: Path, objects: list[Node], on_ready: str) -> Iterator[Reconciled]:
    """A control plane whose reconciler has the overlay of checkpoints."""
    with installed(planes, home, objects=objects, definitions=DEFINITIONS) as site, controllers(site.plane), site.pods:
        with (home / "config.yaml").open("a") as file:
            file.write(CONFIGURATION.format(on_ready))
        site.reconcile()
        yield site


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Node]:
    """The installation with checkpoints."""
    return composed(tmp_path_factory.mktemp("rendered"), "self-signed", "components/checkpoints")


@pytest.fixture
def site(planes: Planes, tmp_path: Path, objects: list[Node]) -> Iterator[Reconciled]:
    with checkpointing(planes, tmp_path, objects, "wait") as cluster:
        yield cluster


@pytest.fixture
def server(site: Reconciled, objects: list[Node]) -> Iterator[Process]:
    """A server with its account's rights, and the manifests' entry of pods, which leads to it."""
    kubeconfig = site.plane.kubeconfig_of("dynamo-webhooks-server", NAMESPACE, site.home / "server.kubeconfig")
    flags: dict[str, Any] = {"cert_dir": site.home / "certs", "config": site.home / "config.yaml", "kubeconfig": kubeconfig}
    flags |= {"account": f"{NAMESPACE}/dynamo-webhooks-server", "listen": ANYWHERE}
    with running(start("server", site.home, COMMAND, "serve", "--self-signed", **flags)) as process:
        ready = wait_until(lambda: re.search(r"^ready (https://\S+)", process.text(), re.MULTILINE), "the server being ready", process)
        [configuration] = of_kind(objects, "MutatingWebhookConfiguration")
        [entry] = [webhook for webhook in configuration["webhooks"] if webhook["clientConfig"]["service"]["path"] == PATH]
        bundle = base64.b64encode((site.home / "certs" / "ca.crt").read_bytes()).decode()
        entry = {**entry, "clientConfig": {"url": ready[1] + PATH, "caBundle": bundle}}
        kind = {name: configuration[name] for name in ("apiVersion", "kind")}
        site.plane.apply({**kind, "metadata": {"name": "pods"}, "webhooks": [entry]})
        yield process


def _pods(site: Reconciled, namespace: str) -> dict[str, bool]:
    """The worker's pods, and whether each is restored."""
    pods = site.plane.request("GET", PODS.format(namespace)).body["items"]
    metadata = [pod["metadata"] for pod in pods if "nvidia.com/selector" in pod["metadata"].get("labels", {})]
    return {entry["name"]: entry["labels"].get(TARGET) == "true" for entry in metadata}


def _scale(site: Reconciled, namespace: str, replicas: int) -> dict[str, bool]:
    """The pods that a change of the replicas adds."""
    before = _pods(site, namespace)
    site.patch(
        GRAPHS, namespace, "g", [{"op": "replace", "path": "/spec/components/0/replicas", "value": replicas}], "application/json-patch+json"
    )
    site.until(lambda: len(_pods(site, namespace)) == replicas, f"{replicas} workers")
    return {name: restored for name, restored in _pods(site, namespace).items() if name not in before}


def test_a_pod_that_is_added_to_cold_workers_starts_restored(site: Reconciled, server: Process) -> None:
    namespace, of = site.plane.namespace(), hash_identity(IDENTITY)
    made = graph(vllm("worker", replicas=2, experimental={"checkpoint": {"enabled": True, "identity": IDENTITY}}))
    made["metadata"]["namespace"] = namespace
    site.plane.apply(made)
    site.ready(namespace)
    job, name = f"checkpoint-job-{of}-1", f"checkpoint-{of}"
    site.until(lambda: job in site.names(JOBS, namespace), "the Job being made")
    site.patch(JOBS, namespace, job, {"metadata": {"annotations": {"nvidia.com/snapshot-checkpoint-status": "completed"}}})

    def offered() -> list[str]:
        annotations = site.get(CHECKPOINTS, namespace, name)["metadata"]["annotations"]
        return [key.removeprefix(OFFER) for key in annotations if key.startswith(OFFER)]

    site.until(lambda: len(offered()) == 1, "the snapshot being offered")
    [worker] = offered()
    main = {"name": "main", "image": "img:1"}
    pod: Node = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", "labels": {"nvidia.com/selector": worker}}}
    pod["spec"] = {
        "containers": [{**main, "image": site.get(DEPLOYMENTS, namespace, worker)["spec"]["template"]["spec"]["containers"][0]["image"]}]
    }

    def tried(sent: Node) -> Node:
        return site.plane.request("POST", PODS.format(namespace) + "?dryRun=All", sent).done()

    site.until(lambda: tried(pod)["metadata"]["labels"].get(TARGET) == "true", "new pods being restored")
    foreign = {**pod, "metadata": {"name": "try"}}
    assert tried(foreign)["spec"]["containers"][0].get("command") is None
    generation = site.get(DEPLOYMENTS, namespace, worker)["metadata"]["generation"]
    assert [*_scale(site, namespace, 3).values()] == [True]
    [added] = [pod_name for pod_name, restored in _pods(site, namespace).items() if restored]
    spec = site.get(PODS, namespace, added)["spec"]
    assert spec["containers"][0]["command"] == ["sleep", "infinity"]
    assert {"checkpoint-storage", "snapshot-control", "podinfo"} <= {volume["name"] for volume in spec["volumes"]}
    assert site.get(DEPLOYMENTS, namespace, worker)["metadata"]["generation"] == generation + 1, "its replicas changed, and nothing else"
    site.ready(namespace)
    before = site.get(CHECKPOINTS, namespace, name)["metadata"]["resourceVersion"]
    assert server.stop(patience=60) == 0
    assert [*_scale(site, namespace, 4).values()] == [False], "without an answer a pod starts cold"
    assert site.get(CHECKPOINTS, namespace, name)["metadata"]["resourceVersion"] == before
