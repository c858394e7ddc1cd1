"""DynamoGraphDeploymentRequests on a real API server with Kubernetes' own controllers: from a request to traffic, and to nothing again.

The profiler's pod is played here, with its own account and the real copier; worker pods answer behind a socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.operator.settings import RequestSettings
from dynamo_webhooks.kube.client import connect
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, Resource
from dynamo_webhooks.reconciler.loop.kinds import GRAPHS as GRAPHS_RESOURCE
from dynamo_webhooks.reconciler.loop.kinds import REQUESTS as REQUESTS_RESOURCE
from dynamo_webhooks.reconciler.loop.reconciler import Reconciler
from dynamo_webhooks.reconciler.request.copier import copy
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.playing import MERGE, Player
from tests.cluster.processes import PATIENCE
from tests.cluster.reconciling import (
    ADAPTERS,
    COMPONENTS,
    DEPLOYMENTS,
    GRAPHS,
    KINDS,
    PODS,
    SERVICES,
    controllers,
    install_accounts,
    reconciling,
)
from tests.cluster.rendering import composed
from tests.cluster.test_models import BASE, MODELS, Fleet

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from dynamo_webhooks.kube.protocol import Cluster

Node: TypeAlias = dict[str, Any]
REQUESTS: Final = "/apis/nvidia.com/v1beta1/namespaces/{}/dynamographdeploymentrequests"
JOBS: Final = "/apis/batch/v1/namespaces/{}/jobs"
MAPS: Final = "/api/v1/namespaces/{}/configmaps"
RIGHTS: Final = ("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles", "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings")
NODE: Final = "n"


class Kubelet(Player):
    """Binds worker pods and makes them ready at an address of their own; lets go of pods that are being deleted."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        super().__init__(plane, PODS.format(namespace))
        self._namespace = namespace
        self.addresses: dict[str, str] = {}
        self.held = False  # whether no pod starts

    def see_to(self, pod: Node) -> None:
        """Plays the kubelet for one pod; a profiler's is played elsewhere."""
        name = pod["metadata"]["name"]
        path = f"{PODS.format(self._namespace)}/{name}"
        if pod["metadata"].get("deletionTimestamp"):
            self.plane.request("DELETE", f"{path}?gracePeriodSeconds=0")
        elif "job-name" not in pod["metadata"]["labels"] and name not in self.addresses and not self.held:
            target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": NODE}}
            self.plane.request("POST", f"{path}/binding", target)
            address = f"10.7.0.{len(self.addresses) + 1}"
            ready = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
            status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": ready}
            if self.plane.request("PATCH", f"{path}/status", {"status": status}, kind=MERGE).status == 200:
                self.addresses[name] = address


class Scene:
    """A namespace of its own."""

    def __init__(self, plane: ControlPlane, home: Path, fleet: Fleet) -> None:
        self.plane, self.home, self.fleet, self.namespace = plane, home, fleet, plane.namespace()

    def reconciling(self, **changed: Any) -> AbstractAsyncContextManager[Reconciler]:
        """A reconciler with nothing but its account's rights; `changed` as `reconciling` has it."""
        how = RequestSettings("dynamo-webhooks:1", 3600.0, write_hardware=False)
        return reconciling(self.home, self.fleet.caller, **{"requests": how, **changed})

    async def ask(self, verb: str, path: str, body: Node | None = None, kind: str = "application/json") -> Node:
        """One call of an admin."""
        reply = await asyncio.to_thread(self.plane.request, verb, path.format(self.namespace), body, kind=kind)
        assert reply.status < 300, reply.body
        return reply.body

    async def all(self, path: str) -> list[Node]:
        """All objects of a collection."""
        found: list[Node] = (await self.ask("GET", path))["items"]
        return found

    async def request(self, name: str = "chat", annotations: dict[str, str] | None = None, **spec: Any) -> None:
        """Creates a request as a user with a model and hardware does."""
        hardware = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8, "totalGpus": 8, "interconnect": "nvlink", "rdma": False}
        whole = {"model": BASE, "backend": "vllm", "image": "planner:1", "hardware": hardware, **spec}
        made = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "spec": whole}
        made["metadata"] = {"name": name, "annotations": annotations or {}}
        await self.ask("POST", REQUESTS, made)

    async def until(self, path: str, name: str, question: Callable[[Node], object]) -> Node:
        """Waits for an object to be so; one that isn't there is empty."""
        found: Node = {}
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    reply = await asyncio.to_thread(self.plane.request, "GET", f"{path.format(self.namespace)}/{name}")
                    found = reply.body if reply.status == 200 else {}
                    if question(found):
                        return found
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(json.dumps(found.get("status"))) from None

    async def phase(self, wanted: str, name: str = "chat") -> Node:
        """Waits for a request to be in a phase."""
        return await self.until(REQUESTS, name, lambda one: one.get("status", {}).get("phase") == wanted)

    async def pod_of(self, name: str = "chat") -> str:
        """The pod that the Job's controller has made for a request."""
        return await self.pod_of_job(f"profile-{name}")

    async def pod_of_job(self, job: str) -> str:
        """The pod that the Job's controller has made."""
        async with asyncio.timeout(PATIENCE):
            while True:
                pods = await self.all(f"{PODS}?labelSelector=job-name%3D{job}")
                if pods:
                    return str(pods[0]["metadata"]["name"])
                await asyncio.sleep(0.1)

    async def end(self, name: str, **data: str) -> None:
        """Has a profiler end with a result, as an admin."""
        pod = await self.pod_of(name)
        await self.ask("PATCH", f"{MAPS}/dgdr-output-{name}", {"data": {key.replace("__", "."): text for key, text in data.items()}}, MERGE)
        await self.ask("PATCH", f"{PODS}/{pod}/status", {"status": {"phase": "Succeeded"}}, MERGE)

    @contextlib.asynccontextmanager
    async def as_profiler(self, name: str = "chat") -> AsyncIterator[Cluster]:
        """A client with the account of a request's Job."""
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = await self.ask("POST", f"/api/v1/namespaces/{{}}/serviceaccounts/dgdr-profiling-job-{name}/token", wanted)
        config = yaml.safe_load((self.home / "reconciler.kubeconfig").read_text())
        config["users"][0]["user"]["token"] = token["status"]["token"]
        file = self.home / f"{self.namespace}-{name}.kubeconfig"
        file.write_text(json.dumps(config))
        file.chmod(0o600)
        cluster = await connect("profiler", str(file))
        try:
            yield cluster
        finally:
            await cluster.close()


@pytest.fixture(scope="module")
def planned(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Path]]:
    home = tmp_path_factory.mktemp("requests")
    with control_plane(assets, home) as plane:
        kinds = (*KINDS, "DynamoGraphDeploymentRequest")
        plane.install(*(crd(kind, versions=["v1beta1"]) for kind in kinds), crd("DynamoModel", versions=["v1alpha1"]))
        plane.install(crd("DynamoWorkerMetadata", versions=["v1alpha1"]))
        install_accounts(plane, home, composed(home / "rendered", "self-signed", "../models", "../requests"))
        plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        with controllers(plane):
            yield plane, home


@pytest.fixture
async def scene(planned: tuple[ControlPlane, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    fleet = Fleet(tmp_path_factory.mktemp("s") / "s")
    await fleet.start()
    yield Scene(*planned, fleet)
    await fleet.stop()


def graph_found(image: str = "i:1", **worker: Any) -> Node:
    """What a profiler finds: a frontend, and workers that serve the model and are scaled by an adapter."""

    def part(name: str, kind: str, **more: Any) -> Node:
        return {"name": name, "type": kind, "podTemplate": {"spec": {"containers": [{"name": "main", "image": image}]}}, **more}

    workers = part("decode", "worker", replicas=2, modelRef={"name": BASE}, scalingAdapter={}, **worker)
    spec = {"backendFramework": "vllm", "components": [part("Frontend", "frontend", replicas=1), workers]}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "agg"}, "spec": spec}


async def _play_profiler(site: Scene, folder: Path) -> None:
    """Profiles for a moment and writes a result, which the real copier carries over with the rights of the Job's own account."""
    pod, ended = await site.pod_of(), asyncio.Event()
    (folder / "profiler_status.yaml").write_text("phase: SweepingDecode\nmessage: half\n")
    async with site.as_profiler() as cluster:
        running = asyncio.ensure_future(copy(cluster, site.namespace, "dgdr-output-chat", folder, ended))
        extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "planner-data"}, "data": {"x": "1"}}
        (folder / "final_config.yaml").write_text(yaml.safe_dump_all([extra, graph_found()]))
        (folder / "profiler_status.yaml").write_text("phase: Done\nmessage: done\nstatus: success\n")
        ended.set()
        await running
    await site.ask("PATCH", f"{PODS}/{pod}/status", {"status": {"phase": "Succeeded"}}, MERGE)


async def test_from_a_request_to_traffic_and_to_nothing_again(scene: Scene, tmp_path: Path) -> None:
    with Kubelet(scene.plane, scene.namespace) as kubelet:
        async with scene.reconciling():
            await scene.request()
            await scene.phase("Profiling")
            await _play_profiler(scene, tmp_path)
            request = await scene.phase("Deployed")
            assert request["status"]["deploymentInfo"] == {"replicas": 3, "availableReplicas": 3}
            graph = await scene.ask("GET", f"{GRAPHS}/chat-dgd")
            assert graph["metadata"]["labels"]["dgdr.nvidia.com/name"] == "chat"
            extra = await scene.ask("GET", f"{MAPS}/planner-data")
            assert extra["metadata"]["ownerReferences"][0]["uid"] == graph["metadata"]["uid"]

            spec = {"modelName": "org/adapter", "baseModelName": BASE, "modelType": "lora", "source": {"uri": "s3://b/a"}}
            model = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m"}, "spec": spec}
            await scene.ask("POST", MODELS, model)
            await scene.until(MODELS, "m", lambda one: one.get("status", {}).get("readyEndpoints") == 2)
            adapter = "dynamographdeploymentscalingadapter/chat-dgd-decode"
            done = scene.plane.kubectl("scale", "-n", scene.namespace, adapter, "--replicas=3")
            assert done.code == 0, done
            await scene.until(MODELS, "m", lambda one: one.get("status", {}).get("readyEndpoints") == 3)
            serving = {address for address, names in scene.fleet.loaded.items() if names == {"org/adapter"}}
            assert len(serving) == 3
            assert serving <= {*kubelet.addresses.values()}

            await scene.ask("DELETE", f"{MODELS}/m")
            await scene.until(MODELS, "m", lambda one: not one)
            assert not any(scene.fleet.loaded.values())
            await scene.ask("DELETE", f"{REQUESTS}/chat")
            await scene.until(REQUESTS, "chat", lambda one: not one)
            await scene.ask("GET", f"{GRAPHS}/chat-dgd")  # it serves on
            await scene.ask("DELETE", f"{GRAPHS}/chat-dgd?propagationPolicy=Background")
            await _nothing_is_left(scene)


async def _nothing_is_left(site: Scene) -> None:
    paths = (GRAPHS, COMPONENTS, ADAPTERS, DEPLOYMENTS, SERVICES, PODS, JOBS, MAPS, *RIGHTS, "/api/v1/namespaces/{}/serviceaccounts")
    left: list[str] = []
    for _ in range(int(PATIENCE)):
        found = [f"{path}: {one['metadata']['name']}" for path in paths for one in await site.all(path)]
        left = [one for one in found if not one.endswith((": default", ": kube-root-ca.crt"))]
        if not left:
            return
        await asyncio.sleep(1)
    raise AssertionError(left)


async def test_the_jobs_account_may_write_its_own_result_and_nothing_else(scene: Scene) -> None:
    async with scene.reconciling():
        await scene.request("rapid")
        await scene.request("other", searchStrategy="thorough")
        await scene.phase("Profiling", "rapid")
        await scene.phase("Profiling", "other")
        logs = Resource("", "v1", "pods", "Pod")
        async with scene.as_profiler("rapid") as rapid:
            await rapid.merge_patch(CONFIG_MAPS, "dgdr-output-rapid", {"data": {"phase": "Initializing"}}, scene.namespace)
            assert await rapid.get(REQUESTS_RESOURCE, "rapid", scene.namespace) is not None
            with pytest.raises(ForbiddenError):
                await rapid.merge_patch(CONFIG_MAPS, "dgdr-output-other", {"data": {"phase": "Done"}}, scene.namespace)
            denied = [("get", REQUESTS_RESOURCE, "other"), ("list", CONFIG_MAPS, ""), ("create", CONFIG_MAPS, ""), ("get", SECRETS, "")]
            denied += [("create", GRAPHS_RESOURCE, ""), ("list", logs, ""), ("patch", REQUESTS_RESOURCE, "rapid")]
            denied += [("delete", CONFIG_MAPS, "dgdr-output-rapid"), ("create", SERVICE_ACCOUNTS, "")]
            assert [one for one in denied if await rapid.allowed(one[0], one[1], scene.namespace, one[2])] == []
        async with scene.as_profiler("other") as thorough:
            assert await thorough.allowed("create", GRAPHS_RESOURCE, scene.namespace)
            assert await thorough.allowed("get", logs, scene.namespace, subresource="log")
            roles = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
            beyond = [("create", roles), ("create", logs), ("patch", GRAPHS_RESOURCE), ("get", SECRETS)]
            assert [one for one in beyond if await thorough.allowed(*one, scene.namespace)] == []
            assert not await thorough.allowed("list", GRAPHS_RESOURCE, "default")


async def test_what_one_profiler_writes_ends_its_own_request_alone(scene: Scene) -> None:
    async with scene.reconciling():
        foreign = {**graph_found(), "metadata": {"name": "taken-dgd", "labels": {"whose": "mine"}}}
        await scene.ask("POST", GRAPHS, foreign)
        names = ("bad", "odd", "taken", "large", "good")
        for name in names:
            await scene.request(name, autoApply=name != "good")
        for name in names:
            await scene.phase("Profiling", name)
        fine = yaml.safe_dump(graph_found())
        large = yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "profile"}, "data": {"x": "y" * 800_000}})
        refused = yaml.safe_dump(graph_found(multinode={"nodeCount": 0}))
        results = {"bad": "{{{", "odd": refused, "taken": fine, "large": f"{large}---\n{fine}", "good": fine}
        await asyncio.gather(*(scene.end(name, profiler_status="success", final_config__yaml=text) for name, text in results.items()))
        told = {name: await scene.phase("Failed", name) for name in ("bad", "odd", "taken")}
        conditions = {name: found["status"]["conditions"] for name, found in told.items()}
        reasons = {name: [one["reason"] for one in each if one["type"] == "Succeeded"] for name, each in conditions.items()}
        assert reasons == {"bad": ["GenerationFailed"], "odd": ["DeploymentRejected"], "taken": ["NameTaken"]}
        assert (await scene.ask("GET", f"{GRAPHS}/taken-dgd"))["metadata"]["labels"] == {"whose": "mine"}
        await scene.phase("Deploying", "large")
        await scene.until(MAPS, "profile", lambda one: len(one.get("data", {}).get("x", "")) == 800_000)
        ready = await scene.phase("Ready", "good")
        assert "nvidia.com/generated-dgd-spec" in ready["metadata"]["annotations"]
        await scene.ask("PATCH", f"{REQUESTS}/good", {"spec": {"autoApply": True}}, MERGE)
        await scene.until(GRAPHS, "good-dgd", bool)
        for name in names:
            await scene.ask("DELETE", f"{REQUESTS}/{name}")
        await scene.until(JOBS, "profile-good", lambda one: not one)
