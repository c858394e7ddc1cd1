"""Graphs on Grove: one object for all components, which restart one after the other and only when they are asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.kinds import GRAPHS, OPTIONAL
from tests.reconciler.loop.site import NAMESPACE, Site
from tests.reconciler.rendering import component, graph, vllm

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node

GROVE = OPTIONAL["grove"]
RESTART_AT = "nvidia.com/restartAt"


async def _started() -> Site:
    site = Site()
    site.cluster.served.update({"grove.io": frozenset({"v1alpha1"})})
    site.start()
    await site.make(graph(component("fe", "frontend", {"image": "img:1"}, replicas=1), vllm("w", replicas=1)))
    await site.rest()
    return site


async def _ask(site: Site, **restart: str) -> None:
    obj = await site.graph()
    obj["spec"].pop("restart", None)
    obj["spec"] |= {"restart": restart} if restart else {}
    await site.user.replace(GRAPHS, obj)
    await site.rest()


async def _updated(site: Site, *, replicas: int = 1) -> None:
    """What Grove would say."""
    generation = (await _set(site))["metadata"]["generation"]
    status = {"observedGeneration": generation, "availableReplicas": 1, "updatedReplicas": replicas}
    await site.kubelet.merge_patch(GROVE, "g", {"status": status}, NAMESPACE)
    await site.rest()


async def _set(site: Site) -> Node:
    found = await site.user.get(GROVE, "g", NAMESPACE)
    assert found is not None
    return found


async def _marks(site: Site) -> dict[str, str]:
    cliques = (await _set(site))["spec"]["template"]["cliques"]
    return {one["name"]: one["annotations"][RESTART_AT] for one in cliques if RESTART_AT in one["annotations"]}


async def test_components_restart_one_after_the_other() -> None:
    site = await _started()
    await _updated(site)
    assert await _marks(site) == {}
    await _ask(site, id="r1")
    assert await _marks(site) == {"fe": "r1"}
    await _updated(site, replicas=0)
    assert await _marks(site) == {"fe": "r1"}  # its pods are still the older ones
    await _updated(site)
    assert await _marks(site) == {"fe": "r1", "w": "r1"}
    assert (await site.graph())["status"]["restart"] == {"observedID": "r1", "phase": "Restarting", "inProgress": ["w"]}
    await _updated(site)
    assert (await site.graph())["status"]["restart"] == {"observedID": "r1", "phase": "Completed"}
    await site.stop()


async def test_a_restart_that_is_not_asked_for_any_more_restarts_nobody_again() -> None:
    site = await _started()
    await _ask(site, id="r1")
    for _ in range(2):
        await _updated(site)
    marked = await _set(site)
    await _ask(site)
    assert (await _set(site))["spec"] == marked["spec"]
    assert await _marks(site) == {"fe": "r1", "w": "r1"}
    await site.stop()
