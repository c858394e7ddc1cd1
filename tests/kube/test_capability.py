"""A capability is present, absent or unknown; the three are never confused."""

from dynamo_webhooks.kube.capability import ALL, DRA, GROVE, LWS, Detector, Presence
from dynamo_webhooks.kube.errors import UnavailableError
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing, beside
from tests.rows import run_each

V1 = frozenset({"v1"})


@run_each(
    ("served", "name", "presence"),
    [
        ({}, "grove", Presence.ABSENT),
        ({"grove.io": frozenset({"v1alpha1"})}, "grove", Presence.USABLE),
        ({"inference.networking.k8s.io": V1}, "inference-pools", Presence.USABLE),
        ({"leaderworkerset.x-k8s.io": V1}, "lws", Presence.ABSENT),
        ({"leaderworkerset.x-k8s.io": V1}, "leader-worker-sets", Presence.USABLE),
        ({"leaderworkerset.x-k8s.io": V1, "scheduling.volcano.sh": frozenset({"v1beta1"})}, "lws", Presence.USABLE),
        ({"leaderworkerset.x-k8s.io": V1, "disaggregatedset.x-k8s.io": frozenset({"v1beta1"})}, "disaggregated-sets", Presence.ABSENT),
        ({"leaderworkerset.x-k8s.io": V1, "disaggregatedset.x-k8s.io": V1}, "disaggregated-sets", Presence.USABLE),
        ({"resource.k8s.io": frozenset({"v1beta1"})}, "dra", Presence.ABSENT),
        ({"resource.k8s.io": frozenset({"v1beta1", "v1"})}, "dra", Presence.USABLE),
        ({"networking.istio.io": V1}, "istio", Presence.USABLE),
        ({"scheduling.run.ai": frozenset({"v2"})}, "kai", Presence.USABLE),
    ],
)
async def test_a_capability_is_its_groups(served: dict[str, frozenset[str]], name: str, presence: Presence) -> None:
    detector = Detector(MemoryCluster(served=served))
    assert {each.name for each in ALL} == set(detector.known)
    assert set(detector.known.values()) == {Presence.UNKNOWN}
    assert await detector.detect()
    assert detector.known[name] is presence


async def test_what_we_may_not_use_is_served_all_the_same() -> None:
    cluster = MemoryCluster(served={"grove.io": V1})
    cluster.denied.add(("patch", "podcliquesets"))
    asking, judging = Detector(cluster, [GROVE]), Detector(cluster, [GROVE], ask_permission=False)
    await asking.detect()
    await judging.detect()
    assert (asking.known["grove"], judging.known["grove"]) == (Presence.FORBIDDEN, Presence.USABLE)
    assert [presence.served for presence in Presence] == [None, False, True, True]


@run_each("verb", ["groups", "allowed"])
async def test_an_error_is_not_an_absence(verb: str) -> None:
    timing, cluster = Timing(), MemoryCluster(served={"grove.io": V1})
    detector = Detector(cluster, [GROVE, LWS, DRA], clocks=timing.clocks())
    restore = cluster.fail(lambda method, *_: UnavailableError(503, "", "not now") if method == verb else None)
    assert not await detector.detect()
    assert (detector.known.get("grove"), detector.reason, detector.stale_seconds()) == (Presence.UNKNOWN, "not now", None)
    restore()
    await detector.detect()
    assert (detector.known["grove"], detector.reason) == (Presence.USABLE, "")
    cluster.fail(lambda method, *_: UnavailableError(503, "", "not now") if method == verb else None)
    timing.seconds += 90
    assert not await detector.detect()
    assert (detector.known["grove"], detector.stale_seconds()) == (Presence.USABLE, 90)


async def test_what_is_installed_later_is_seen_and_told() -> None:
    timing, cluster = Timing(), MemoryCluster()
    presences: list[Presence] = []
    detector = Detector(cluster, [GROVE], clocks=timing.clocks())
    detector.subscribe(lambda known: presences.append(known["grove"]))
    async with beside(detector.run()):
        await timing.advance(30)
        cluster.served["grove.io"] = V1
        await timing.advance(300)
        del cluster.served["grove.io"]
        await timing.advance(60)
    assert presences == [Presence.ABSENT, Presence.USABLE, Presence.ABSENT]
