"""A namespace is claimed by one operator, from the first moment to the last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from dynamo_webhooks.api.operator.scope import ScopeSettings
from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import LEASES
from dynamo_webhooks.kube.scope import IDENTITY, LEASE_NAME, MAX_LEASE_SECONDS, Claims, LeaseTakenError, NamespaceLease
from dynamo_webhooks.kube.scope import LEASE_NAME as NAME
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing, beside
from tests.rows import run_each


def claim(cluster: MemoryCluster, timing: Timing, identity: str = IDENTITY) -> NamespaceLease:
    return NamespaceLease(cluster, "n", identity, clocks=timing.clocks(0.0))


@asynccontextmanager
async def claimed(cluster: MemoryCluster, timing: Timing) -> AsyncIterator[NamespaceLease]:
    """A claim that is renewed."""
    lease = claim(cluster, timing)
    await lease.acquire()
    async with beside(lease.run()):
        yield lease


async def stored(cluster: MemoryCluster) -> Node:
    lease = await cluster.get(LEASES, NAME, "n")
    assert lease is not None
    return lease


async def another(cluster: MemoryCluster) -> None:
    spec = {"holderIdentity": "namespace-restricted-operator-1.2.0", "leaseDurationSeconds": 30, "renewTime": "2029-01-01T00:00:00.000000Z"}
    await cluster.create(LEASES, {"metadata": {"name": NAME, "namespace": "n"}, "spec": spec})


async def test_the_claim_is_renewed_from_its_creation_on_and_made_again() -> None:
    cluster, timing = MemoryCluster(), Timing()
    async with claimed(cluster, timing) as lease:
        spec = (await stored(cluster))["spec"]
        assert spec["renewTime"] == spec["acquireTime"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == (IDENTITY, 30)
        await timing.advance(10)
        assert (await stored(cluster))["spec"]["renewTime"] > spec["renewTime"]
        await timing.advance(600)
        assert lease.is_held
        await cluster.delete(LEASES, NAME, "n")
        await timing.advance(10)
        assert (await stored(cluster))["spec"]["holderIdentity"] == IDENTITY


async def test_a_claim_that_cannot_be_renewed_ends_when_others_think_so() -> None:
    cluster, timing = MemoryCluster(), Timing()
    async with claimed(cluster, timing) as lease:
        cluster.fail(lambda *_: UnavailableError(0, "", "away"))
        await timing.advance(29.9)
        assert lease.is_held
        await timing.advance(0.1)
        assert not lease.is_held
        assert lease.reason == "away"


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
    assert lease.is_held
    assert (await stored(cluster))["spec"]["holderIdentity"] == IDENTITY


async def test_a_replica_that_stops_leaves_the_claim_to_the_others() -> None:
    cluster, timing = MemoryCluster(), Timing()
    async with claimed(cluster, timing) as second:
        await timing.advance(3)  # two replicas never write in the same microsecond
        async with claimed(cluster, timing) as first:
            await timing.advance(23)
        await first.release()
        assert await cluster.get(LEASES, NAME, "n") is not None
        await timing.advance(100)
        assert second.is_held
    await second.release()
    assert await cluster.get(LEASES, NAME, "n") is None


async def test_a_claim_lost_to_another_identity_is_not_held() -> None:
    cluster, timing = MemoryCluster(), Timing()
    async with claimed(cluster, timing) as lease:
        await cluster.merge_patch(LEASES, NAME, {"spec": {"holderIdentity": "other"}}, "n")
        await timing.advance(10)
        assert not lease.is_held
        assert "'other'" in lease.reason


@run_each(("duration", "interval"), [(0.5, 0.1), (30, 10.1), (30, 0)])
def test_renewals_too_rare_are_refused(duration: float, interval: float) -> None:
    with pytest.raises(ValueError, match="a third of duration"):
        NamespaceLease(MemoryCluster(), "n", duration=duration, interval=interval)


WALL: Final = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE: Final = ScopeSettings(restricted="", lease=30, renew=10, grace=10, max_skew=60)


def stamp(offset: float) -> str:
    """A time `offset` seconds after the wall clock."""
    return (WALL + timedelta(seconds=offset)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def lease(
    namespace: str = "a", *, renewed: float | None = None, acquired: float | None = None, created: float = -1000, **spec: Any
) -> dict[str, Any]:
    times = {"renewTime": renewed, "acquireTime": acquired}
    stamps = {key: stamp(offset) for key, offset in times.items() if offset is not None}
    metadata = {"name": LEASE_NAME, "namespace": namespace, "creationTimestamp": stamp(created)}
    return {"metadata": metadata, "spec": {"holderIdentity": "someone", "leaseDurationSeconds": 30, **stamps, **spec}}


def claims(*leases: dict[str, Any], now: float = 100, restricted: str = "") -> Claims:
    known = Claims(SCOPE if not restricted else ScopeSettings(restricted, 30, 10, 10, 60))
    for each in leases:
        known.observe(each, now, WALL)
    return known


@run_each(("text", "ours"), [("9999-12-31T23:59:59.999999Z", False), ("0001-01-01T00:00:00.000000+14:00", False), ("soon", False)])
def test_a_time_at_the_end_of_all_times_is_no_obstacle(text: str, ours: bool) -> None:
    """A user that may write Leases in one namespace must not be able to end the watch; an invalid time counts as none."""
    known = claims({**lease(created=0), "spec": {"leaseDurationSeconds": 2**31 - 1 if text[0] == "9" else 30, "renewTime": text}})
    assert known.governs("a", 100) is ours


@run_each("skew", [-40, 0, 40])
def test_a_holder_with_a_wrong_clock_keeps_its_claim_while_it_renews(skew: float) -> None:
    """T23."""
    known = claims()
    for turn in range(20):
        now = 100 + turn * 10
        known.observe(lease(renewed=turn * 10 + skew), now, WALL + timedelta(seconds=turn * 10))
        assert not known.governs("a", now)
        assert not known.governs("a", now + 39)


def test_a_dead_holder_loses_its_claim_after_duration_and_grace() -> None:
    """T24."""
    known = claims(lease(renewed=0))
    assert not known.governs("a", 139.9)
    assert known.governs("a", 140)
    assert known.excluded(140) == frozenset()


def test_an_old_lease_revives_when_it_is_renewed_and_only_then() -> None:
    known = claims(lease(renewed=-500))
    labelled = lease(renewed=-500)
    labelled["metadata"]["labels"] = {"a": "b"}
    known.observe(labelled, 110, WALL)
    assert known.governs("a", 110)
    known.observe(lease(renewed=-499), 120, WALL)  # a holder whose clock is far behind: what we saw ourselves counts
    assert not known.governs("a", 159)
    assert known.governs("a", 160)


@run_each(
    ("seen", "ours"),
    [
        (lease(renewed=-90), False),  # 30 s of duration and 60 s of skew
        (lease(renewed=-91), True),
        (lease(renewed=1000), False),  # a clock that is ahead proves nothing against its holder
        (lease(renewed=-91, acquired=0, created=0), True),  # the time of renewal decides
        (lease(acquired=0), False),  # T22: just acquired, and not renewed so far
        (lease(acquired=-91, created=-91), True),
        (lease(acquired=-91, created=-90), False),
        (lease(renewed=-119, leaseDurationSeconds=59), False),
        (lease(renewed=-120, leaseDurationSeconds=59), True),
        (lease(renewed=-90, leaseDurationSeconds=0), False),  # as if it said 30
        (lease(renewed=-91, leaseDurationSeconds=None), True),
        (lease(acquired=None, renewTime="yesterday", created=0), False),
        ({**lease(), "spec": None}, True),
    ],
)
def test_a_lease_seen_for_the_first_time(seen: dict[str, Any], ours: bool) -> None:
    assert claims(seen).governs("a", 100) is ours


def test_a_deleted_lease_frees_its_namespace_at_once() -> None:
    known = claims(lease("a", renewed=0), lease("b", renewed=0))
    known.forget("a")
    assert known.excluded(100) == {"b"}
    known.forget("never-seen")


def test_other_leases_are_not_looked_at() -> None:
    other = lease(renewed=0)
    other["metadata"]["name"] = "dynamo-operator-ns-lock"
    nameless = lease(renewed=0)
    del nameless["metadata"]["namespace"]
    assert claims(other, nameless, {}).excluded(100) == frozenset()


def test_nothing_runs_out_while_the_watch_is_down() -> None:
    known = claims(lease(renewed=0))
    known.suspend(110)
    known.suspend(120)  # the first word counts
    assert not known.governs("a", 5000)
    known.resume(5000)
    assert not known.governs("a", 5029)
    assert known.governs("a", 5030)
    known.resume(6000)
    assert known.governs("a", 5030)
    expired = claims(lease(renewed=0))
    expired.suspend(150)
    assert expired.governs("a", 150)
    expired.resume(500)
    assert expired.governs("a", 500)


def test_a_restricted_operator_governs_its_namespace_whatever_leases_say() -> None:
    known = claims(lease("a", renewed=0), lease("b", renewed=0), restricted="a")
    assert known.governs("a", 100)
    assert not known.governs("b", 100)
    assert not known.governs("c", 100)
    assert known.excluded(100) == frozenset()


def test_no_single_write_excludes_a_namespace_for_longer_than_an_hour() -> None:
    known = claims(lease(renewed=0, leaseDurationSeconds=2**31 - 1))
    assert not known.governs("a", 100 + MAX_LEASE_SECONDS)
    assert known.governs("a", 100 + MAX_LEASE_SECONDS + SCOPE.grace)


@pytest.mark.parametrize(("claimable", "exempt"), [(None, {"a", "b"}), ((), set()), (("b", "c"), {"b"})])
def test_a_claim_exempts_a_named_namespace_alone_and_keeps_the_reconciler_out_of_each(
    claimable: tuple[str, ...] | None, exempt: set[str]
) -> None:
    known = Claims(replace(SCOPE, claimable=claimable))
    for namespace in ("a", "b"):
        spec = {"renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 30}
        known.observe({"metadata": {"name": LEASE_NAME, "namespace": namespace}, "spec": spec}, 0.0, datetime(2026, 1, 1, tzinfo=UTC))
    assert known.exempt(1.0) == exempt
    assert known.excluded(1.0) == {"a", "b"}
    assert known.exempt(60.0) == set()
