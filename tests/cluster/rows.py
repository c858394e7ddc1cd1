"""A control plane whose reconciler may do all for models, checkpoints and requests, and what agents, kubelets and users do with those."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.kube.times import micro
from dynamo_webhooks.reconciler.checkpoint.identity import hash_of
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.playing import MERGE
from tests.cluster.reconciling import KINDS, PODS, controllers, install_accounts
from tests.cluster.rendering import composed
from tests.cluster.test_checkpoints import CHECKPOINTS, CLAIMS
from tests.cluster.test_requests import JOBS, NODE, REQUESTS, Scene
from tests.reconciler.checkpoint_objects import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Node = dict[str, Any]
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


@contextlib.contextmanager
def granted(assets: Path, home: Path) -> Iterator[ControlPlane]:
    """The control plane with Kubernetes' own controllers."""
    with control_plane(assets, home) as plane:
        kinds = (*KINDS, "DynamoGraphDeploymentRequest")
        plane.install(*(crd(kind, versions=["v1beta1"]) for kind in kinds), crd("DynamoCheckpoint", versions=["v1alpha1"]))
        plane.install(crd("DynamoModel", versions=["v1alpha1"]), crd("DynamoWorkerMetadata", versions=["v1alpha1"]))
        install_accounts(plane, home, composed(home / "rendered", "self-signed", "../models", "../requests", "../checkpoints"))
        plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        with controllers(plane):
            yield plane


class Rows(Scene):
    """A namespace with checkpoints and requests."""

    async def checkpoint(self, name: str) -> str:
        """Creates a checkpoint of an identity of its own; gives the name of its Job."""
        made = checkpoint(name)
        made["metadata"]["namespace"] = self.namespace
        made["spec"]["identity"]["model"] = name
        await self.ask("POST", CHECKPOINTS, made)
        return f"checkpoint-job-{hash_of(made)}-1"

    async def step(self, phase: str, name: str, reason: str = "") -> Node:
        """Waits for a checkpoint to be in a phase, with a condition of a reason."""

        def is_so(one: Node) -> bool:
            status = one.get("status", {})
            return status.get("phase") == phase and (not reason or reason in [each["reason"] for each in status.get("conditions", ())])

        return await self.until(CHECKPOINTS, name, is_so)

    async def ended(self, job: str, phase: str = "Succeeded") -> None:
        """Has the pod of a Job end, as its kubelet says, and waits for the Job's controller."""
        pod = await self.pod_of_job(job)
        await self.ask("PATCH", f"{PODS}/{pod}/status", {"status": {"phase": phase}}, MERGE)
        kind = "Complete" if phase == "Succeeded" else "Failed"
        await self.until(JOBS, job, lambda one: kind in [each["type"] for each in one.get("status", {}).get("conditions", ())])

    async def leased(self, job: str, seconds: int) -> None:
        """What an agent writes that is at work on a Job."""
        spec = {"holderIdentity": "agent", "leaseDurationSeconds": seconds, "renewTime": micro(datetime.now(UTC) - timedelta(seconds=5))}
        await self.ask("POST", LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": job}, "spec": spec})

    async def mark(self, path: str, name: str, annotations: dict[str, str]) -> None:
        """Changes annotations."""
        await self.ask("PATCH", f"{path}/{name}", {"metadata": {"annotations": annotations}}, MERGE)

    async def claim(self) -> None:
        """Creates the claim for snapshots."""
        spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        await self.ask("POST", CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "snaps"}, "spec": spec})

    async def told(self, name: str, kind: str) -> tuple[str, str]:
        """Reason and message of a condition of a request."""
        found = (await self.ask("GET", f"{REQUESTS}/{name}"))["status"]["conditions"]
        return next(((one["reason"], one["message"]) for one in found if one["type"] == kind), ("", ""))
