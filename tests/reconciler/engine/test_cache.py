"""What is asked of ten thousand graphs is found without looking at each, or lets others have their turn."""

import asyncio
from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import SERVICE_ACCOUNTS
from dynamo_webhooks.reconciler.common.resources import POD_ACCOUNT
from dynamo_webhooks.reconciler.engine.cache import Cache
from dynamo_webhooks.reconciler.metrics.meters import Meters, objects_by_state
from tests.kube.memory import MemoryCluster
from tests.kube.timing import settle


def _account(name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {POD_ACCOUNT: "true"}}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


async def test_accounts_of_pods_are_found_by_their_namespace() -> None:
    cluster = MemoryCluster()
    cache = Cache(cluster, [""], lambda *_: None)
    cache.start()
    for name, namespace in (("b", "n"), ("a", "n"), ("c", "other")):
        await cluster.create(SERVICE_ACCOUNTS, _account(name, namespace))
    await settle()
    assert [cache.account(namespace) for namespace in ("n", "other", "none")] == ["a", "c", ""]
    await cluster.delete(SERVICE_ACCOUNTS, "a", "n")
    await cluster.delete(SERVICE_ACCOUNTS, "c", "other")
    await settle()
    assert [cache.account(namespace) for namespace in ("n", "other")] == ["b", ""]
    await cache.close()


async def test_a_scrape_lets_others_have_their_turn() -> None:
    cache, turns = Cache(MemoryCluster(), [""], lambda *_: None), [0]

    def some(kind: str, _namespace: str = "") -> list[Node]:
        return [{"metadata": {"namespace": "n"}}] * 3500 if kind == "DynamoGraphDeployment" else []

    async def other() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    cache.all = some  # type: ignore[method-assign, assignment]
    beside = asyncio.ensure_future(other())
    found = await objects_by_state(cache, Meters())
    beside.cancel()
    assert sum(found.values()) == 3500
    assert turns[0] >= 3
