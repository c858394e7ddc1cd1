"""One kind in several namespaces, read as one selection."""

import asyncio

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.reflector import Reflector, Several, WatchState
from dynamo_webhooks.kube.resources import SERVICES
from tests.kube.memory import MemoryCluster


def _service(namespace: str, name: str = "s") -> Node:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}}


@pytest.mark.parametrize("namespaces", [("a", "b"), ("",)])
async def test_it_knows_the_objects_of_its_namespaces_and_tells_of_them(namespaces: tuple[str, ...]) -> None:
    cluster = MemoryCluster()
    for namespace in ("a", "b", "c"):
        await cluster.create(SERVICES, _service(namespace))
    several, heard = Several(namespaces, lambda one: Reflector(cluster, SERVICES, one)), asyncio.Queue[str]()
    several.subscribe(lambda _, new: heard.put_nowait(new["metadata"]["namespace"]) if new else None)
    expected = {"a", "b"} if "" not in namespaces else {"a", "b", "c"}
    task = asyncio.create_task(several.run())
    try:
        assert {await heard.get() for _ in expected} == expected
        assert {namespace for namespace, _ in several.store} == expected
        assert several.synced.is_set()
        assert (several.state, several.reason) == (WatchState.SYNCED, "")
        assert (several.get("s", "b") is not None, several.get("s", "c") is not None) == (True, "c" in expected)
        await cluster.create(SERVICES, _service("b", "later"))
        assert await heard.get() == "b"
        assert [one["metadata"]["name"] for one in several.all("b")] == ["s", "later"]
        assert [one["metadata"]["namespace"] for one in several.all("c")] == ["c"] * ("c" in expected)
        assert len(several.all()) == len(expected) + 1
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_one_namespace_that_is_not_known_leaves_the_whole_unknown() -> None:
    cluster = MemoryCluster()
    parts = {one: Reflector(cluster, SERVICES, one) for one in ("a", "b")}
    several = Several(("a", "b"), parts.__getitem__)
    parts["a"].synced.set()
    parts["a"].state = WatchState.SYNCED
    parts["b"].state, parts["b"].reason = WatchState.FORBIDDEN, "not permitted"
    assert not several.synced.is_set()
    assert (several.state, several.reason) == (WatchState.FORBIDDEN, "not permitted")
