"""Replicas of several nodes: one object of the orchestrator, whose generations change all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.loop.kinds import COMPONENTS, GRAPHS, OPTIONAL
from tests.reconciler.loop.site import NAMESPACE, Site, running
from tests.reconciler.rendering import component, graph, vllm

if TYPE_CHECKING:
    from kube.protocol import Node

LWS = OPTIONAL["lws"]


def _graph(*args: str) -> Node:
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    return graph(frontend, vllm("decode", "decode", args=args, replicas=1, multinode={"nodeCount": 2}))


async def _all_ready(site: Site) -> None:
    """What the orchestrator would say."""
    for name, one in (await site.all(LWS)).items():
        status = {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "conditions": [{"type": "Available", "status": "True"}]}
        if one.get("status") != status:
            await site.kubelet.merge_patch(LWS, name, {"status": status}, NAMESPACE)
    await site.rest()


async def test_without_an_orchestrator_a_condition_says_so() -> None:
    async with running() as site:
        await site.make(_graph())
        await site.rest()
        assert (await site.graph())["status"]["state"] == "failed"
        assert "multinode" in (await site.condition())["message"]
        assert await site.all(LWS) == {}


async def test_the_old_generation_goes_when_the_new_one_is_there() -> None:
    site = Site()
    groups = {"leaderworkerset.x-k8s.io": frozenset({"v1"}), "scheduling.volcano.sh": frozenset({"v1beta1"})}
    site.cluster.served.update(groups)
    site.start()
    await site.make(_graph())
    await site.rest()
    [old] = await site.all(LWS)
    assert (await site.condition())["status"] == "False"
    await _all_ready(site)
    assert (await site.condition())["status"] == "True"
    obj = await site.graph()
    obj["spec"] = _graph("--new")["spec"]
    await site.user.replace(GRAPHS, obj)
    await site.rest()
    assert len(await site.all(LWS)) == 2
    assert old in await site.all(LWS)
    await _all_ready(site)
    [new] = await site.all(LWS)
    assert new != old
    assert len(await site.all(COMPONENTS)) == 2
    assert (await site.condition())["status"] == "True"
    # a term that begins later listens to the same kinds
    await site.stop()
    site.start()
    await site.user.delete(LWS, new, NAMESPACE)
    await site.rest()
    assert new in await site.all(LWS)
    await site.user.delete(LWS, new, NAMESPACE)
    await site.rest()
    assert new in await site.all(LWS)
    await site.stop()
