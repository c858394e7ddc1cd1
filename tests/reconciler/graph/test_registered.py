"""In a roll, new workers count once frontends know them: their DynamoWorkerMetadata is there."""

from typing import Any

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.resources import WORKER_METADATA
from dynamo_webhooks.reconciler.common.workers import components_of_worker, count_registered
from dynamo_webhooks.reconciler.graph.generations import plan_roll
from dynamo_webhooks.reconciler.render.generation import Digests
from dynamo_webhooks.reconciler.render.graph import read_graph
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import NAMESPACE, Site, running

NEW = Digests("new", "new")


def _registered(pod: str, owner: str = "") -> Node:
    metadata: Node = {"name": pod, "namespace": NAMESPACE}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": "u"}]
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoWorkerMetadata", "metadata": metadata, "spec": {"data": {}}}


def test_workers_are_counted_by_their_pods() -> None:
    found = [
        _registered("g-w-1-5d4f-x2z"),
        _registered("any", "g-w-1-5d4f-x3z"),
        _registered("more", "g-w-1-5d4f-x3z"),
        _registered("l-0-1"),
    ]
    assert count_registered(found, ["g-w-1", "g-w-2", "l"]) == {"g-w-1": 2, "l": 1}
    assert Key("DynamoComponentDeployment", NAMESPACE, "g-w-1") in components_of_worker(found[0])


def _object(generation: str, replicas: int, available: int) -> Node:
    labels = {"nvidia.com/dynamo-worker-hash": generation, "nvidia.com/dynamo-component": "worker"}
    status: Node = {"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}
    status["component"] = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}
    metadata = {"name": f"g-worker-{generation}", "labels": labels, "generation": 1}
    return {"metadata": metadata, "spec": {"name": "worker", "type": "worker", "replicas": replicas}, "status": status}


@pytest.mark.parametrize(
    ("registered", "left"),
    [
        ({}, 0),  # nobody knows any worker: discovery is by other means
        ({"g-worker-old": 2, "g-worker-new": 2}, 0),
        ({"g-worker-old": 2, "g-worker-new": 1}, 1),
        ({"g-worker-old": 2}, 2),
        ({"g-worker-new": 1}, 0),  # discovery has changed: older workers were never known
    ],
)
def test_an_old_worker_goes_when_a_new_one_is_known(registered: dict[str, int], left: int) -> None:
    obj = graph(vllm("worker", replicas=2, podTemplate=_template("0%")))
    roll = plan_roll(read_graph(obj, Settings().line), NEW, [_object("old", 2, 2), _object("new", 2, 2)], registered)
    assert [wanted for _, wanted in roll.resized] == ([left] if left != 2 else [])


@pytest.mark.parametrize(("registered", "retired"), [({}, 1), ({"g-worker-old": 1}, 0), ({"g-worker-old": 1, "g-worker-new": 1}, 1)])
def test_an_old_generation_of_several_nodes_goes_when_the_new_one_is_known(registered: dict[str, int], retired: int) -> None:
    obj = graph(vllm("worker", replicas=1, multinode={"nodeCount": 2}))
    roll = plan_roll(read_graph(obj, Settings().line), NEW, [_object("old", 1, 1), _object("new", 1, 1)], registered)
    assert len(roll.retired) == retired


def _template(unavailable: str) -> dict[str, Any]:
    made: dict[str, Any] = vllm("worker")["podTemplate"]
    return {**made, "metadata": {"annotations": {"nvidia.com/deployment-rolling-update-max-unavailable": unavailable}}}


async def _old(site: Site, name: str) -> int:
    return (await site.workers()).get(name, 0)


async def test_a_roll_waits_for_the_registration_of_new_workers() -> None:
    async with running(graph(vllm("worker", replicas=1))) as site:
        [before] = await site.workers()
        await site.user.create(WORKER_METADATA, _registered(f"{before}-5d4f-aaaaa"), NAMESPACE)
        async with site.editing() as obj:
            obj["spec"]["components"] = [vllm("worker", args=("--new",), replicas=1)]
        [after] = {*await site.workers()} - {before}
        assert await _old(site, before) == 1, "the new worker's pod is ready, and no frontend knows it"
        assert (await site.graph())["status"]["state"] == "pending"
        await site.user.create(WORKER_METADATA, _registered(f"{after}-6e5f-bbbbb"), NAMESPACE)
        await site.rest()
        assert before not in await site.workers()
        assert (await site.condition())["status"] == "True"
