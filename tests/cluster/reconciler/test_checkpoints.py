"""DynamoCheckpoints on a real API server with the real controllers of Jobs and of garbage, and with real rights."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.reconciler.render.checkpoint.identity import hash_identity
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE
from tests.cluster.reconciler.scene import CHECKPOINTS, JOBS
from tests.cluster.reconciler.test_new_pods import TARGET, checkpointing
from tests.cluster.reconciling import COMPONENTS, DEPLOYMENTS, GRAPHS, PODS, Reconciled
from tests.cluster.rendering import composed
from tests.reconciler.rendering import component, graph, vllm

Node = dict[str, Any]
CLAIMS: Final = "/api/v1/namespaces/{}/persistentvolumeclaims"
STATUS: Final = "nvidia.com/snapshot-checkpoint-status"


@pytest.fixture(scope="module")
def granted(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    home = tmp_path_factory.mktemp("checkpoints")
    with checkpointing(planes, home, composed(home / "rendered", "self-signed", "components/checkpoints"), "roll") as site:
        yield site


def _identity(model: str) -> Node:
    return {"model": model, "backendFramework": "vllm", "tensorParallelSize": 1, "pipelineParallelSize": 1}


def _job(model: str, version: str = "1") -> str:
    return f"checkpoint-job-{hash_identity(_identity(model))}-{version}"


def _checkpoint(namespace: str, model: str, name: str = "") -> Node:
    template = {"spec": {"containers": [{"name": "main", "image": "img:1", "command": ["serve"]}]}}
    spec = {"identity": _identity(model), "job": {"podTemplateSpec": template}}
    metadata = {"name": name or model, "namespace": namespace}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoCheckpoint", "metadata": metadata, "spec": spec}


def _status(site: Reconciled, namespace: str, name: str) -> Node:
    status: Node = site.get(CHECKPOINTS, namespace, name).get("status", {})
    return status


def _phase(site: Reconciled, namespace: str, name: str) -> str:
    return str(_status(site, namespace, name).get("phase", ""))


def _reason(status: Node, kind: str) -> str:
    return str(next((condition["reason"] for condition in status.get("conditions", ()) if condition["type"] == kind), ""))


def _mark(site: Reconciled, namespace: str, job: str, value: str) -> None:
    """What an agent writes on a Job."""
    site.patch(JOBS, namespace, job, {"metadata": {"annotations": {STATUS: value}}})


def _end(site: Reconciled, namespace: str, job: str, phase: str) -> None:
    """What a kubelet writes when the pod of a Job has ended; the Job's controller does the rest."""

    def running() -> list[str]:
        pods = site.plane.request("GET", PODS.format(namespace)).body["items"]
        return [obj["metadata"]["name"] for obj in pods if obj["metadata"]["name"].startswith(job) and obj["status"]["phase"] == "Running"]

    site.until(lambda: len(running()) == 1, f"the pod of {job} being there")
    [pod] = running()
    ended = {"terminated": {"exitCode": 0 if phase == "Succeeded" else 1}}
    containers = [{"name": "main", "state": ended, "image": "i", "imageID": "i", "ready": False, "restartCount": 0}]
    site.patch(PODS, namespace, f"{pod}/status", {"status": {"phase": phase, "containerStatuses": containers}})


def _warm(namespace: str, model: str = "warm", **policies: str) -> Node:
    wanted = {"enabled": True, "identity": {"model": model, "backendFramework": "vllm"}, **policies}
    made = graph(
        component("Frontend", "frontend", {"image": "img:1"}, replicas=1),
        vllm("worker", replicas=2, experimental={"checkpoint": wanted}),
    )
    made["metadata"]["namespace"] = namespace
    return made


def test_a_graph_runs_while_its_checkpoint_is_made_by_two_processes_and_then_restores_from_it(granted: Reconciled) -> None:
    site, namespace, job = granted, granted.plane.namespace(), _job("warm")
    name = f"checkpoint-{hash_identity(_identity('warm'))}"
    site.plane.apply(_warm(namespace))
    site.ready(namespace)
    site.until(lambda: job in site.names(JOBS, namespace), "the Job being made")
    assert site.names(CLAIMS, namespace) == {"snaps"}
    entry = {"checkpointName": name, "identityHash": hash_identity(_identity("warm")), "ready": False}
    site.until(lambda: site.get(GRAPHS, namespace, "g")["status"].get("checkpoints") == {"worker": entry}, "the graph naming it")
    workers = {child for child in site.names(COMPONENTS, namespace) if "worker" in child}
    assert site.processes.pop().stop(patience=60) == 0
    _mark(site, namespace, job, "completed")
    _end(site, namespace, job, "Succeeded")
    site.reconcile()
    site.until(lambda: _phase(site, namespace, name) == "Ready", "the checkpoint being ready")
    status = _status(site, namespace, name)
    finished = site.get(JOBS, namespace, job)
    assert status["location"] == f"/snapshots/{entry['identityHash']}/versions/1"
    assert status["createdAt"] == finished["status"].get("completionTime", status["createdAt"])
    site.until(lambda: site.get(JOBS, namespace, job)["spec"].get("ttlSecondsAfterFinished") == 300, "the Job being let go")
    [worker] = workers
    site.until(lambda: _template(site, namespace, worker)["metadata"]["labels"].get(TARGET) == "true", "the workers being restored")
    assert _template(site, namespace, worker)["spec"]["containers"][0]["command"] == ["sleep", "infinity"]
    site.ready(namespace)
    assert {child for child in site.names(COMPONENTS, namespace) if "worker" in child} == workers
    site.until(lambda: _reason(site.get(GRAPHS, namespace, "g")["status"], "Restore") == "Restored", "the graph saying so")
    assert site.get(GRAPHS, namespace, "g")["status"]["checkpoints"] == {"worker": {**entry, "ready": True}}
    before = [site.get(path, namespace, target)["metadata"] for path, target in ((CHECKPOINTS, name), (JOBS, job))]
    site.plane.apply(_checkpoint(namespace, "other"))  # the reconciler is awake and at work meanwhile
    site.until(lambda: _phase(site, namespace, "other") == "Creating", "the other checkpoint being made")
    assert [site.get(path, namespace, target)["metadata"] for path, target in ((CHECKPOINTS, name), (JOBS, job))] == before, "it is at rest"
    assert site.plane.request("DELETE", f"{CHECKPOINTS.format(namespace)}/other").status == 200
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
    made = (CHECKPOINTS, JOBS, DEPLOYMENTS, PODS, COMPONENTS)  # the checkpoint, too: its deletionPolicy is Delete unless a graph says other
    site.until(lambda: not any(site.names(path, namespace) for path in made), "nothing being left")
    assert site.names(CLAIMS, namespace) == {"snaps"}


def _template(site: Reconciled, namespace: str, name: str) -> Node:
    template: Node = site.get(DEPLOYMENTS, namespace, name)["spec"]["template"]
    return template


def test_what_agents_and_jobs_say_becomes_a_phase(granted: Reconciled) -> None:
    site, namespace = granted, granted.plane.namespace()
    models = ("failed", "unmarked", "broken", "dumped", "first")
    site.plane.apply(*(_checkpoint(namespace, model) for model in models))
    site.plane.apply(_checkpoint(namespace, "first", "second"))
    site.until(lambda: site.names(JOBS, namespace) == {_job(model) for model in models}, "one Job of each identity")
    _mark(site, namespace, _job("failed"), "failed")
    _mark(site, namespace, _job("dumped"), "completed")
    _end(site, namespace, _job("unmarked"), "Succeeded")
    _end(site, namespace, _job("broken"), "Failed")
    _end(site, namespace, _job("dumped"), "Failed")
    expected = {
        "failed": ("Failed", "JobFailed"),
        "unmarked": ("Failed", "CheckpointVerificationFailed"),
        "broken": ("Failed", "JobFailed"),
        "dumped": ("Ready", "JobSucceeded"),
    }
    ends = {model: phase for model, (phase, _) in expected.items()}
    site.until(lambda: {model: _phase(site, namespace, model) for model in ends} == ends, f"these phases: {ends}")
    for model, (_, reason) in expected.items():
        assert _reason(_status(site, namespace, model), "JobCompleted") == reason
    younger = max(("first", "second"), key=lambda name: (site.get(CHECKPOINTS, namespace, name)["metadata"]["creationTimestamp"], name))
    site.until(lambda: _reason(_status(site, namespace, younger), "JobCreated") == "Duplicate", "the younger being told")
    before = site.get(JOBS, namespace, _job("failed"))["metadata"]["uid"]
    site.patch(CHECKPOINTS, namespace, "failed", {"metadata": {"annotations": {"webhooks.nvidia.com/retry": "1"}}}, MERGE)
    site.until(lambda: _phase(site, namespace, "failed") == "Creating", "another try")
    assert site.get(JOBS, namespace, _job("failed"))["metadata"]["uid"] != before
    site.patch(CHECKPOINTS, namespace, "dumped", {"metadata": {"annotations": {"nvidia.com/snapshot-artifact-version": "2"}}})
    site.until(lambda: _job("dumped", "2") in site.names(JOBS, namespace), "a Job of the next version")
    assert _job("dumped") in site.names(JOBS, namespace)
    for name in site.names(CHECKPOINTS, namespace):
        assert site.plane.request("DELETE", f"{CHECKPOINTS.format(namespace)}/{name}").status == 200
    site.until(lambda: not site.names(JOBS, namespace) | site.names(PODS, namespace), "no Job and no pod being left")
