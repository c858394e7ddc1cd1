"""Scaling adapters: an autoscaler's number reaches the pods, a planner's reaches the adapter, and neither undoes the other's."""

import asyncio
from contextlib import AbstractAsyncContextManager
from types import SimpleNamespace
from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS
from dynamo_webhooks.reconciler.adapter.controller import adapters_of, prepare_adapter
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.resources import ADAPTERS, GRAPHS
from tests.reconciler.site import NAMESPACE, Site, disagg, draft, running
from tests.rows import run_each

ADAPTER = "g-decode"


def _scaled() -> AbstractAsyncContextManager[Site]:
    """A graph whose decode workers have an adapter."""
    obj = disagg()
    obj["spec"]["components"][1]["scalingAdapter"] = {}
    return running(obj)


async def _pods(site: Site) -> int:
    live = await site.all(DEPLOYMENTS)
    return int(next(obj["spec"]["replicas"] for name, obj in live.items() if name.startswith("g-decode-")))


async def _scale(site: Site, replicas: int, *, rest: bool = True) -> None:
    await site.user.merge_patch(ADAPTERS, ADAPTER, {"spec": {"replicas": replicas}}, NAMESPACE)
    if rest:
        await site.rest()


async def test_a_new_number_goes_through_the_graph_to_the_pods_without_a_roll() -> None:
    async with _scaled() as site:
        before = set(await site.workers())
        assert (await site.adapters())[ADAPTER]["status"] == {
            "replicas": 2,
            "selector": "nvidia.com/dynamo-component=decode,nvidia.com/dynamo-graph-deployment-name=g",
        }
        await _scale(site, 5)
        assert (await site.graph())["spec"]["components"][1]["replicas"] == 5
        assert await _pods(site) == 5
        assert (await site.adapters())[ADAPTER]["status"]["replicas"] == 5
        assert "lastScaleTime" in (await site.adapters())[ADAPTER]["status"]
        assert set(await site.workers()) == before
        assert "Scaled" in await site.reasons()


async def test_other_changes_of_the_graph_leave_the_number_and_a_planners_fence_alone() -> None:
    """E44: the planner of operator 1.7 reads its annotation back before each write."""
    fence = {"dynamo.nvidia.com/planner-writer-fence": "nonce"}
    async with _scaled() as site:
        await site.user.merge_patch(ADAPTERS, ADAPTER, {"metadata": {"annotations": fence}}, NAMESPACE)
        await _scale(site, 5, rest=False)
        await site.edit("g", 0, rest=False, replicas=3)  # both at once: neither has been passed over yet
        await site.rest()
        assert (await site.adapters())[ADAPTER]["spec"]["replicas"] == 5
        assert fence.items() <= (await site.adapters())[ADAPTER]["metadata"]["annotations"].items()
        assert await _pods(site) == 5


async def test_an_adapter_that_was_deleted_is_made_again_as_planners_recognise_it() -> None:
    """E46, TR23: a planner of operator 1.7 scales by nothing else."""

    def identity(adapter: Node) -> list[object]:
        metadata = adapter["metadata"]
        return [metadata["name"], metadata["labels"], metadata["ownerReferences"], adapter["spec"]["dgdRef"]]

    async with _scaled() as site:
        before = (await site.adapters())[ADAPTER]
        await site.delete(ADAPTERS, ADAPTER)
        after = (await site.adapters())[ADAPTER]
        assert identity(after) == identity(before)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        [owner] = after["metadata"]["ownerReferences"]
        assert (owner["apiVersion"], owner["kind"], owner["controller"]) == ("nvidia.com/v1beta1", "DynamoGraphDeployment", True)


async def test_a_scale_that_was_written_after_our_last_look_is_not_overwritten() -> None:
    async with _scaled() as site:
        scaled: list[asyncio.Future[None]] = []

        async def meanwhile() -> None:
            await _scale(site, 7, rest=False)

        def fault(verb: str, _resource: object, _namespace: str, name: str) -> None:
            if verb == "apply" and name == ADAPTER and not scaled:
                scaled.append(asyncio.ensure_future(meanwhile()))

        async with site.editing() as obj:
            obj["spec"]["components"][1]["replicas"] = 4  # the graph leads, and is about to be written into the adapter
            site.cluster.fail(fault)
        assert scaled
        assert await _pods(site) in (4, 7)
        assert (await site.adapters())[ADAPTER]["spec"]["replicas"] == await _pods(site)


async def test_an_adapter_goes_when_the_graph_asks_for_it_no_more() -> None:
    async with _scaled() as site:
        async with site.editing() as obj:
            del obj["spec"]["components"][1]["scalingAdapter"]
        assert await site.adapters() == {}


async def test_an_adapter_that_was_there_first_is_woken_by_its_graph_alone_and_forgotten_with_it() -> None:
    async with running() as site:
        await _adapter(site, "mine", 4)
        assert "status" not in (await site.adapters())["mine"]
        await site.make(disagg(), disagg("other"))
        assert await _pods(site) == 4
        graph, other = (Key(GRAPHS.kind, NAMESPACE, name) for name in ("g", "other"))
        assert site.cache.index_keys(adapters_of(graph)) == [Key(ADAPTERS.kind, NAMESPACE, "mine")]
        assert site.cache.index_keys(adapters_of(other)) == []
        await site.delete(ADAPTERS, "mine")
        assert site.cache.index_keys(adapters_of(graph)) == []


async def _adapter(site: Site, name: str, replicas: int) -> None:
    spec = {"replicas": replicas, "dgdRef": {"name": "g", "componentName": "decode"}}
    await site.create(ADAPTERS, draft(ADAPTERS, name, spec=spec))


async def _numbers(site: Site) -> dict[str, tuple[int, int]]:
    return {name: (obj["spec"]["replicas"], obj["status"]["replicas"]) for name, obj in (await site.adapters()).items()}


async def test_all_adapters_of_a_component_follow_the_last_change_of_any() -> None:
    async with _scaled() as site:
        await _adapter(site, "a", 4)
        await _adapter(site, "b", 7)
        agreed = await _pods(site)
        assert agreed in (4, 7)
        assert await _numbers(site) == dict.fromkeys(("a", "b", ADAPTER), (agreed, agreed))
        await site.patch(ADAPTERS, "a", {"spec": {"replicas": 5}})
        assert await _numbers(site) == dict.fromkeys(("a", "b", ADAPTER), (5, 5))
        await _scale(site, 0)
        assert (await _numbers(site), await _pods(site)) == (dict.fromkeys(("a", "b", ADAPTER), (0, 0)), 0)
        assert (await site.condition())["status"] == "True"
        await site.edit("g", 1, replicas=3)
        assert (await _numbers(site), await _pods(site)) == (dict.fromkeys(("a", "b", ADAPTER), (3, 3)), 3)
        assert await site.writes_within(120) == []


async def test_a_number_that_is_written_while_another_adapter_follows_the_graph_counts() -> None:
    async with _scaled() as site:
        await _adapter(site, "a", 2)
        scaled: list[asyncio.Future[Node]] = []

        def fault(verb: str, _resource: object, _namespace: str, name: str) -> None:
            if verb == "merge_patch" and name == "a" and not scaled:
                scaled.append(asyncio.ensure_future(site.user.merge_patch(ADAPTERS, "a", {"spec": {"replicas": 9}}, NAMESPACE)))

        site.cluster.fail(fault)
        await _scale(site, 5)
        assert scaled
        [number] = {*(await _numbers(site)).values()}
        assert number == (await _pods(site),) * 2


async def test_an_adapter_without_its_graph_says_so_once_until_it_has_one() -> None:
    async with running() as site:
        await _adapter(site, "a", 4)
        await site.later(1900)
        assert [verb for verb, plural, _ in site.cluster.writes if plural == "events"] == ["create"]
        await site.make(disagg())
        await site.edit("g", 1, replicas=4)
        for count in (2, 3):
            await site.delete(GRAPHS, "g")
            await site.patch(ADAPTERS, "a", {"metadata": {"labels": {"again": str(count)}}}, 700)
            assert [(name, reason) for name, reason, _ in await site.events()].count(("a", "UpdateFailed")) == count
            await site.make(disagg(replicas=4))


@run_each(
    ("live", "replicas"),
    [
        (None, 2),
        ({"spec": {}}, 2),
        ({"spec": {"replicas": 5}, "status": {"replicas": 5}}, 2),  # both agreed on 5, and the graph has changed since
        ({"spec": {"replicas": 5}, "status": {"replicas": 3}}, 5),
        ({"spec": {"replicas": 5}, "status": {"replicas": 2}}, 5),
        ({"spec": {"replicas": 5}}, 5),
    ],
)
def test_an_adapter_is_applied_with_the_number_that_changed_last(live: Any, replicas: int) -> None:
    rendered = {"kind": "DynamoGraphDeploymentScalingAdapter", "metadata": {"name": "a", "namespace": "n"}, "spec": {"replicas": 2}}
    cache: Any = SimpleNamespace(get=lambda _: live)
    assert prepare_adapter(rendered, cache)["spec"]["replicas"] == replicas
