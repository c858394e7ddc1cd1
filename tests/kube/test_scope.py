"""A namespace is claimed by one operator, from the first moment to the last."""

import asyncio
from contextlib import suppress

import pytest

from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import LEASES
from dynamo_webhooks.kube.scope import IDENTITY, LeaseTakenError, NamespaceLease
from dynamo_webhooks.kube.scope import LEASE_NAME as NAME
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing, settle


def claim(cluster: MemoryCluster, timing: Timing, identity: str = IDENTITY) -> NamespaceLease:
    return NamespaceLease(cluster, "n", identity, clocks=timing.clocks(0.0))


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def stored(cluster: MemoryCluster) -> Node:
    lease = await cluster.get(LEASES, NAME, "n")
    assert lease is not None
    return lease


async def another(cluster: MemoryCluster) -> None:
    spec = {"holderIdentity": "namespace-restricted-operator-1.2.0", "leaseDurationSeconds": 30, "renewTime": "2029-01-01T00:00:00.000000Z"}
    await cluster.create(LEASES, {"metadata": {"name": NAME, "namespace": "n"}, "spec": spec})


async def test_the_claim_is_renewed_from_its_creation_on() -> None:
    cluster, timing = MemoryCluster(), Timing()
    lease = claim(cluster, timing)
    await lease.acquire()
    spec = (await stored(cluster))["spec"]
    assert spec["renewTime"] == spec["acquireTime"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == (IDENTITY, 30)
    task = asyncio.create_task(lease.run())
    await timing.advance(10)
    assert (await stored(cluster))["spec"]["renewTime"] > spec["renewTime"]
    await timing.advance(600)
    assert lease.held
    await stop(task)


async def test_a_claim_that_is_deleted_is_made_again() -> None:
    cluster, timing = MemoryCluster(), Timing()
    lease = claim(cluster, timing)
    await lease.acquire()
    task = asyncio.create_task(lease.run())
    await settle()
    await cluster.delete(LEASES, NAME, "n")
    await timing.advance(10)
    assert (await stored(cluster))["spec"]["holderIdentity"] == IDENTITY
    await stop(task)


async def test_a_claim_that_cannot_be_renewed_ends_when_others_think_so() -> None:
    cluster, timing = MemoryCluster(), Timing()
    lease = claim(cluster, timing)
    await lease.acquire()
    task = asyncio.create_task(lease.run())
    cluster.fail(lambda *_: UnavailableError(0, "", "away"))
    await timing.advance(29.9)
    assert lease.held
    await timing.advance(0.1)
    assert not lease.held
    assert lease.reason == "away"
    await stop(task)


async def test_a_live_claim_of_another_operator_is_refused_by_name() -> None:
    cluster, timing = MemoryCluster(), Timing()
    await another(cluster)
    task = asyncio.create_task(claim(cluster, timing).acquire())
    await timing.advance(10)
    assert not task.done()
    await cluster.merge_patch(LEASES, NAME, {"spec": {"renewTime": "2029-01-01T00:00:10.000000Z"}}, "n")
    await timing.advance(10)
    with pytest.raises(LeaseTakenError, match=r"namespace-restricted-operator-1\.2\.0"):
        task.result()
    assert (await stored(cluster))["spec"]["holderIdentity"] == "namespace-restricted-operator-1.2.0"


async def test_a_dead_claim_of_another_operator_is_taken_over() -> None:
    cluster, timing = MemoryCluster(), Timing()
    await another(cluster)
    lease = claim(cluster, timing)
    task = asyncio.create_task(lease.acquire())
    await timing.advance(29)
    assert not task.done()
    await timing.advance(10)
    assert task.done()
    assert lease.held
    assert (await stored(cluster))["spec"]["holderIdentity"] == IDENTITY


async def test_a_missing_permission_stops_the_start() -> None:
    cluster = MemoryCluster()
    cluster.denied.add(("create", "leases"))
    with pytest.raises(ForbiddenError):
        await claim(cluster, Timing()).acquire()


async def test_a_clean_stop_deletes_the_claim() -> None:
    cluster, timing = MemoryCluster(), Timing()
    lease = claim(cluster, timing)
    await lease.acquire()
    await lease.release()
    assert await cluster.get(LEASES, NAME, "n") is None
    assert not lease.held


async def test_a_replica_that_stops_leaves_the_claim_to_the_others() -> None:
    cluster, timing = MemoryCluster(), Timing()
    first, second = claim(cluster, timing), claim(cluster, timing)
    tasks = []
    for each in (first, second):
        await each.acquire()
        tasks.append(asyncio.create_task(each.run()))
        await timing.advance(3)  # two replicas never write in the same microsecond
    await timing.advance(20)
    await stop(tasks[0])
    await first.release()
    assert await cluster.get(LEASES, NAME, "n") is not None
    await timing.advance(100)
    assert second.held
    await stop(tasks[1])
    await second.release()
    assert await cluster.get(LEASES, NAME, "n") is None


async def test_a_claim_lost_to_another_identity_is_not_held() -> None:
    cluster, timing = MemoryCluster(), Timing()
    lease = claim(cluster, timing)
    await lease.acquire()
    task = asyncio.create_task(lease.run())
    await settle()
    await cluster.merge_patch(LEASES, NAME, {"spec": {"holderIdentity": "other"}}, "n")
    await timing.advance(10)
    assert not lease.held
    assert "'other'" in lease.reason
    await stop(task)


@pytest.mark.parametrize(("duration", "interval"), [(0.5, 0.1), (30, 10.1), (30, 0)])
def test_renewals_too_rare_are_refused(duration: float, interval: float) -> None:
    with pytest.raises(ValueError, match="a third of duration"):
        NamespaceLease(MemoryCluster(), "n", duration=duration, interval=interval)
