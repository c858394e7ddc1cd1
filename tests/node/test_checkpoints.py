"""A checkpoint's Job and the restore of workers from it, with a stand-in for the agent that writes and reads snapshots."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.playing import MERGE
from tests.cluster.reconciler.scene import CHECKPOINTS, JOBS
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.graphs import Graph
from tests.node.image import ENGINE
from tests.node.installing import stand

Json = dict[str, Any]
# DynamoCheckpoints are of operator 1.2 to 1.4
_OVERLAY: Final = """
mkdir manifests/overlays/own
cat > manifests/overlays/own/kustomization.yaml <<'EOF'
resources: [../self-signed]
components: [../../components/checkpoints]
EOF
cat >> manifests/base/config.yaml <<'EOF'
operator: {version: 1.4.0}
checkpoint:
  enabled: true
  onReady: roll
  storage: {type: pvc, pvc: {pvcName: snaps, basePath: /snapshots, create: true, size: 1Gi}}
EOF
"""
_TARGET: Final = "nvidia.com/snapshot-is-restore-target=true"
# pods that use the claim keep it
_REMOVE: Final = f"""
kubectl delete dgd,dckpt --all --all-namespaces
kubectl delete pods --all-namespaces --force --selector {_TARGET}
kubectl delete pvc --all --all-namespaces
kubectl delete pv snapshots
"""
_STATUS: Final = "nvidia.com/snapshot-checkpoint-status"
_RESTORE: Final = "sh -c 'python3 -m dynamo.vllm > /dev/null 2>&1 &'"


@pytest.fixture(scope="module")
def admin(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    cluster.first.import_other(ENGINE)
    # which the agent's DaemonSet puts on each node
    profile = cluster.home / cluster.first.place.name / "kubelet" / "seccomp" / "profiles" / "block-iouring.json"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_text('{"defaultAction": "SCMP_ACT_ALLOW"}')
    home = tmp_path_factory.mktemp("checkpoints")
    administrator = stand(cluster, home, _OVERLAY, line="1.4")
    cluster.plane.apply(_volume(home / "snapshots"))
    yield administrator
    # the claim, which holds data, stays when everything else is deleted
    administrator.run(_REMOVE)


def _volume(folder: Path) -> Json:
    """Where snapshots lie."""
    how = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain"}
    where = {"hostPath": {"path": str(folder), "type": "DirectoryOrCreate"}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "snapshots"}, "spec": {**how, **where}}


def test_workers_are_restored_from_the_checkpoint_that_their_job_has_made(cluster: Cluster, admin: Admin) -> None:
    graph = Graph(cluster, admin)
    checkpoint = {"enabled": True, "identity": {"model": "warm", "backendFramework": "vllm"}}
    workers = _component("worker", "dynamo.vllm", 2)
    graph.write([_component("frontend", "dynamo.serving", 1), {**workers, "experimental": {"checkpoint": checkpoint}}])
    _take(cluster, admin, graph.namespace)
    restored: set[str] = set()

    def is_restored() -> bool:
        for pod in {*_targets(cluster, graph)} - restored:
            admin.run(f"kubectl -n {graph.namespace} exec {pod} -c main -- {_RESTORE}")
            restored.add(pod)
        graph.message()
        return graph.reason("Restore") == "Restored" and graph.status().get("state") == "successful"

    cluster.until(is_restored, "the graph being restored")
    assert cluster.has_ready(graph.namespace, 2, _TARGET), cluster.describe_pods()


def _component(kind: str, module: str, replicas: int) -> Json:
    main = {"name": "main", "image": ENGINE, "command": ["python3", "-m", module]}
    return {"name": kind, "type": kind, "replicas": replicas, "podTemplate": {"spec": {"containers": [main]}}}


def _take(cluster: Cluster, admin: Admin, namespace: str) -> None:
    """Does what the agent does with the pod of a checkpoint's Job: waits until it is warm, marks the Job, and ends the process."""
    cluster.until(
        lambda: [job for job in cluster.items(JOBS.format(namespace)) if job["status"].get("ready")], "the Job's worker being warm"
    )
    [job] = [job["metadata"]["name"] for job in cluster.items(JOBS.format(namespace))]
    [pod] = cluster.pods(namespace, f"job-name={job}")
    path = f"{JOBS.format(namespace)}/{job}"
    assert cluster.plane.request("PATCH", path, {"metadata": {"annotations": {_STATUS: "completed"}}}, kind=MERGE).status == 200
    end = "python3 -c 'import os; os.kill(1, 15)' || true"  # which ends with the process
    admin.run(f"kubectl -n {namespace} exec {pod['metadata']['name']} -c main -- {end}")
    checkpoints = CHECKPOINTS.format(namespace)
    cluster.until(
        lambda: [each for each in cluster.items(checkpoints) if each["status"].get("phase") == "Ready"], "the checkpoint being ready"
    )


def _targets(cluster: Cluster, graph: Graph) -> list[str]:
    """The pods that wait to be restored."""
    return [pod["metadata"]["name"] for pod in cluster.pods(graph.namespace, _TARGET) if pod["status"].get("phase") == "Running"]
