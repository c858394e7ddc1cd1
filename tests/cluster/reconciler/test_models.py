"""DynamoModels on a real API server with the real controller of EndpointSlices, worker pods behind a socket, and real rights."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.reconciler.common.resources import FINALIZER
from dynamo_webhooks.reconciler.render.names import BASE_MODEL, BASE_MODEL_HASH, digest
from tests.cluster.harness import ControlPlane
from tests.cluster.playing import MERGE
from tests.cluster.reconciler.scene import BASE, MODELS, NODE, Fleet, Node, Scene, granted
from tests.cluster.reconciling import PODS, SERVICES

NAME: Final = f"dynamo-model-{digest(BASE)}"


class Models(Scene):
    """A namespace with worker pods."""

    async def serve(self, *pods: str) -> None:
        """Makes the Service of the model as a graph does, and pods that are ready."""
        mark = {BASE_MODEL_HASH: digest(BASE)}
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": NAME, "labels": mark, "annotations": {BASE_MODEL: BASE}},
            "spec": {"clusterIP": "None", "selector": mark, "ports": [{"name": "system", "port": 9090}]},
        }
        await self.ask("POST", SERVICES, service)
        for address in pods:
            await self.pod(address)

    async def pod(self, address: str) -> None:
        """A worker pod that is ready at an address."""
        name = f"p-{address.replace('.', '-')}"
        spec = {"containers": [{"name": "main", "image": "i"}], "automountServiceAccountToken": False, "nodeName": NODE}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {BASE_MODEL_HASH: digest(BASE)}}, "spec": spec}
        await self.ask("POST", PODS, pod)
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": "True"}]}
        await self.ask("PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE)

    async def model(self, **spec: Any) -> None:
        """Creates a LoRA model."""
        whole = {"modelName": "org/adapter", "baseModelName": BASE, "modelType": "lora", "source": {"uri": "s3://b/a"}, **spec}
        made = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m"}, "spec": whole}
        await self.ask("POST", MODELS, made)

    async def seen(self, question: Callable[[Node], object]) -> Node:
        """Waits for the model to be so."""
        return await self.until(MODELS, "m", question)


@pytest.fixture(scope="module")
def planned(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Path]]:
    home = tmp_path_factory.mktemp("models")
    with granted(assets, home, "models") as plane:
        yield plane, home


@pytest.fixture
async def scene(planned: tuple[ControlPlane, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Models]:
    async with Fleet(tmp_path_factory.mktemp("s") / "s") as fleet:
        yield Models(*planned, fleet)


def _ready(model: Node) -> tuple[str, str, str]:
    found = [one for one in model.get("status", {}).get("conditions", ()) if one["type"] == "Ready"]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else ("", "", "")


async def test_a_model_from_its_first_pod_to_its_end(scene: Models) -> None:
    async with scene.reconciling():
        await scene.model()
        await scene.seen(lambda model: _ready(model)[1] == "NoEndpoints")
        scene.fleet.refusing["10.1.0.3"] = 500
        await scene.serve("10.1.0.1", "10.1.0.2", "10.1.0.3")
        model = await scene.seen(lambda model: _ready(model)[1] == "LoadFailed")
        assert _ready(model)[2] == "p-10-1-0-3: 500 no GPU memory is left"
        assert (model["status"]["readyEndpoints"], model["status"]["totalEndpoints"]) == (2, 3)
        assert model["metadata"]["finalizers"] == [FINALIZER]
        del scene.fleet.refusing["10.1.0.3"]
        await scene.seen(lambda model: _ready(model)[0] == "True")
        await scene.pod("10.1.0.4")
        await scene.seen(lambda model: model["status"].get("readyEndpoints") == 4)
        await scene.ask("DELETE", f"{PODS}/p-10-1-0-1?gracePeriodSeconds=0")
        await scene.seen(lambda model: model["status"].get("totalEndpoints") == 3)
        # at rest nothing is written, and no pod is called
        before, calls = await scene.seen(bool), scene.fleet.loads.total()
        await asyncio.sleep(3)
        assert (await scene.seen(bool), scene.fleet.loads.total()) == (before, calls)
        assert [scene.fleet.loads[f"10.1.0.{number}"] for number in (1, 2, 4)] == [1, 1, 1]
        await scene.ask("PATCH", f"{MODELS}/m", {"spec": {"modelName": "org/new"}}, MERGE)
        await scene.seen(lambda _: all(scene.fleet.loaded[f"10.1.0.{number}"] == {"org/new"} for number in (2, 3, 4)))
        await scene.ask("DELETE", f"{MODELS}/m")
        await scene.seen(lambda model: not model)
        assert all(scene.fleet.loaded[f"10.1.0.{number}"] == set() for number in (2, 3, 4))
