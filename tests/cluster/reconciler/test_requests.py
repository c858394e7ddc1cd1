"""DynamoGraphDeploymentRequests on a real API server with Kubernetes' own controllers: from a request to traffic, and to nothing again.

The profiler's pod is played here, with its own account and the real copier; worker pods answer from memory.
"""

import asyncio
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, Resource
from dynamo_webhooks.reconciler.common.resources import GRAPHS as GRAPHS_RESOURCE
from dynamo_webhooks.reconciler.common.resources import REQUESTS as REQUESTS_RESOURCE
from dynamo_webhooks.reconciler.request.copier import copy
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE, Player
from tests.cluster.processes import WAIT_SECONDS
from tests.cluster.reconciler.scene import BASE, JOBS, MAPS, MODELS, NODE, REQUESTS, Node, Scene, granted, graph_found
from tests.cluster.reconciling import ADAPTERS, COMPONENTS, DEPLOYMENTS, GRAPHS, PODS, SERVICES
from tests.golden.test_checkpoints import RECORDED_JOBS, made_of
from tests.golden.test_requests import CASES, PROFILED, rendered_of

RIGHTS: Final = ("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles", "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings")


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


@pytest.fixture(scope="module")
def planned(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Path]]:
    home = tmp_path_factory.mktemp("requests")
    with granted(planes, home, "models", "requests") as plane:
        yield plane, home


@pytest.fixture
def scene(planned: tuple[ControlPlane, Path]) -> Scene:
    return Scene(*planned)


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
            await scene.until(MODELS, "m", lambda obj: obj.get("status", {}).get("readyEndpoints") == 2)
            adapter = "dynamographdeploymentscalingadapter/chat-dgd-decode"
            scene.plane.kubectl("scale", "-n", scene.namespace, adapter, "--replicas=3").done()
            await scene.until(MODELS, "m", lambda obj: obj.get("status", {}).get("readyEndpoints") == 3)
            serving = {address for address, names in scene.fleet.loaded.items() if names.keys() == {"org/adapter"}}
            assert len(serving) == 3
            assert serving <= {*kubelet.addresses.values()}

            await scene.ask("DELETE", f"{MODELS}/m")
            await scene.until(MODELS, "m", lambda obj: not obj)
            assert not any(scene.fleet.loaded.values())
            await scene.ask("DELETE", f"{REQUESTS}/chat")
            await scene.until(REQUESTS, "chat", lambda obj: not obj)
            await scene.ask("GET", f"{GRAPHS}/chat-dgd")  # it serves on
            await scene.ask("DELETE", f"{GRAPHS}/chat-dgd?propagationPolicy=Background")
            await _nothing_is_left(scene)


async def _nothing_is_left(site: Scene) -> None:
    paths = (GRAPHS, COMPONENTS, ADAPTERS, DEPLOYMENTS, SERVICES, PODS, JOBS, MAPS, *RIGHTS, "/api/v1/namespaces/{}/serviceaccounts")
    left: list[str] = []
    for _ in range(int(WAIT_SECONDS / 0.2)):
        lines = [f"{path}: {obj['metadata']['name']}" for path in paths for obj in await site.all(path)]
        left = [line for line in lines if not line.endswith((": default", ": kube-root-ca.crt"))]
        if not left:
            return
        await asyncio.sleep(0.2)
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
            assert [call for call in denied if await rapid.allowed(call[0], call[1], scene.namespace, call[2])] == []
        async with scene.as_profiler("other") as thorough:
            assert await thorough.allowed("create", GRAPHS_RESOURCE, scene.namespace)
            assert await thorough.allowed("get", logs, scene.namespace, subresource="log")
            roles = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
            beyond = [("create", roles), ("create", logs), ("patch", GRAPHS_RESOURCE), ("get", SECRETS)]
            assert [call for call in beyond if await thorough.allowed(*call, scene.namespace)] == []
            assert not await thorough.allowed("list", GRAPHS_RESOURCE, "default")


async def test_every_job_that_is_made_of_the_record_is_accepted(scene: Scene) -> None:
    made = [obj for case in RECORDED_JOBS.values() for obj in made_of(case)]
    made += [obj for name in PROFILED for obj in rendered_of(CASES[name]).children]
    jobs = [deepcopy(obj) for obj in made if obj["kind"] == "Job"]
    assert len(jobs) > 90
    refused = []
    for job in jobs:
        job["metadata"] |= {"namespace": scene.namespace, "ownerReferences": []}
        reply = await asyncio.to_thread(scene.plane.request, "POST", f"{JOBS.format(scene.namespace)}?dryRun=All", job)
        if reply.status != 201:
            refused.append((job["metadata"]["name"], reply.body["message"][:300]))
    [(name, why)] = refused
    assert (name, "extra" in why) == ("profile-req", True), "the author of one request mounts a volume that is not there"
