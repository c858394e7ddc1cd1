"""Checkpoints that a graph makes of workers with the GPU memory service: the pod is wired, and its claim goes with the checkpoint."""

from typing import Any

from dynamo_webhooks.api.operator.features import Pvc
from dynamo_webhooks.kube.resources import CLAIM_TEMPLATES
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, JOBS
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.gms import refusal_of
from dynamo_webhooks.reconciler.render.settings import Checkpoints, Settings
from tests.reconciler.checkpoint.test_snapshots import IDENTITY, JOB, NAME, RESTORING, scene
from tests.reconciler.rendering import graph, stored, vllm
from tests.reconciler.site import NAMESPACE

GATE = "featureGates: {gmsSnapshot: true}\n"
CLAIM = f"{NAME}-worker-gpu"


def _graph(**asked: Any) -> dict[str, Any]:
    wanted = {"identity": dict(IDENTITY), **asked}
    return graph(vllm("worker", gpus="4", experimental={"checkpoint": wanted, "gpuMemoryService": {"deviceClassName": "mig.nvidia.com"}}))


def _rendered(obj: dict[str, Any]) -> Any:
    settings = Settings(operator_version="1.2.0", checkpoints=Checkpoints(enabled=True, gate=True, pvc=Pvc(pvc_name="c", base_path="/c")))
    return render(stored(obj), settings)


def test_the_pod_of_the_snapshot_is_wired() -> None:
    found = _rendered(_graph())
    assert found.problems == []
    [checkpoint] = [one for one in found.children if one["kind"] == "DynamoCheckpoint"]
    assert refusal_of(checkpoint, gate=True) is None
    assert checkpoint["spec"]["gpuMemoryService"] == {"enabled": True, "mode": "intraPod", "deviceClassName": "mig.nvidia.com"}
    pod = checkpoint["spec"]["job"]["podTemplateSpec"]["spec"]
    assert pod["resourceClaims"] == [{"name": "intrapod-shared-gpu", "resourceClaimTemplateName": CLAIM}]
    assert [one["name"] for one in pod["initContainers"]] == ["gms-server"]
    assert pod["initContainers"][0]["image"] == "img:1"
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert "nvidia.com/gpu" not in str(pod["containers"])
    [template] = [one for one in found.children if one["metadata"]["name"] == CLAIM]
    assert template["metadata"]["ownerReferences"][0]["kind"] == "DynamoCheckpoint"
    [request] = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "mig.nvidia.com", "allocationMode": "ExactCount", "count": 4}
    assert [one["metadata"]["name"] for one in found.children if one["kind"] == "Job"] == [JOB]


def test_further_clients_of_the_job_are_wired_too() -> None:
    template = {"spec": {"containers": [{"name": "loader", "image": "l:1"}]}}
    found = _rendered(_graph(job={"gmsClientContainers": ["loader"], "podTemplate": template}))
    [checkpoint] = [one for one in found.children if one["kind"] == "DynamoCheckpoint"]
    assert refusal_of(checkpoint, gate=True) is None
    assert checkpoint["spec"]["gpuMemoryService"]["extraClientContainers"] == ["loader"]
    [loader] = [one for one in checkpoint["spec"]["job"]["podTemplateSpec"]["spec"]["containers"] if one["name"] == "loader"]
    assert loader["resources"] == {"claims": [{"name": "intrapod-shared-gpu"}]}


def test_a_target_without_gpus_is_told() -> None:
    obj = _graph(targetContainerName="side")
    obj["spec"]["components"][0]["podTemplate"]["spec"]["containers"].append({"name": "side", "image": "s:1"})
    [problem] = _rendered(obj).problems
    assert str(problem).startswith("spec.components[0].experimental.checkpoint.targetContainerName: must be a container that asks for GPUs")


async def test_the_claim_belongs_to_the_checkpoint_and_is_made_once() -> None:
    async with scene(_graph(), RESTORING + GATE) as site:
        checkpoint = await site.checkpoint(NAME)
        template = (await site.all(CLAIM_TEMPLATES))[CLAIM]
        assert [one["uid"] for one in template["metadata"]["ownerReferences"]] == [checkpoint["metadata"]["uid"]]
        assert [*await site.all(JOBS)] == [JOB]
        assert (await site.graph())["status"]["state"] == "successful"
        assert await site.writes_within(60) == []
        await site.user.delete(CHECKPOINTS, NAME, NAMESPACE)
        await site.later(5)
        assert (await site.checkpoint(NAME))["metadata"]["uid"] != checkpoint["metadata"]["uid"]
        made = (await site.all(CLAIM_TEMPLATES))[CLAIM]
        assert made["metadata"]["uid"] != template["metadata"]["uid"]  # the earlier one went with its checkpoint
