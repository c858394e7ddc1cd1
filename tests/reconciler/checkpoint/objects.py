"""Checkpoints, Jobs and Leases for tests."""

from typing import Any, Final

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.render.checkpoint.identity import hash_identity

IDENTITY: Final = {"model": "m", "backendFramework": "vllm", "tensorParallelSize": 2, "pipelineParallelSize": 1}
HASH: Final = hash_identity(IDENTITY)
JOB: Final = f"checkpoint-job-{HASH}-1"
STATUS: Final = "nvidia.com/snapshot-checkpoint-status"


def checkpoint(name: str = "ck", *, version: str = "", **job: Any) -> Node:
    """A checkpoint of a worker on two GPUs."""
    main = {"name": "main", "image": "img:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
    template = {"podTemplateSpec": {"spec": {"containers": [main]}}, **job}
    annotations = {"annotations": {"nvidia.com/snapshot-artifact-version": version}} if version else {}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoCheckpoint",
        "metadata": {"name": name, "namespace": "demo", **annotations},
        "spec": {"identity": dict(IDENTITY), "job": template},
    }


def ended(how: str, moment: str = "2030-01-01T00:00:00Z") -> Node:
    """The status of a Job that is `Complete` or `Failed`."""
    conditions = [{"type": how, "status": "True", "lastTransitionTime": moment}]
    return {"conditions": conditions, **({"completionTime": moment} if how == "Complete" else {})}


def lease(renewed: str, seconds: int = 30, name: str = JOB) -> Node:
    """The Lease by which an agent says that it is at work."""
    spec = {"holderIdentity": "agent", "leaseDurationSeconds": seconds, "renewTime": renewed}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": "demo"}, "spec": spec}


DONE: Final[Node] = {**checkpoint(), "status": {"phase": "Ready", "jobName": ""}}  # one whose snapshot is there
TAKEN: Final[Node] = {**checkpoint(), "status": {"phase": "Ready", "jobName": JOB}}  # the same, and its Job may be there
