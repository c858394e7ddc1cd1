"""What tests can do to the API server in memory; what it promises as a server is in tests/cluster/test_kube.py."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.kube.errors import ConflictError, ForbiddenError, GoneError, UnavailableError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, SECRETS, of_kind
from tests.kube.memory import MemoryCluster
from tests.kube.storage import START, Storage
from tests.kube.timing import settle

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.kube.resources import Resource


def config(name: str = "a") -> Node:
    return {"metadata": {"name": name, "namespace": "n"}, "data": {"x": "1"}}


async def test_a_fault_hits_the_calls_it_is_meant_for_until_it_is_taken_away() -> None:
    def fault(verb: str, resource: Resource | None, namespace: str, name: str) -> Exception | None:
        hit = (verb, resource, namespace, name) == ("merge_patch", CONFIG_MAPS, "n", "a")
        return UnavailableError(0, "", "on purpose") if hit else None

    cluster = MemoryCluster()
    for name in "ab":
        await cluster.create(CONFIG_MAPS, config(name))
    restore = cluster.fail(fault)
    with pytest.raises(UnavailableError, match="on purpose"):
        await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, "n")
    await cluster.merge_patch(CONFIG_MAPS, "b", {"data": {"x": "2"}}, "n")
    restore()
    await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "3"}}, "n")
    assert [(verb, name) for verb, _, name in cluster.writes] == [
        ("create", "a"),
        ("create", "b"),
        ("merge_patch", "a"),
        ("merge_patch", "b"),
        ("merge_patch", "a"),
    ]
    assert cluster.names(CONFIG_MAPS) == {("n", "a"), ("n", "b")}


async def test_two_clients_of_one_storage_see_each_other_and_fail_apart() -> None:
    storage = Storage()
    one, other = MemoryCluster("one", storage=storage), MemoryCluster("other", storage=storage)
    one.denied.add(("get", "secrets"))
    await one.create(SECRETS, config())
    assert await other.get(SECRETS, "a", "n") is not None
    with pytest.raises(ForbiddenError):
        await one.get(SECRETS, "a", "n")
    assert not await one.allowed("get", SECRETS)


async def test_two_writers_at_once_do_interleave() -> None:
    cluster = MemoryCluster()
    await cluster.create(CONFIG_MAPS, config())

    async def write() -> str:
        live = await cluster.get(CONFIG_MAPS, "a", "n")
        assert live is not None
        try:
            await cluster.replace(CONFIG_MAPS, {**live, "data": {"by": str(id(live))}})
        except ConflictError:
            return "conflict"
        return "written"

    assert sorted(await asyncio.gather(write(), write(), write())) == ["conflict", "conflict", "written"]


async def test_watches_end_in_order_and_what_is_forgotten_is_gone() -> None:
    cluster = MemoryCluster()
    seen: list[str] = []

    async def watch(version: str) -> None:
        async with aclosing(cluster.watch(CONFIG_MAPS, version=version)) as events:
            seen.extend([event.type async for event in events])

    task = asyncio.create_task(watch("1"))
    await cluster.create(CONFIG_MAPS, config())
    await settle()
    assert not task.done()
    await cluster.forget()
    await task
    assert seen == ["ADDED"]
    with pytest.raises(GoneError):
        await watch("1")


async def test_what_is_given_out_is_a_copy() -> None:
    cluster = MemoryCluster()
    made = await cluster.create(CONFIG_MAPS, config())
    made["data"]["x"] = "changed by the reader"
    for found in (await cluster.get(CONFIG_MAPS, "a", "n"), *(await cluster.list(CONFIG_MAPS)).items):
        assert found is not None
        assert found["data"] == {"x": "1"}


async def test_the_versions_of_a_kind_are_one_object_and_the_clock_is_the_tests() -> None:
    cluster = MemoryCluster()
    assert await cluster.server_time() == START
    cluster.storage.now += timedelta(hours=1)
    made = await cluster.create(of_kind("DynamoModel", ALPHA), {"metadata": {"name": "m", "namespace": "n"}, "spec": {}})
    assert made["metadata"]["creationTimestamp"] == "2030-01-01T01:00:00Z"
    other = await cluster.get(of_kind("DynamoModel", BETA), "m", "n")
    assert other is not None
    assert other["apiVersion"] == "nvidia.com/v1beta1"
