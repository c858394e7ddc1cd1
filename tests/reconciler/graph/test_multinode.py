"""Replicas of several nodes: one object of the orchestrator, whose generations change all at once."""

import tracemalloc

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CLAIM_TEMPLATES, DEVICE_CLASSES, SECRETS
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, LEADER_WORKER_SETS, STATEFUL_SETS
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import LWS_API, NAMESPACE, Site, draft, running

LWS = LEADER_WORKER_SETS


def _graph(*args: str) -> Node:
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    return graph(frontend, vllm("decode", "decode", args=args, replicas=1, multinode={"nodeCount": 2}))


async def _all_ready(site: Site, *, workers: int = 1) -> None:
    """What the orchestrator would make and say, with so many workers of each replica running."""
    for name, obj in (await site.all(LWS)).items():
        made = draft(STATEFUL_SETS, f"{name}-0", {"labels": {"leaderworkerset.sigs.k8s.io/name": name}}, spec={"replicas": 1})
        if f"{name}-0" not in await site.all(STATEFUL_SETS):
            await site.kubelet.create(STATEFUL_SETS, made, NAMESPACE)
        ran = {"status": {"replicas": 1, "readyReplicas": workers}}
        await site.kubelet.merge_patch(STATEFUL_SETS, f"{name}-0", ran, NAMESPACE, subresource="status")
        status = {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "conditions": [{"type": "Available", "status": "True"}]}
        if obj.get("status") != status:
            await site.patch(LWS, name, {"status": status})


async def test_an_autoscaler_counts_the_leaders_of_replicas_on_several_nodes() -> None:
    made = _graph()
    made["spec"]["components"][1]["scalingAdapter"] = {}
    async with running(made, served=LWS_API) as site:
        marks = "nvidia.com/dynamo-component=decode,nvidia.com/dynamo-graph-deployment-name=g,role=leader"
        assert (await site.adapters())["g-decode"]["status"] == {"replicas": 1, "selector": marks}
        [live] = (await site.all(LWS)).values()
        template = live["spec"]["leaderWorkerTemplate"]
        assert [template[f"{role}Template"]["metadata"]["labels"]["role"] for role in ("leader", "worker")] == ["leader", "worker"]


@pytest.mark.parametrize(("more", "made"), [("", False), ("orchestrators: {lws: {enabled: true}}\n", True)])
async def test_without_volcano_sets_are_made_where_the_configuration_asks_for_them(more: str, made: bool) -> None:
    """E48: the multinode orchestrator of operator 1.6 needs Volcano, that of 1.7 perhaps not."""
    async with running(_graph(), more=more, served={"leaderworkerset.x-k8s.io": frozenset({"v1"})}) as site:
        sets = await site.all(LWS)
        assert bool(sets) == made
        assert all("podGroup" not in str(obj) and "volcano" not in str(obj) for obj in sets.values())
        assert ("LeaderWorkerSet with Volcano is not served" in (await site.condition())["message"]) == (not made)


async def test_gpus_of_claims_are_counted_by_the_template_in_the_cluster_once_it_can_be_read() -> None:
    groups = {"leaderworkerset.x-k8s.io": {"v1"}, "scheduling.volcano.sh": {"v1beta1"}, "resource.k8s.io": {"v1"}}
    made = _graph("--tensor-parallel-size", "16")
    pod = made["spec"]["components"][1]["podTemplate"]["spec"]
    pod["containers"][0]["resources"] = {"claims": [{"name": "gpus"}]}
    pod["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "eight"}]
    async with running(made, served={name: frozenset(versions) for name, versions in groups.items()}) as site:
        assert await site.all(LWS) == {}
        assert "ResourceClaimTemplate eight is not in the namespace; create it" in (await site.condition())["message"]
        request = {"deviceClassName": "h100", "allocationMode": "ExactCount", "count": 8}
        spec = {"spec": {"devices": {"requests": [{"name": "gpus", "exactly": request}]}}}
        await site.user.create(CLAIM_TEMPLATES, draft(CLAIM_TEMPLATES, "eight", spec=spec), NAMESPACE)
        site.cluster.denied.add(("get", "deviceclasses"))
        await site.later(70)
        message = (await site.condition())["message"]
        assert "DeviceClass h100 can't be read: the reconciler lacks a permission" in message
        assert "components/orchestrators" in message
        site.cluster.denied.clear()
        selectors = [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}]
        await site.user.create(DEVICE_CLASSES, draft(DEVICE_CLASSES, "h100", spec={"selectors": selectors}))
        await site.later(70)
        [live] = (await site.all(LWS)).values()
        leader = live["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]
        assert "--distributed-executor-backend" in " ".join(leader["args"])


async def test_the_old_generation_goes_when_the_new_one_is_there() -> None:
    async with running(_graph(), served=LWS_API) as site:
        [old] = await site.all(LWS)
        assert (await site.condition())["status"] == "False"
        await _all_ready(site)
        assert (await site.condition())["status"] == "True"
        async with site.editing() as obj:
            obj["spec"] = _graph("--new")["spec"]
        assert len(await site.all(LWS)) == 2
        assert old in await site.all(LWS)
        assert await site.all(SECRETS) == {}  # no process of vLLM reads keys
        await _all_ready(site)
        [new] = await site.all(LWS)
        assert new != old
        assert len(await site.all(COMPONENTS)) == 2
        assert (await site.condition())["status"] == "True"
        # a term that begins later listens to the same kinds
        await site.stop()
        site.start()
        await site.delete(LWS, new)
        assert new in await site.all(LWS)
        await site.delete(LWS, new)
        assert new in await site.all(LWS)


async def test_a_replica_is_ready_when_its_workers_are() -> None:
    """The orchestrator counts workers as soon as their pods are made."""
    async with running(_graph(), served=LWS_API) as site:
        for workers, status in ((0, "False"), (1, "True"), (0, "False")):
            await _all_ready(site, workers=workers)
            await site.later(2)
            assert (await site.condition())["status"] == status


async def test_a_component_of_as_many_replicas_as_a_number_holds_costs_no_more_than_another() -> None:
    async with running(served=LWS_API) as site:
        made = _graph()
        made["spec"]["components"][1]["replicas"] = 2_000_000
        tracemalloc.start()
        try:
            await site.make(made)
            assert tracemalloc.get_traced_memory()[1] < 50_000_000
        finally:
            tracemalloc.stop()
        assert (await site.condition())["status"] == "False"
