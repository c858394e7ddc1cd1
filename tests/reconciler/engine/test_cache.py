"""What a process remembers stays small, is found without looking at each object, and is never changed by a pass."""

import asyncio
import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import SERVICE_ACCOUNTS
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.problems import ContestedError
from dynamo_webhooks.reconciler.common.resources import POD_ACCOUNT
from dynamo_webhooks.reconciler.engine import judge, write
from dynamo_webhooks.reconciler.engine.cache import Cache
from dynamo_webhooks.reconciler.engine.cluster_settings import find_pods_account
from dynamo_webhooks.reconciler.engine.judge import Judge
from dynamo_webhooks.reconciler.engine.sharing import MAX_GENERATION_PARTS, Interner
from dynamo_webhooks.reconciler.engine.write import Writer
from dynamo_webhooks.reconciler.metrics.meters import Meters, count_objects
from dynamo_webhooks.reconciler.workload.watches import CHILDREN
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing, settle
from tests.reconciler.site import disagg, draft, running
from tests.reconciler.site import settings as configuration


def _account(name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {POD_ACCOUNT: "true"}}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


async def test_accounts_of_pods_are_found_by_their_namespace() -> None:
    cluster = MemoryCluster()
    cache = Cache(cluster, lambda _: None)
    cache.listen(CHILDREN, configuration(), {})
    for name, namespace in (("b", "n"), ("a", "n"), ("c", "other")):
        await cluster.create(SERVICE_ACCOUNTS, _account(name, namespace))
    await settle()
    assert [find_pods_account(cache, namespace) for namespace in ("n", "other", "none")] == ["a", "c", "default"]
    await cluster.delete(SERVICE_ACCOUNTS, "a", "n")
    await cluster.delete(SERVICE_ACCOUNTS, "c", "other")
    await settle()
    assert [find_pods_account(cache, namespace) for namespace in ("n", "other")] == ["b", "default"]
    await cache.close()


async def test_a_scrape_lets_others_have_their_turn() -> None:
    cache, turns = Cache(MemoryCluster(), lambda _: None), [0]

    def some(kind: str, _namespace: str = "") -> list[Node]:
        return [{"metadata": {"namespace": "n"}}] * 3500 if kind == "DynamoGraphDeployment" else []

    async def other() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    cache.all = some  # type: ignore[method-assign, assignment]
    beside = asyncio.ensure_future(other())
    counts = await count_objects(cache.all, Meters())
    beside.cancel()
    assert sum(counts.values()) == 3500
    assert turns[0] >= 3


async def test_repairs_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "MAX_CACHED_CHILDREN", 10)
    timing, cluster = Timing(), MemoryCluster()
    writer = Writer(cluster, Cache(cluster, lambda _: None), lambda _: True, timing.clock)
    for number in range(100):
        writer._contest(Key("Service", "n", str(number)), "", ["kubectl"], "conflict")
        await timing.advance(write.REPAIR_WINDOW_SECONDS / 5)
    assert len(writer._repaired) <= 11
    for _ in range(write.MAX_REPAIRS):
        writer._contest(Key("Service", "n", "again"), "", ["kubectl"], "conflict")
    with pytest.raises(ContestedError):
        writer._contest(Key("Service", "n", "again"), "", ["kubectl"], "conflict")


async def test_a_status_is_written_once_and_mere_progress_at_most_once_a_second() -> None:
    timing, cluster = Timing(), MemoryCluster()
    delays: list[float] = []
    writer = Writer(cluster, Cache(cluster, lambda _: None), lambda _: True, timing.clock, lambda _key, seconds: delays.append(seconds))
    account = await cluster.create(SERVICE_ACCOUNTS, draft(SERVICE_ACCOUNTS, "a"), "n")

    async def write_status(before: Node, status: Node) -> bool:
        return await writer.patch_status({**account, "status": before}, status)

    first: Node = {"state": "pending", "component": {"readyReplicas": 1}}
    more: Node = {"state": "pending", "component": {"readyReplicas": 2}}
    assert await write_status({}, first)
    assert not await write_status(first, first)
    assert delays == []
    assert not await write_status(first, more)
    assert delays == [1.0]
    await timing.advance(1)
    assert await write_status(first, more)


def test_one_verdict_is_kept_for_each_object_however_often_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    uids: list[str] = []

    def judged(obj: Node, _: Facts, _policies: tuple[str, ...], _accepted: Node | None) -> str:
        uids.append(obj["metadata"]["uid"])
        return ""

    monkeypatch.setattr(judge, "MAX_CACHED_OBJECTS", 2)
    monkeypatch.setattr(judge, "check_admission", judged)
    judging, facts = Judge(), Facts()

    def refusal(uid: str, generation: int) -> None:
        obj: Node = {"metadata": {"uid": uid}, "spec": {"generation": generation}}
        assert judging.refusal(obj, facts) == ""

    refusal("a", 1)
    for generation in (1, 1, 2, 3, 3):
        refusal("b", generation)
    refusal("a", 1)
    assert uids == ["a", "b", "b", "b"]


SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.floats(0, 1) | st.sampled_from(["", "a", "b", "1"])
VALUES = st.recursive(SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("ab01"), below, max_size=3))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of a busy machine
@given(st.lists(st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3), max_size=8))
def test_what_is_shared_says_the_same_as_before(objects: list[dict[str, Any]]) -> None:
    sharing, before = Interner(), copy.deepcopy(objects)
    for obj in objects:
        sharing.share(obj)
    assert repr(objects) == repr(before)  # 1, 1.0 and True are equal, and not the same


def test_equal_parts_are_one_and_different_ones_are_not() -> None:
    sharing = Interner()
    first, second = ({"spec": {"args": ["--model", "m"], "image": image}} for image in ("i", "j"))
    again = copy.deepcopy(first)
    for obj in (first, second, again):
        sharing.share(obj)
    assert again["spec"] is first["spec"]
    assert second["spec"] is not first["spec"]
    assert second["spec"]["args"] is first["spec"]["args"]


def test_what_is_met_again_and_again_is_remembered_and_no_more_than_a_few_others() -> None:
    sharing = Interner()
    common = {"spec": {"args": ["--model", "m"]}}
    sharing.share(common)
    for number in range(MAX_GENERATION_PARTS):
        sharing.share({"metadata": {"uid": f"u{number}", "labels": {"name": f"n{number}"}}})
        met = {"spec": {"args": ["--model", "m"]}}
        sharing.share(met)
        assert met["spec"] is common["spec"]
        assert len(sharing) <= 2 * MAX_GENERATION_PARTS


async def test_nothing_that_a_pass_does_changes_what_the_cache_holds() -> None:
    async with running() as site:
        for name in ("a", "b", "c"):
            await site.make(disagg(name))
        await site.edit("a", 1, replicas=3)
        await site.edit("b", 0, podTemplate={"spec": {"containers": [{"name": "main", "image": "img:2"}]}})
        for kind, reflector in site.cache.reflectors.items():
            for (namespace, name), held in reflector.store.items():
                stored = [
                    record.obj
                    for (_, _, where, called), record in site.storage.records.items()
                    if (record.obj["kind"], where, called) == (held.get("kind"), namespace, name)
                ]
                assert [_light(obj) for obj in stored] == [held], f"{kind} {name}"


def _light(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}
