"""Graphs whose components have checkpoints: what is made, what their pods are restored from, and what the graph says of it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

from dynamo_webhooks.api.operator.features import Pvc
from dynamo_webhooks.kube.errors import NotServedError, error_of_status
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CLAIM_TEMPLATES, CLAIMS, DEPLOYMENTS, Resource
from dynamo_webhooks.reconciler.checkpoint.phases import IMAGE
from dynamo_webhooks.reconciler.checkpoint.restore_condition import ANY_IMAGE
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, CLIQUE_SETS, COMPONENTS, GRAPHS, JOBS
from dynamo_webhooks.reconciler.render.checkpoint.identity import hash_identity
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.gms import find_refusal
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION
from dynamo_webhooks.reconciler.render.settings import CheckpointSettings, Settings
from tests.reconciler.checkpoint.objects import DONE, HASH, TAKEN
from tests.reconciler.checkpoint.test_checkpoint import Scene, claim
from tests.reconciler.rendering import component, graph, stored, vllm
from tests.reconciler.site import GROVE_API, NAMESPACE, Site, settings
from tests.rows import run_each

IDENTITY: Final = {"model": "m", "backendFramework": "vllm"}
NAME: Final = f"checkpoint-{hash_identity(IDENTITY)}"
JOB: Final = f"checkpoint-job-{hash_identity(IDENTITY)}-1"
RESTORING: Final = "checkpoint: {enabled: true, storage: {type: pvc, pvc: {pvcName: snaps, basePath: /c}}}\n"
ROLLING: Final = RESTORING.replace("enabled: true", "enabled: true, onReady: roll")
TARGET: Final = "nvidia.com/snapshot-is-restore-target"


def warm(**fields: Any) -> Node:
    """A graph with a frontend, and a worker with a checkpoint; by default of an identity, made when it isn't there."""
    wanted = fields or {"identity": dict(IDENTITY)}
    return graph(component("Frontend", "frontend", {"image": "img:1"}), vllm("worker", experimental={"checkpoint": wanted}))


@contextlib.asynccontextmanager
async def scene(obj: Node, more: str = RESTORING, *objects: Node, denied: bool = False, grove: bool = False) -> AsyncIterator[Scene]:
    """A cluster with a graph, at rest."""
    site = Scene(settings(more))
    site.cluster.denied |= {("create", "jobs")} if denied else set()
    site.serve(GROVE_API if grove else {})
    await site.put(claim(), *objects)
    await site.make(obj)
    async with site.running(seconds=5):
        yield site


async def _ready(site: Scene) -> None:
    await site.mark("completed", JOB)
    await site.end("Complete", JOB)
    await site.later(5)


async def _worker(site: Site) -> Node:
    [worker] = [obj for name, obj in (await site.all(DEPLOYMENTS)).items() if "worker" in name]
    return worker


async def _is_restored(site: Site) -> bool:
    return bool((await _worker(site))["spec"]["template"]["metadata"]["labels"].get(TARGET) == "true")


async def _told(site: Site) -> tuple[str, str]:
    condition = await site.condition(kind="Restore")
    return condition["status"], condition["reason"]


async def test_a_graph_runs_cold_while_its_checkpoint_is_made_and_tells_of_it_until_it_asks_for_none() -> None:
    async with scene(warm()) as site:
        assert (await site.graph())["status"]["state"] == "successful"
        entry = {"checkpointName": NAME, "identityHash": hash_identity(IDENTITY), "ready": False}
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
        await site.edit("g", 1, replicas=3, seconds=5)
        assert (await _worker(site))["spec"]["replicas"] == 3
        assert not await _is_restored(site)
        async with site.editing(seconds=10) as obj:
            del obj["spec"]["components"][1]["experimental"]
        assert "checkpoints" not in (await site.graph())["status"]
        assert await site.condition(kind="Restore") == {}
        assert [*await site.all(CHECKPOINTS)] == [NAME]


async def test_with_roll_running_pods_are_replaced_in_the_same_object() -> None:
    async with scene(warm(), ROLLING) as site:
        names = [*await site.all(COMPONENTS)]
        await _ready(site)
        assert await _is_restored(site)
        assert [*await site.all(COMPONENTS)] == names
        await site.later(5)
        assert await _told(site) == ("True", "Restored")


async def test_new_workers_start_restored_and_cold_again_when_the_checkpoint_goes() -> None:
    async with scene(warm(checkpointRef="ck"), RESTORING, DONE) as site:
        assert await _is_restored(site)
        assert await _told(site) == ("True", "Restored")
        await site.delete(CHECKPOINTS, "ck", 5)
        assert not await _is_restored(site)
        assert await _told(site) == ("False", "CheckpointMissing")
        assert (await site.graph())["status"]["state"] == "successful"


async def test_another_image_is_not_restored_unless_that_is_asked_for() -> None:
    made = {**DONE, "metadata": {**DONE["metadata"], "annotations": {IMAGE: "img:0"}}}
    async with scene(warm(checkpointRef="ck"), RESTORING, made) as site:
        assert await _told(site) == ("False", "ImageDiffers")
        assert not await _is_restored(site)
        assert (await site.graph())["status"]["state"] == "successful"
        await site.patch(GRAPHS, "g", {"metadata": {"annotations": {ANY_IMAGE: "true"}}}, 5)
        assert await _told(site) == ("False", "RestoreAvailable")


@run_each(
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
        assert await site.writes_within(100) == []


async def test_without_an_agent_pods_start_cold() -> None:
    async with scene(warm(checkpointRef="ck"), "checkpoint: {enabled: true}\n", DONE) as site:
        assert await _told(site) == ("False", "RestoreUnavailable")
        assert not await _is_restored(site)


async def test_on_grove_pods_of_cliques_are_restored_by_the_same_rules() -> None:
    async with scene(warm(checkpointRef="ck"), RESTORING, DONE, grove=True) as site:
        [live] = (await site.all(CLIQUE_SETS)).values()
        [clique] = [clique for clique in live["spec"]["template"]["cliques"] if clique["name"] == "worker"]
        assert (clique["labels"][TARGET], clique["spec"]["podSpec"]["containers"][0]["command"]) == ("true", ["sleep", "infinity"])
        assert await _told(site) == ("True", "Restored")
        await site.delete(CHECKPOINTS, "ck", 5)
        [live] = (await site.all(CLIQUE_SETS)).values()
        [clique] = [clique for clique in live["spec"]["template"]["cliques"] if clique["name"] == "worker"]
        assert TARGET not in clique["labels"]


async def test_on_grove_a_claim_that_is_made_later_is_noticed() -> None:
    async with scene(warm(checkpointRef="ck"), RESTORING, DONE, grove=True) as site:
        await site.user.delete(CLAIMS, "snaps", NAMESPACE)
        await site.edit("g", 0, replicas=2, seconds=5)
        assert "PVC demo/snaps does not exist" in (await site.condition())["message"]
        events = await site.events()
        assert (await site.writes_within(700), await site.events()) == ([], events)
        await site.put(claim())
        await site.later(65)
        assert (await site.condition())["reason"] == "some_resources_are_not_ready"


@run_each("code", [403, 500])
async def test_on_grove_a_claim_that_can_not_be_made_is_told_of(code: int) -> None:
    more = RESTORING.replace("pvcName: snaps", "pvcName: mine, create: true, size: 1Gi")
    async with scene(graph(), more, DONE, grove=True) as site:
        mend = site.refuse(error_of_status(code, "", "exceeded quota"), "create", CLAIMS)
        async with site.editing(seconds=30) as obj:
            obj["spec"] = warm(checkpointRef="ck")["spec"]
        ready = await site.condition()
        assert (ready["reason"], ready["message"]) == ("failed_to_reconcile_the_resources", "DynamoGraphDeployment demo/g: exceeded quota")
        mend()
        await site.later(130)
        assert (await site.condition())["reason"] == "some_resources_are_not_ready"


async def test_restored_workers_stay_while_another_version_is_made() -> None:
    async with scene(warm(checkpointRef="ck"), RESTORING, TAKEN) as site:
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
        await site.edit("g", 1, podTemplate={**obj["podTemplate"], "metadata": {"annotations": {"note": "1"}}}, seconds=20)
        assert (await _worker(site))["spec"]["template"]["metadata"]["annotations"][ARTIFACT_VERSION] == "2"
        assert await _told(site) == ("True", "Restored")


def _unserved(verb: str, resource: Resource | None, *_: str) -> Exception | None:
    refused = resource is not None and resource.plural == CHECKPOINTS.plural and verb != "allowed"
    return NotServedError(404, "", "no such kind") if refused else None


async def test_where_the_kind_is_not_served_a_graph_runs_without() -> None:
    site = Scene(settings(RESTORING))
    site.cluster.fail(_unserved)
    await site.put(claim())
    async with site.running(warm(), seconds=40):
        assert (await site.graph())["status"]["state"] == "successful"
        assert (await site.condition(kind="Restore"))["status"] == "False"


@run_each("grove", [False, True])
async def test_pods_stay_restored_when_the_kind_vanishes_and_returns(*, grove: bool) -> None:
    async with scene(warm(checkpointRef="ck"), RESTORING, TAKEN, grove=grove) as site:
        kind = CLIQUE_SETS if grove else DEPLOYMENTS
        before = {name: obj["spec"] for name, obj in (await site.all(kind)).items()}
        assert TARGET in str(before)
        for fault in (_unserved, lambda *_: None):
            site.cluster.fail(fault)
            for _ in range(2):
                await site.later(100)
                assert {name: obj["spec"] for name, obj in (await site.all(kind)).items()} == before
                assert (await site.graph())["status"]["state"] != "failed"
                await site.stop()
                site.start()


@run_each(("fields", "more"), [({"multinode": {"nodeCount": 2}}, {}), ({}, {"gpuMemoryService": {"mode": "InterPod"}})])
async def test_what_is_several_pods_is_not_restored_and_says_so_at_once(fields: dict[str, Any], more: dict[str, Any]) -> None:
    obj = graph(vllm("worker", experimental={"checkpoint": {"identity": dict(IDENTITY)}, **more}, **fields), backendFramework="vllm")
    async with scene(obj, RESTORING + "featureGates: {gmsSnapshot: true}\n", grove=True) as site:
        assert await _told(site) == ("False", "RestoreUnavailable")
        assert await site.all(CHECKPOINTS) == {}  # nobody would be restored from it
        [live] = (await site.all(CLIQUE_SETS)).values()
        assert all(TARGET not in clique["labels"] for clique in live["spec"]["template"]["cliques"])


GATE = "featureGates: {gmsSnapshot: true}\n"
GPU_CLAIM = f"{NAME}-worker-gpu"


def _shared(**fields: Any) -> dict[str, Any]:
    wanted = {"identity": dict(IDENTITY), **fields}
    return graph(vllm("worker", gpus="4", experimental={"checkpoint": wanted, "gpuMemoryService": {"deviceClassName": "mig.nvidia.com"}}))


def _rendered(obj: dict[str, Any]) -> Any:
    settings = Settings(
        operator_version="1.2.0", checkpoints=CheckpointSettings(enabled=True, gate=True, pvc=Pvc(pvc_name="c", base_path="/c"))
    )
    return render(stored(obj), settings)


def test_the_pod_of_the_snapshot_is_wired() -> None:
    done = _rendered(_shared())
    assert done.problems == []
    [checkpoint] = [child for child in done.children if child["kind"] == "DynamoCheckpoint"]
    assert find_refusal(checkpoint, gate=True) is None
    assert checkpoint["spec"]["gpuMemoryService"] == {"enabled": True, "mode": "intraPod", "deviceClassName": "mig.nvidia.com"}
    pod = checkpoint["spec"]["job"]["podTemplateSpec"]["spec"]
    assert pod["resourceClaims"] == [{"name": "intrapod-shared-gpu", "resourceClaimTemplateName": GPU_CLAIM}]
    assert [container["name"] for container in pod["initContainers"]] == ["gms-server"]
    assert pod["initContainers"][0]["image"] == "img:1"
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert "nvidia.com/gpu" not in str(pod["containers"])
    [template] = [child for child in done.children if child["metadata"]["name"] == GPU_CLAIM]
    assert template["metadata"]["ownerReferences"][0]["kind"] == "DynamoCheckpoint"
    [request] = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "mig.nvidia.com", "allocationMode": "ExactCount", "count": 4}
    assert [child["metadata"]["name"] for child in done.children if child["kind"] == "Job"] == [JOB]


def test_further_clients_of_the_job_are_wired_too() -> None:
    template = {"spec": {"containers": [{"name": "loader", "image": "l:1"}]}}
    done = _rendered(_shared(job={"gmsClientContainers": ["loader"], "podTemplate": template}))
    [checkpoint] = [child for child in done.children if child["kind"] == "DynamoCheckpoint"]
    assert find_refusal(checkpoint, gate=True) is None
    assert checkpoint["spec"]["gpuMemoryService"]["extraClientContainers"] == ["loader"]
    [loader] = [loader for loader in checkpoint["spec"]["job"]["podTemplateSpec"]["spec"]["containers"] if loader["name"] == "loader"]
    assert loader["resources"] == {"claims": [{"name": "intrapod-shared-gpu"}]}


def test_a_target_without_gpus_is_told() -> None:
    obj = _shared(targetContainerName="side")
    obj["spec"]["components"][0]["podTemplate"]["spec"]["containers"].append({"name": "side", "image": "s:1"})
    [problem] = _rendered(obj).problems
    assert str(problem).startswith("spec.components[0].experimental.checkpoint.targetContainerName: must be a container that asks for GPUs")


async def test_the_claim_belongs_to_the_checkpoint_and_is_made_once() -> None:
    async with scene(_shared(), RESTORING + GATE) as site:
        checkpoint = await site.checkpoint(NAME)
        template = (await site.all(CLAIM_TEMPLATES))[GPU_CLAIM]
        assert [owner["uid"] for owner in template["metadata"]["ownerReferences"]] == [checkpoint["metadata"]["uid"]]
        assert [*await site.all(JOBS)] == [JOB]
        assert (await site.graph())["status"]["state"] == "successful"
        assert await site.writes_within(60) == []
        await site.delete(CHECKPOINTS, NAME, 5)
        assert (await site.checkpoint(NAME))["metadata"]["uid"] != checkpoint["metadata"]["uid"]
        made = (await site.all(CLAIM_TEMPLATES))[GPU_CLAIM]
        assert made["metadata"]["uid"] != template["metadata"]["uid"]  # the earlier one went with its checkpoint
