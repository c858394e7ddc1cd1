"""A control plane whose reconciler may do all for some kinds; and what agents, kubelets, users and worker pods do with those."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.operator.controllers import Requests
from dynamo_webhooks.kube.client import connect
from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.reconciler.reconciler import Reconciler
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane, controllers
from tests.cluster.planes import Planes
from tests.cluster.processes import WAIT_SECONDS
from tests.cluster.reconciling import KINDS, PODS, install_accounts, reconciling
from tests.cluster.rendering import composed
from tests.reconciler.model.workers import FakeWorkers

Node: TypeAlias = dict[str, Any]
CHECKPOINTS: Final = "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamocheckpoints"
MODELS: Final = "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamomodels"
REQUESTS: Final = "/apis/nvidia.com/v1beta1/namespaces/{}/dynamographdeploymentrequests"
JOBS: Final = "/apis/batch/v1/namespaces/{}/jobs"
MAPS: Final = "/api/v1/namespaces/{}/configmaps"
BASE: Final = "Qwen/Qwen3-0.6B"
NODE: Final = "n"  # endpoints are of pods that have been scheduled


@contextlib.contextmanager
def granted(planes: Planes, home: Path, *components: str) -> Iterator[ControlPlane]:
    """The control plane with Kubernetes' own controllers; the components of the manifests give the reconciler its optional rights."""
    with planes.lend() as plane:
        install(plane, *(crd(kind, versions=["v1beta1"], line=Line.V1_2) for kind in (*KINDS, "DynamoGraphDeploymentRequest")))
        install(
            plane,
            *(crd(kind, versions=["v1alpha1"], line=Line.V1_2) for kind in ("DynamoCheckpoint", "DynamoModel", "DynamoWorkerMetadata")),
        )
        install_accounts(plane, home, composed(home / "rendered", "self-signed", *(f"components/{name}" for name in components)))
        plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        with controllers(plane):
            yield plane


class Scene:
    """A namespace of its own."""

    def __init__(self, plane: ControlPlane, home: Path) -> None:
        self.plane, self.home, self.namespace = plane, home, plane.namespace()
        self.fleet = FakeWorkers()

    def reconciling(self, **changed: Any) -> AbstractAsyncContextManager[Reconciler]:
        """A reconciler with nothing but its account's rights; `changed` as `reconciling` has it."""
        how = Requests(copier_image="dynamo-webhooks:1", deadline=3600.0)
        return reconciling(self.home, lambda _: self.fleet, **{"requests": how, **changed})

    async def ask(self, verb: str, path: str, body: Node | None = None, kind: str = "application/json") -> Node:
        """One call of an admin."""
        reply = await asyncio.to_thread(self.plane.request, verb, path.format(self.namespace), body, kind=kind)
        assert reply.status < 300, reply.body
        return reply.body

    async def all(self, path: str) -> list[Node]:
        """All objects of a collection."""
        objects: list[Node] = (await self.ask("GET", path))["items"]
        return objects

    async def request(self, name: str = "chat", annotations: dict[str, str] | None = None, **spec: Any) -> None:
        """Creates a request as a user with a model and hardware does."""
        hardware = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8, "totalGpus": 8, "interconnect": "nvlink", "rdma": False}
        whole = {"model": BASE, "backend": "vllm", "image": "planner:1", "hardware": hardware, **spec}
        made = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "spec": whole}
        made["metadata"] = {"name": name, "annotations": annotations or {}}
        await self.ask("POST", REQUESTS, made)

    async def until(self, path: str, name: str, question: Callable[[Node], object]) -> Node:
        """Waits for an object to be so; one that isn't there is empty."""
        obj: Node = {}
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while True:
                    reply = await asyncio.to_thread(self.plane.request, "GET", f"{path.format(self.namespace)}/{name}")
                    obj = reply.body if reply.status == 200 else {}
                    if question(obj):
                        return obj
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(json.dumps(obj.get("status"))) from None

    async def phase(self, wanted: str, name: str = "chat") -> Node:
        """Waits for a request to be in a phase."""
        return await self.until(REQUESTS, name, lambda request: request.get("status", {}).get("phase") == wanted)

    async def pod_of(self, name: str = "chat") -> str:
        """The pod that the Job's controller has made for a request."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                pods = await self.all(f"{PODS}?labelSelector=job-name%3Dprofile-{name}")
                if pods:
                    return str(pods[0]["metadata"]["name"])
                await asyncio.sleep(0.1)

    @contextlib.asynccontextmanager
    async def as_profiler(self, name: str = "chat") -> AsyncIterator[Cluster]:
        """A client with the account of a request's Job."""
        file = self.home / f"{self.namespace}-{name}.kubeconfig"
        await asyncio.to_thread(self.plane.kubeconfig_of, f"dgdr-profiling-job-{name}", self.namespace, file)
        cluster = await connect("profiler", str(file))
        try:
            yield cluster
        finally:
            await cluster.close()


def graph_found(image: str = "i:1", **worker: Any) -> Node:
    """What a profiler finds: a frontend, and workers that serve the model and are scaled by an adapter."""

    def part(name: str, kind: str, **more: Any) -> Node:
        return {"name": name, "type": kind, "podTemplate": {"spec": {"containers": [{"name": "main", "image": image}]}}, **more}

    workers = part("decode", "worker", replicas=2, modelRef={"name": BASE}, scalingAdapter={}, **worker)
    spec = {"backendFramework": "vllm", "components": [part("Frontend", "frontend", replicas=1), workers]}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "agg"}, "spec": spec}
