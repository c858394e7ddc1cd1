"""At most one leads at a time, and the next one leads in time."""

import asyncio
from contextlib import suppress

import pytest

from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.lease import MAX_LEASE_FACTOR, MAX_TRANSITIONS, Election, Timings
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import LEASES, Resource
from tests.kube.memory import MemoryCluster
from tests.kube.storage import Storage
from tests.kube.timing import Timing, beside
from tests.rows import run_each


def election(cluster: MemoryCluster, name: str, timing: Timing) -> Election:
    return Election(cluster, "lock", "n", name, clocks=timing.clocks(0.0))


async def stored(cluster: MemoryCluster) -> Node:
    """What the Lease says."""
    lease = await cluster.get(LEASES, "lock", "n")
    assert lease is not None
    spec: Node = lease["spec"]
    return spec


class Work:
    """What a leader does: it goes on until it is stopped."""

    def __init__(self) -> None:
        self.running = False
        self.begun = 0

    async def __call__(self) -> None:
        self.running = True
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.running = False


class Candidate:
    """A replica with its own client, which can be cut off."""

    def __init__(self, name: str, storage: Storage, timing: Timing) -> None:
        self.cluster, self.work = MemoryCluster(name, storage=storage), Work()
        self.election = election(self.cluster, name, timing)
        self.task = asyncio.create_task(self.election.run(self.work))

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


def two() -> tuple[Candidate, Candidate, Timing]:
    storage, timing = Storage(), Timing()
    return Candidate("one", storage, timing), Candidate("two", storage, timing), timing


async def test_a_clean_stop_hands_over_within_one_retry() -> None:
    candidate, other, timing = two()
    await timing.advance(5)
    leader, heir = (candidate, other) if candidate.work.running else (other, candidate)
    await leader.stop()
    assert not leader.work.running
    await timing.advance(2.1)
    assert heir.work.running
    await heir.stop()


async def test_leading_ends_by_the_clock_alone_and_what_another_holds_stays_his() -> None:
    cluster, timing = MemoryCluster(), Timing()
    contender = election(cluster, "one", timing)
    assert await contender.attempt()
    timing.seconds = 9.9
    assert contender.leading
    timing.seconds = 10.0
    assert not contender.leading
    await cluster.merge_patch(LEASES, "lock", {"spec": {"holderIdentity": "other"}}, "n")
    await contender.release()
    assert (await stored(cluster))["holderIdentity"] == "other"


async def test_a_leader_that_is_cut_off_stops_before_another_begins() -> None:
    candidate, other, timing = two()
    await timing.advance(5)
    leader, heir = (candidate, other) if candidate.work.running else (other, candidate)
    leader.cluster.fail(lambda *_: UnavailableError(0, "", "cut off"))
    stopped = begun = 0
    for second in range(1, 40):
        await timing.advance(1)
        assert not (leader.work.running and heir.work.running)
        stopped = stopped or (second if not leader.work.running else 0)
        begun = begun or (second if heir.work.running else 0)
    assert 0 < stopped < begun <= 19
    assert leader.election.reason == "cut off"
    await leader.stop()
    await heir.stop()


async def test_a_lease_lost_to_silence_is_not_said_to_be_held() -> None:
    class Silent(MemoryCluster):
        silent = False
        given_up = asyncio.Event()

        async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Node | None:
            if self.silent:
                try:
                    await asyncio.Event().wait()
                finally:
                    self.given_up.set()
            return await super().get(resource, name, namespace, subresource=subresource)

    cluster, timing, work = Silent("one"), Timing(), Work()
    last_moment = Timings(15.0, 10.0, 9.99)
    contender = Election(cluster, "lock", "n", "one", timings=last_moment, clocks=timing.clocks(0.0))
    async with beside(contender.run(work)):
        assert work.running
        cluster.silent = True
        await timing.advance(9.99)
        await asyncio.wait_for(cluster.given_up.wait(), 30)
        await timing.advance(9.99)
        assert not work.running
        assert contender.unknown == "the API server did not answer in time"
        cluster.silent = False


async def test_a_conflict_is_no_renewal() -> None:
    cluster, timing = MemoryCluster(), Timing()
    contender = election(cluster, "one", timing)
    assert await contender.attempt()
    lease = await cluster.get(LEASES, "lock", "n")
    assert lease is not None

    def meanwhile(verb: str, *_: object) -> None:
        if verb == "replace":
            lease["metadata"]["resourceVersion"] = "stale"
            cluster.storage.records[("coordination.k8s.io", "leases", "n", "lock")].obj["metadata"]["resourceVersion"] = "changed"

    cluster.fail(meanwhile)
    timing.seconds = 9.0
    assert await contender.attempt()
    assert "meanwhile" in contender.reason
    timing.seconds = 10.5
    assert not contender.leading


async def test_the_clock_of_the_other_holder_is_never_looked_at() -> None:
    cluster, timing = MemoryCluster(), Timing()
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "1990-01-01T00:00:00.000000Z"}
    await cluster.create(LEASES, {"metadata": {"name": "lock", "namespace": "n"}, "spec": spec})
    contender = election(cluster, "one", timing)
    for second in range(0, 50, 5):
        timing.seconds = float(second)
        await cluster.merge_patch(LEASES, "lock", {"spec": {"renewTime": f"2100-01-01T00:00:{second:02}.000000Z"}}, "n")
        assert not await contender.attempt()
    timing.seconds += 15.1
    assert await contender.attempt()


async def test_a_leader_that_returns_or_raises_lets_the_lease_go() -> None:
    async def done() -> None:
        await asyncio.sleep(0)

    async def broken() -> None:
        raise RuntimeError("the work failed")

    cluster = MemoryCluster()
    await election(cluster, "one", Timing()).run(done)
    assert (await stored(cluster))["holderIdentity"] == ""
    with pytest.raises(RuntimeError, match="the work failed"):
        await election(cluster, "one", Timing()).run(broken)
    assert (await stored(cluster))["holderIdentity"] == ""


@run_each("numbers", [(15, 15, 2), (15, 10, 10), (0.9, 0.5, 0.1), (15, 10, 0)])
def test_timings_by_which_two_could_lead_are_refused(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="retry < deadline < duration"):
        Timings(*numbers)


@run_each("lasting", [None, 1, 15, 2**31 - 1, -5])
@run_each("transitions", [None, 0, MAX_TRANSITIONS])
async def test_what_a_hostile_lease_claims_is_bounded(lasting: int | None, transitions: int | None) -> None:
    """At least our own duration, since its holder may lead so long; at most ten times as much; and the API's int32 never overflows."""
    cluster, timing = MemoryCluster(), Timing()
    given = {"leaseDurationSeconds": lasting, "leaseTransitions": transitions, "strategy": "OldestEmulationVersion"}
    spec: Node = {"holderIdentity": "other", "renewTime": "9999-12-31T23:59:59.000000Z", "preferredHolder": "other"}
    spec |= {key: it for key, it in given.items() if it is not None}
    await cluster.create(LEASES, {"metadata": {"name": "lock", "namespace": "n"}, "spec": spec})
    contender = election(cluster, "one", timing)
    believed = 15.0 * MAX_LEASE_FACTOR if lasting == 2**31 - 1 else 15.0
    for timing.seconds in (0.0, believed):
        assert not await contender.attempt()
    timing.seconds = believed + 0.1
    assert await contender.attempt()
    count, written = min((transitions or 0) + 1, MAX_TRANSITIONS), await stored(cluster)
    moment = written["renewTime"]
    own = {"holderIdentity": "one", "leaseDurationSeconds": 15, "acquireTime": moment, "leaseTransitions": count}
    assert written == {**own, "renewTime": moment}
    timing.seconds += 5
    assert await contender.attempt()
    again = await stored(cluster)
    assert {**again, "renewTime": moment} == written
    assert again["renewTime"] > moment
