"""Graphs whose components have checkpoints: what is made, what their pods are restored from, and what the graph says of it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from dynamo_webhooks.kube.errors import NotServedError, error_of_status
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CLAIMS, DEPLOYMENTS, Resource
from dynamo_webhooks.reconciler.checkpoint.phases import IMAGE
from dynamo_webhooks.reconciler.checkpoint.restore_condition import ANY_IMAGE
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, COMPONENTS, GRAPHS, JOBS, OPTIONAL
from dynamo_webhooks.reconciler.render.checkpoint.identity import identity_hash
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION
from tests.reconciler.checkpoint.objects import HASH, checkpoint
from tests.reconciler.checkpoint.test_checkpoint import Scene, claim
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import NAMESPACE, Site, settings

IDENTITY: Final = {"model": "m", "backendFramework": "vllm"}
NAME: Final = f"checkpoint-{identity_hash(IDENTITY)}"
JOB: Final = f"checkpoint-job-{identity_hash(IDENTITY)}-1"
RESTORING: Final = "checkpoint: {enabled: true, storage: {type: pvc, pvc: {pvcName: snaps, basePath: /c}}}\n"
ROLLING: Final = RESTORING.replace("enabled: true", "enabled: true, onReady: roll")
TARGET: Final = "nvidia.com/snapshot-is-restore-target"


def warm(**asked: Any) -> Node:
    """A graph with a frontend, and a worker with a checkpoint; by default of an identity, made when it isn't there."""
    wanted = asked or {"identity": dict(IDENTITY)}
    return graph(component("Frontend", "frontend", {"image": "img:1"}), vllm("worker", experimental={"checkpoint": wanted}))


@contextlib.asynccontextmanager
async def scene(obj: Node, more: str = RESTORING, *objects: Node, denied: bool = False, grove: bool = False) -> AsyncIterator[Scene]:
    """A cluster with a graph, at rest."""
    site = Scene(settings(more))
    site.cluster.denied |= {("create", "jobs")} if denied else set()
    for each in (site.cluster, site.user, site.kubelet) if grove else ():
        each.served |= {"grove.io": frozenset({"v1alpha1"})}
    await site.put(claim(), *objects)
    await site.make(obj)
    site.start()
    try:
        await site.later(5)
        yield site
    finally:
        await site.stop()


async def _ready(site: Scene) -> None:
    await site.mark("completed", JOB)
    await site.end("Complete", JOB)
    await site.later(5)


async def _worker(site: Site) -> Node:
    [found] = [one for name, one in (await site.all(DEPLOYMENTS)).items() if "worker" in name]
    return found


async def _is_restored(site: Site) -> bool:
    return bool((await _worker(site))["spec"]["template"]["metadata"]["labels"].get(TARGET) == "true")


async def _told(site: Site) -> tuple[str, str]:
    found = await site.condition(kind="Restore")
    return found["status"], found["reason"]


async def test_a_graph_runs_cold_while_its_checkpoint_is_made_and_keeps_running() -> None:
    async with scene(warm()) as site:
        assert (await site.graph())["status"]["state"] == "successful"
        entry = {"checkpointName": NAME, "identityHash": identity_hash(IDENTITY), "ready": False}
        assert (await site.graph())["status"]["checkpoints"] == {"worker": entry}
        assert [*await site.all(JOBS)] == [JOB]
        assert await _told(site) == ("False", "CheckpointNotReady")
        before, names = await _worker(site), [*await site.all(COMPONENTS)]
        await _ready(site)
        assert (await site.graph())["status"]["checkpoints"] == {"worker": {**entry, "ready": True}}
        assert await _told(site) == ("False", "RestoreAvailable")
        assert (await _worker(site))["spec"] == before["spec"]
        assert "RestoreAvailable" in await site.reasons()
        await site.user.merge_patch(COMPONENTS, names[-1], {"spec": {"replicas": 3}}, NAMESPACE)
        await site.edit("g", 1, replicas=3)
        await site.later(5)
        assert (await _worker(site))["spec"]["replicas"] == 3
        assert not await _is_restored(site)


async def test_the_next_change_of_the_pods_takes_the_shape() -> None:
    async with scene(warm()) as site:
        await _ready(site)
        obj = (await site.graph())["spec"]["components"][1]
        template = {**obj["podTemplate"], "metadata": {"annotations": {"note": "1"}}}
        await site.edit("g", 1, podTemplate=template)
        await site.later(20)
        assert await _is_restored(site)
        assert await _told(site) == ("True", "Restored")
        assert (await site.graph())["status"]["state"] == "successful"


async def test_with_roll_running_pods_are_replaced_in_the_same_object() -> None:
    async with scene(warm(), ROLLING) as site:
        names = [*await site.all(COMPONENTS)]
        await _ready(site)
        assert await _is_restored(site)
        assert [*await site.all(COMPONENTS)] == names
        await site.later(5)
        assert await _told(site) == ("True", "Restored")


async def test_new_workers_start_restored_and_cold_again_when_the_checkpoint_goes() -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Ready", "jobName": ""}}
    async with scene(warm(checkpointRef="ck"), RESTORING, made) as site:
        assert await _is_restored(site)
        assert await _told(site) == ("True", "Restored")
        await site.user.delete(CHECKPOINTS, "ck", NAMESPACE)
        await site.later(5)
        assert not await _is_restored(site)
        assert await _told(site) == ("False", "CheckpointMissing")
        assert (await site.graph())["status"]["state"] == "successful"


async def test_another_image_is_not_restored_unless_that_is_asked_for() -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Ready", "jobName": ""}}
    made["metadata"]["annotations"] = {IMAGE: "img:0"}
    async with scene(warm(checkpointRef="ck"), RESTORING, made) as site:
        assert await _told(site) == ("False", "ImageDiffers")
        assert not await _is_restored(site)
        assert (await site.graph())["status"]["state"] == "successful"
        await site.user.merge_patch(GRAPHS, "g", {"metadata": {"annotations": {ANY_IMAGE: "true"}}}, NAMESPACE)
        await site.later(5)
        assert await _told(site) == ("False", "RestoreAvailable")


@pytest.mark.parametrize(
    ("more", "denied", "reason"),
    [
        ("controllers: {checkpoints: 'off'}\n" + RESTORING, False, "ControllerOff"),
        (RESTORING, True, "Forbidden"),
        ("", False, "CheckpointNotReady"),
    ],
)
async def test_where_no_checkpoint_can_be_made_a_graph_runs_without_and_says_so(more: str, denied: bool, reason: str) -> None:
    async with scene(warm(), more, denied=denied) as site:
        assert (await site.graph())["status"]["state"] == "successful"
        assert await _told(site) == ("False", reason)
        assert (reason in await site.reasons()) == (reason != "CheckpointNotReady" or bool(await site.all(CHECKPOINTS)))
        assert bool(await site.all(CHECKPOINTS)) == (reason == "CheckpointNotReady")
        writes = len(site.cluster.writes)
        await site.later(100)
        assert [one for one in site.quiet_since(writes) if one[1] != "leases"] == []


async def test_without_restoring_switched_on_a_ready_checkpoint_is_only_told() -> None:
    async with scene(warm(), "") as site:
        await _ready(site)
        assert await _told(site) == ("False", "RestoreOff")
        assert not await _is_restored(site)


async def test_without_an_agent_pods_start_cold() -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Ready", "jobName": ""}}
    async with scene(warm(checkpointRef="ck"), "checkpoint: {enabled: true}\n", made) as site:
        assert await _told(site) == ("False", "RestoreUnavailable")
        assert not await _is_restored(site)


async def test_a_checkpoint_that_is_not_asked_for_any_more_is_not_told_any_more() -> None:
    async with scene(warm()) as site:
        obj = await site.graph()
        del obj["spec"]["components"][1]["experimental"]
        await site.user.replace(GRAPHS, obj)
        await site.later(10)
        assert "checkpoints" not in (await site.graph())["status"]
        assert await site.condition(kind="Restore") == {}
        assert [*await site.all(CHECKPOINTS)] == [NAME]


async def test_on_grove_pods_of_cliques_are_restored_by_the_same_rules() -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Ready", "jobName": ""}}
    async with scene(warm(checkpointRef="ck"), RESTORING, made, grove=True) as site:
        [found] = (await site.all(OPTIONAL["grove"])).values()
        [clique] = [one for one in found["spec"]["template"]["cliques"] if one["name"] == "worker"]
        assert (clique["labels"][TARGET], clique["spec"]["podSpec"]["containers"][0]["command"]) == ("true", ["sleep", "infinity"])
        assert await _told(site) == ("True", "Restored")
        await site.user.delete(CHECKPOINTS, "ck", NAMESPACE)
        await site.later(5)
        [found] = (await site.all(OPTIONAL["grove"])).values()
        [clique] = [one for one in found["spec"]["template"]["cliques"] if one["name"] == "worker"]
        assert TARGET not in clique["labels"]


async def test_on_grove_a_claim_that_is_made_later_is_noticed() -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Ready", "jobName": ""}}
    async with scene(warm(checkpointRef="ck"), RESTORING, made, grove=True) as site:
        await site.user.delete(CLAIMS, "snaps", NAMESPACE)
        await site.edit("g", 0, replicas=2)
        await site.later(5)
        assert "PVC demo/snaps does not exist" in (await site.condition())["message"]
        events, writes = await site.events(), len(site.cluster.writes)
        await site.later(700)
        assert (await site.events(), [one for one in site.cluster.writes[writes:] if one[1] != "leases"]) == (events, [])
        await site.put(claim())
        await site.later(65)
        assert (await site.condition())["reason"] == "some_resources_are_not_ready"


@pytest.mark.parametrize("code", [403, 500])
async def test_on_grove_a_claim_that_can_not_be_made_is_told_of(code: int) -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Ready", "jobName": ""}}
    more = RESTORING.replace("pvcName: snaps", "pvcName: mine, create: true, size: 1Gi")

    def refuse(verb: str, resource: Resource | None, _namespace: str, _name: str) -> Exception | None:
        return error_of_status(code, "", "exceeded quota") if (verb, resource) == ("create", CLAIMS) else None

    async with scene(graph(), more, made, grove=True) as site:
        mend = site.cluster.fail(refuse)
        await site.user.replace(GRAPHS, {**await site.graph(), "spec": warm(checkpointRef="ck")["spec"]})
        await site.later(30)
        told = await site.condition()
        assert (told["reason"], told["message"]) == ("failed_to_reconcile_the_resources", "DynamoGraphDeployment demo/g: exceeded quota")
        mend()
        await site.later(130)
        assert (await site.condition())["reason"] == "some_resources_are_not_ready"


async def test_restored_workers_stay_while_another_version_is_made() -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Ready", "jobName": f"checkpoint-job-{HASH}-1"}}
    async with scene(warm(checkpointRef="ck"), RESTORING, made) as site:
        before = (await _worker(site))["spec"]
        await site.annotate(ARTIFACT_VERSION, "2")
        await site.later(5)
        assert await site.phase() == "Creating"
        assert ((await _worker(site))["spec"], await _told(site)) == (before, ("True", "Restored"))
        await site.mark("completed", f"checkpoint-job-{HASH}-2")
        await site.later(5)
        assert await site.phase() == "Ready"
        assert ((await _worker(site))["spec"], await _told(site)) == (before, ("False", "RestoreAvailable"))
        obj = (await site.graph())["spec"]["components"][1]
        await site.edit("g", 1, podTemplate={**obj["podTemplate"], "metadata": {"annotations": {"note": "1"}}})
        await site.later(20)
        assert (await _worker(site))["spec"]["template"]["metadata"]["annotations"][ARTIFACT_VERSION] == "2"
        assert await _told(site) == ("True", "Restored")


async def test_where_the_kind_is_not_served_a_graph_runs_without() -> None:
    site = Scene(settings(RESTORING))

    def unserved(verb: str, resource: Resource | None, *_: str) -> Exception | None:
        asked = resource is not None and resource.plural == CHECKPOINTS.plural and verb != "allowed"
        return NotServedError(404, "", "no such kind") if asked else None

    site.cluster.fail(unserved)
    await site.put(claim())
    await site.make(warm())
    site.start()
    try:
        await site.later(40)
        assert (await site.graph())["status"]["state"] == "successful"
        assert (await site.condition(kind="Restore"))["status"] == "False"
    finally:
        await site.stop()


@pytest.mark.parametrize("how", [{"multinode": {"nodeCount": 2}}, {"gpuMemoryService": {"mode": "InterPod"}}])
async def test_what_is_several_pods_is_not_restored_and_says_so_at_once(how: dict[str, Any]) -> None:
    experimental = {"checkpoint": {"identity": dict(IDENTITY)}, **{name: how[name] for name in how if name == "gpuMemoryService"}}
    fields = {name: how[name] for name in how if name == "multinode"}
    obj = graph(vllm("worker", experimental=experimental, **fields), backendFramework="vllm")
    async with scene(obj, RESTORING + "featureGates: {gmsSnapshot: true}\n", grove=True) as site:
        assert await _told(site) == ("False", "RestoreUnavailable")
        assert await site.all(CHECKPOINTS) == {}  # nobody would be restored from it
        [found] = (await site.all(OPTIONAL["grove"])).values()
        assert all(TARGET not in one["labels"] for one in found["spec"]["template"]["cliques"])
