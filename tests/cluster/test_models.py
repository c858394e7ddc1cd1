"""DynamoModels on a real API server with the real controller of EndpointSlices, worker pods behind a socket, and real rights."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import aiohttp
import pytest
from aiohttp import web

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.reconciler.loop.marks import FINALIZER
from dynamo_webhooks.reconciler.loop.reconciler import Reconciler
from dynamo_webhooks.reconciler.model.worker import Patience, Workers
from dynamo_webhooks.reconciler.render.names import BASE_MODEL, BASE_MODEL_HASH, digest
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.playing import MERGE
from tests.cluster.processes import PATIENCE
from tests.cluster.reconciling import KINDS, PODS, SERVICES, controllers, install_accounts, reconciling
from tests.cluster.rendering import composed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

Node: TypeAlias = dict[str, Any]
MODELS: Final = "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamomodels"
BASE: Final = "Qwen/Qwen3-0.6B"
NODE: Final = "n"  # endpoints are of pods that have been scheduled
NAME: Final = f"dynamo-model-{digest(BASE)}"


class Fleet:
    """The control API of all worker pods, told apart by the address that a call is meant for."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.loaded: dict[str, set[str]] = {}
        self.loads: Counter[str] = Counter()  # by address
        self.refusing: dict[str, int] = {}  # address -> status
        self.pause = 0.0
        self.some = asyncio.Event()  # a pod has an adapter
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listens."""
        application = web.Application()
        application.router.add_post("/v1/loras", self._load)
        application.router.add_delete("/v1/loras/{name:.*}", self._unload)
        application.router.add_get("/v1/loras", self._list)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.socket)).start()

    async def stop(self) -> None:
        """Listens no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    def caller(self, patience: Patience) -> Workers:
        """What calls these pods, whatever their addresses are."""
        return Workers(patience, lambda: aiohttp.UnixConnector(str(self.socket), limit=0))

    async def _load(self, request: web.Request) -> web.Response:
        address = _address(request)
        self.loads[address] += 1
        await asyncio.sleep(self.pause)
        if status := self.refusing.get(address):
            return web.Response(status=status, text="no GPU memory is left")
        self.loaded.setdefault(address, set()).add((await request.json())["lora_name"])
        self.some.set()
        return web.json_response({"status": "success"})

    async def _unload(self, request: web.Request) -> web.Response:
        loaded = self.loaded.get(_address(request), set())
        if request.match_info["name"] not in loaded:
            return web.Response(status=404)
        loaded.discard(request.match_info["name"])
        return web.json_response({"status": "success"})

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"loras": dict.fromkeys(self.loaded.get(_address(request), ()), 1)})


def _address(request: web.Request) -> str:
    return str(request.url.host)


class Scene:
    """A namespace with worker pods."""

    def __init__(self, plane: ControlPlane, home: Path, fleet: Fleet) -> None:
        self.plane, self.home, self.fleet, self.namespace = plane, home, fleet, plane.namespace()

    def reconciling(self) -> AbstractAsyncContextManager[Reconciler]:
        """A reconciler with nothing but its account's rights."""
        return reconciling(self.home, self.fleet.caller)

    async def ask(self, verb: str, path: str, body: Node | None = None, kind: str = "application/json") -> Node:
        """One call of an admin, beside the reconciler's."""
        reply = await asyncio.to_thread(self.plane.request, verb, path, body, kind=kind)
        assert reply.status < 300, reply.body
        return reply.body

    async def until(self, question: Callable[[Node], object], what: str, name: str = "m") -> Node:
        """Waits for a model to be so; what is asked for is an empty object when it is gone."""
        async with asyncio.timeout(PATIENCE):
            while True:
                reply = await asyncio.to_thread(self.plane.request, "GET", f"{MODELS.format(self.namespace)}/{name}")
                found = reply.body if reply.status == 200 else {}
                if question(found):
                    return found
                await asyncio.sleep(0.1)
        raise AssertionError(what)

    async def serve(self, *pods: str) -> None:
        """Makes the Service of the model as a graph does, and pods that are ready."""
        mark = {BASE_MODEL_HASH: digest(BASE)}
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": NAME, "labels": mark, "annotations": {BASE_MODEL: BASE}},
            "spec": {"clusterIP": "None", "selector": mark, "ports": [{"name": "system", "port": 9090}]},
        }
        await self.ask("POST", SERVICES.format(self.namespace), service)
        for address in pods:
            await self.pod(address)

    async def pod(self, address: str) -> None:
        """A worker pod that is ready at an address."""
        name = f"p-{address.replace('.', '-')}"
        spec = {"containers": [{"name": "main", "image": "i"}], "automountServiceAccountToken": False, "nodeName": NODE}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {BASE_MODEL_HASH: digest(BASE)}}, "spec": spec}
        await self.ask("POST", PODS.format(self.namespace), pod)
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": "True"}]}
        await self.ask("PATCH", f"{PODS.format(self.namespace)}/{name}/status", {"status": status}, MERGE)

    async def model(self, **spec: Any) -> None:
        """Creates a LoRA model."""
        whole = {"modelName": "org/adapter", "baseModelName": BASE, "modelType": "lora", "source": {"uri": "s3://b/a"}, **spec}
        made = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m"}, "spec": whole}
        await self.ask("POST", MODELS.format(self.namespace), made)


@pytest.fixture(scope="module")
def planned(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Path]]:
    home = tmp_path_factory.mktemp("models")
    with control_plane(assets, home) as plane:
        plane.install(*(crd(kind, versions=["v1beta1"]) for kind in KINDS), crd("DynamoModel", versions=["v1alpha1"]))
        install_accounts(plane, home, composed(home / "rendered", "self-signed", "../models"))
        plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        with controllers(plane):
            yield plane, home


@pytest.fixture
async def scene(planned: tuple[ControlPlane, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    fleet = Fleet(tmp_path_factory.mktemp("s") / "s")
    await fleet.start()
    yield Scene(*planned, fleet)
    await fleet.stop()


def _ready(model: Node) -> tuple[str, str, str]:
    found = [one for one in model.get("status", {}).get("conditions", ()) if one["type"] == "Ready"]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else ("", "", "")


async def test_a_model_from_its_first_pod_to_its_end(scene: Scene) -> None:
    async with scene.reconciling():
        await scene.model()
        await scene.until(lambda model: _ready(model)[1] == "NoEndpoints", "no endpoints being reported")
        scene.fleet.refusing["10.1.0.3"] = 500
        await scene.serve("10.1.0.1", "10.1.0.2", "10.1.0.3")
        model = await scene.until(lambda model: _ready(model)[1] == "LoadFailed", "the failing pod being named")
        assert _ready(model)[2] == "p-10-1-0-3: 500 no GPU memory is left"
        assert (model["status"]["readyEndpoints"], model["status"]["totalEndpoints"]) == (2, 3)
        assert model["metadata"]["finalizers"] == [FINALIZER]
        del scene.fleet.refusing["10.1.0.3"]
        await scene.until(lambda model: _ready(model)[0] == "True", "all pods having the adapter")
        await scene.pod("10.1.0.4")
        await scene.until(lambda model: model["status"].get("readyEndpoints") == 4, "a new pod having it, too")
        await scene.ask("DELETE", f"{PODS.format(scene.namespace)}/p-10-1-0-1?gracePeriodSeconds=0")
        await scene.until(lambda model: model["status"].get("totalEndpoints") == 3, "the deleted pod not counting any more")
        assert [scene.fleet.loads[f"10.1.0.{number}"] for number in (1, 2, 4)] == [1, 1, 1]
        await scene.ask("PATCH", f"{MODELS.format(scene.namespace)}/m", {"spec": {"modelName": "org/new"}}, MERGE)
        await scene.until(lambda _: all(scene.fleet.loaded[f"10.1.0.{number}"] == {"org/new"} for number in (2, 3, 4)), "the new name")
        await scene.ask("DELETE", f"{MODELS.format(scene.namespace)}/m")
        await scene.until(lambda model: not model, "the model being gone")
        assert all(scene.fleet.loaded[f"10.1.0.{number}"] == set() for number in (2, 3, 4))


async def test_another_process_goes_on_where_one_was_killed(scene: Scene) -> None:
    pods = [f"10.2.0.{number}" for number in range(1, 41)]
    await scene.serve(*pods)
    await scene.model()
    scene.fleet.pause = 0.2
    async with scene.reconciling():
        async with asyncio.timeout(PATIENCE):
            await scene.fleet.some.wait()
    scene.fleet.pause = 0.0
    await asyncio.sleep(0.5)  # what was under way has ended
    had = {address for address, names in scene.fleet.loaded.items() if names}
    before = scene.fleet.loads.copy()
    async with scene.reconciling():
        model = await scene.until(lambda model: _ready(model)[0] == "True" and model["status"]["readyEndpoints"] == 40, "all being loaded")
        assert model["status"]["totalEndpoints"] == 40
    assert {address for address in had if scene.fleet.loads[address] > before[address]} == set()
    await scene.ask("PATCH", f"{MODELS.format(scene.namespace)}/m", {"metadata": {"finalizers": None}}, MERGE)


async def test_at_rest_nothing_is_written(scene: Scene) -> None:
    await scene.serve("10.3.0.1")
    await scene.model()
    async with scene.reconciling():
        before = await scene.until(lambda model: _ready(model)[0] == "True", "the model being ready")
        calls = scene.fleet.loads.total()
        await asyncio.sleep(3)
        after = await scene.until(bool, "the model being there")
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        assert scene.fleet.loads.total() == calls
        await scene.ask("DELETE", f"{MODELS.format(scene.namespace)}/m")
        await scene.until(lambda model: not model, "the model being gone")
