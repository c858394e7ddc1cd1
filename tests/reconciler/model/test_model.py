"""Passes over DynamoModels: what is written on them and said of them."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES, PODS, SERVICES
from dynamo_webhooks.reconciler.common.resources import FINALIZER, MODELS
from dynamo_webhooks.reconciler.model.controller import ModelController
from dynamo_webhooks.reconciler.model.lora import LOADED
from dynamo_webhooks.reconciler.render.names import BASE_MODEL
from tests.reconciler.model.workers import FakeWorkers, model, pod, slice_of
from tests.reconciler.site import NAMESPACE, Site, settings


class Scene(Site):
    """A site with worker pods."""

    def __init__(self, more: str = "") -> None:
        super().__init__(settings(more))
        self.fleet = FakeWorkers()
        self.callers = {"controllers": [ModelController(lambda _: self.fleet)]}

    async def put(self, *objects: Node) -> None:
        """Creates models and slices, or replaces them."""
        for obj in objects:
            resource = {"DynamoModel": MODELS, "EndpointSlice": ENDPOINT_SLICES, "Service": SERVICES}[obj["kind"]]
            if resource is ENDPOINT_SLICES:
                await self._pods(obj)
            live = await self.user.get(resource, obj["metadata"]["name"], NAMESPACE)
            if live is None:
                await self.user.create(resource, obj, NAMESPACE)
            else:
                await self.user.replace(resource, {**live, **{key: value for key, value in obj.items() if key != "metadata"}})
        await self.later(3)

    async def _pods(self, sliced: Node) -> None:
        """Makes the pods of a slice, which have its addresses."""
        for endpoint in sliced["endpoints"]:
            name = endpoint["targetRef"]["name"]
            live = await self.user.get(PODS, name, NAMESPACE) or await self.user.create(PODS, {"metadata": {"name": name}}, NAMESPACE)
            held = [each["ip"] for each in (live.get("status") or {}).get("podIPs") or ()]
            status = {"podIPs": [{"ip": each} for each in dict.fromkeys((*held, *endpoint["addresses"]))]}
            await self.user.merge_patch(PODS, name, {"status": status}, NAMESPACE, subresource="status")

    async def model(self, name: str = "m") -> Node:
        """A model as it is stored."""
        return await self.get(MODELS, name)

    async def told(self, kind: str, name: str = "m") -> tuple[str, str, str]:
        """Status, reason and message of a condition of a model."""
        [condition] = [condition for condition in (await self.model(name))["status"]["conditions"] if condition["type"] == kind]
        return condition["status"], condition["reason"], condition["message"]

    async def edit_model(self, **fields: Any) -> None:
        """Changes the spec of the model as a user does."""
        await self.patch(MODELS, "m", {"spec": fields}, 3)

    async def delete_model(self, name: str = "m") -> None:
        """Deletes a model as a user does."""
        await self.delete(MODELS, name, 2)

    async def gone(self, name: str = "m") -> bool:
        """Whether a model is no more."""
        return await self.user.get(MODELS, name, NAMESPACE) is None

    def writes_of_models(self) -> int:
        """Writes of the reconciler to models so far."""
        return sum(plural == MODELS.plural for _, plural, _ in self.cluster.writes)


@contextlib.asynccontextmanager
async def scene(*objects: Node, more: str = "") -> AsyncIterator[Scene]:
    """A cluster with these objects, at rest."""
    made = Scene(more)
    await made.put(*objects)
    async with made.running(seconds=3):
        yield made


async def test_a_model_waits_for_endpoints_and_is_loaded_when_they_come() -> None:
    async with scene(model()) as site:
        assert await site.told("EndpointsReady") == ("False", "NoEndpoints", "No endpoint slices found for base model Qwen/Qwen3-0.6B")
        await site.put(slice_of("10.0.0.1", "10.0.0.2"))
        assert await site.told("EndpointsReady") == ("True", "AllEndpointsReady", "All 2 endpoint(s) are ready")
        assert await site.told("Ready") == ("True", "AllEndpointsReady", "All 2 endpoint(s) are ready")
        status = (await site.model())["status"]
        assert (status["readyEndpoints"], status["totalEndpoints"]) == (2, 2)
        assert status["endpoints"][0] == {"address": "http://10.0.0.1:9090", "podName": "p-10.0.0.1", "ready": True}
        assert (await site.model())["metadata"]["finalizers"] == [FINALIZER]
        assert await site.reasons() == ["NoEndpointsFound", "EndpointsReady"]
        calls = len(site.fleet.calls)
        assert (await site.writes_within(300), len(site.fleet.calls)) == ([], calls)


async def test_an_address_that_no_pod_of_the_name_has_is_not_called() -> None:
    """A slice written by hand, with the label of the controller."""
    async with scene(model(), slice_of("10.0.0.1")) as site:
        await site.user.create(ENDPOINT_SLICES, slice_of(pod("10.96.0.1", name="p-10.0.0.1", uid="u"), name="forged"), NAMESPACE)
        await site.create(ENDPOINT_SLICES, slice_of(pod("10.96.0.2", name="nobody"), name="more"), 30)
        assert {address for _, address, _ in site.fleet.calls} == {"10.0.0.1"}
        status, reason, text = await site.told("Ready")
        assert (status, reason) == ("False", "LoadFailed")
        assert "nobody: status.podIPs must hold the address that an EndpointSlice gives, 10.96.0.2" in text


async def test_a_failing_pod_is_named_with_what_it_said() -> None:
    async with scene() as site:
        site.fleet.status["10.0.0.2"] = 503
        await site.put(slice_of("10.0.0.1", "10.0.0.2", "10.0.0.3"), model())
        assert await site.told("EndpointsReady") == ("False", "NotReady", "Found 2 ready endpoint(s) out of 3 total")
        assert await site.told("Ready") == ("False", "LoadFailed", "p-10.0.0.2: 503 busy")
        site.fleet.status["10.0.0.2"] = 200
        await site.later(5)
        assert (await site.told("Ready"))[0] == "True"
        assert await site.reasons() == ["PartialEndpointFailure", "NotReady", "EndpointsReady"]


async def test_the_cache_keeps_no_endpoints_of_a_status_and_writes_those_that_change() -> None:
    async with scene(model(modelType="base", source=None), slice_of("10.0.0.1")) as site:
        [kept] = site.cache.all("DynamoModel")
        assert isinstance(kept["status"]["endpoints"], str)
        assert len(kept["status"]["endpoints"]) == 16
        await site.put(slice_of(pod("10.0.0.1", ready=False), "10.0.0.2"))
        listed = (await site.model())["status"]["endpoints"]
        assert [(item["address"], item["ready"]) for item in listed] == [("http://10.0.0.1:9090", False), ("http://10.0.0.2:9090", True)]
        await site.put(slice_of())
        assert "endpoints" not in (await site.model())["status"]


async def test_a_thousand_pods_are_loaded_with_few_writes() -> None:
    pods = [f"10.0.{index // 250}.{index % 250 + 1}" for index in range(1000)]
    slices = [slice_of(*pods[start : start + 100], name=f"s{start}") for start in range(0, 1000, 100)]
    async with scene(model(), *slices) as site:
        assert (await site.model())["status"]["readyEndpoints"] == 1000
        assert len(site.fleet.of("POST")) == 1000
        assert site.fleet.most <= 64
        assert site.writes_of_models() <= 6
        assert len(await site.events()) <= 3


async def test_a_base_model_is_ready_by_the_readiness_of_its_pods_and_nothing_is_called() -> None:
    async with scene(model(modelType="base", source=None), slice_of("10.0.0.1", pod("10.0.0.2", ready=False))) as site:
        assert await site.told("EndpointsReady") == ("True", "EndpointsDiscovered", "Found 2 endpoint(s) for base model")
        assert (await site.model())["status"]["readyEndpoints"] == 1
        assert site.fleet.calls == []
        assert "finalizers" not in (await site.model())["metadata"]
        await site.put(slice_of(pod("10.0.0.1", ready=False)))
        assert (await site.told("Ready"))[:2] == ("False", "NotReady")


async def test_a_name_that_calls_another_path_is_refused() -> None:
    async with scene(model(modelName="../x"), slice_of("10.0.0.1")) as site:
        assert (await site.told("EndpointsReady"))[:2] == ("False", "InvalidModelName")
        assert site.fleet.calls == []
        await site.delete_model()
        assert await site.gone()
        assert site.fleet.calls == []


async def test_two_models_of_one_adapter_do_not_fight() -> None:
    async with scene(slice_of("10.0.0.1")) as site:
        await site.put(model("old"))
        await site.put(model("young"))
        calls = len(site.fleet.calls)
        assert await site.told("EndpointsReady", "young") == (
            "False",
            "Conflict",
            "modelName: DynamoModel old has loaded an adapter of this name; rename or delete one of both",
        )
        await site.delete_model("old")
        assert await site.gone("old")
        assert (await site.told("EndpointsReady", "young"))[:2] == ("True", "AllEndpointsReady")
        assert site.fleet.of("DELETE") == []
        assert len(site.fleet.calls) > calls
        await site.delete_model("young")
        assert await site.gone("young")
        assert site.fleet.loaded == {"10.0.0.1": {}}


async def test_base_models_with_one_digest_are_kept_apart() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "dynamo-model-fb68f5a6", "namespace": NAMESPACE, "annotations": {BASE_MODEL: "another"}},
    }
    async with scene(service, model(), slice_of("10.0.0.1")) as site:
        assert (await site.told("EndpointsReady"))[:2] == ("False", "HashCollision")
        assert site.fleet.calls == []


async def test_a_renamed_and_resourced_adapter_leaves_nothing_behind_and_the_next_process_loads_what_is_absent() -> None:
    async with scene(model(), slice_of("10.0.0.1", "10.0.0.2")) as site:
        await site.edit_model(modelName="new")
        assert site.fleet.loaded == {address: {"new": "s3://b/a"} for address in ("10.0.0.1", "10.0.0.2")}
        await site.edit_model(source={"uri": "s3://b/other"})
        assert site.fleet.loaded == {address: {"new": "s3://b/other"} for address in ("10.0.0.1", "10.0.0.2")}
        assert (await site.told("Ready"))[0] == "True"
        assert list(json.loads((await site.model())["metadata"]["annotations"][LOADED])) == ["new"]
        await site.stop()
        await site.edit_model(source={"uri": "s3://b/third"})
        site.start()
        await site.later(20)
        assert site.fleet.loaded == {address: {"new": "s3://b/third"} for address in ("10.0.0.1", "10.0.0.2")}
        await site.stop()
        site.fleet.loaded["10.0.0.2"].clear()
        site.fleet.calls.clear()
        site.start()
        await site.later(20)
        assert site.fleet.of("POST") == [("10.0.0.2", "new")]
        assert sorted(address for address, _ in site.fleet.of("GET")) == ["10.0.0.1", "10.0.0.2"]


async def test_deletion_waits_for_the_pods_and_says_which_did_not_unload() -> None:
    async with scene(model(), slice_of("10.0.0.1", "10.0.0.2")) as site:
        site.fleet.status["10.0.0.2"] = None
        await site.delete_model()
        await site.later(53)
        assert not await site.gone()
        await site.later(10)
        assert await site.gone()
        [text] = [message for _, reason, message in await site.events() if reason == "LoRAUnloadFailed"]
        assert text == "Failed to unload LoRA from some endpoints: 1 task(s) failed: p-10.0.0.2"
        assert site.fleet.loaded["10.0.0.1"] == {}


async def test_a_deletion_is_not_held_up_by_pods_that_are_gone() -> None:
    async with scene(model(), slice_of("10.0.0.1")) as site:
        site.fleet.status["10.0.0.1"] = None
        await site.delete_model()
        assert not await site.gone()
        await site.put(slice_of())
        assert await site.gone()


async def test_without_a_right_to_slices_the_model_says_so() -> None:
    site = Scene("controllers: {models: 'on'}\n")
    site.cluster.denied |= {("list", ENDPOINT_SLICES.plural), ("watch", ENDPOINT_SLICES.plural)}
    await site.put(model(), slice_of("10.0.0.1"))
    async with site.running(seconds=5):
        assert (await site.told("Ready"))[:2] == ("False", "Forbidden")
        assert site.fleet.calls == []
