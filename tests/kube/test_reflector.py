"""A reflector's store follows the server whatever happens to the connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest

from dynamo_webhooks.kube.errors import ApiError, ForbiddenError, GoneError, NotServedError, UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.reflector import MergedReflector, Reflector, WatchState
from dynamo_webhooks.kube.resources import CONFIG_MAPS, SERVICES
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing, beside, settle
from tests.rows import run_each

REFUSALS = [
    (ForbiddenError(403, "Forbidden", "configmaps is forbidden"), WatchState.FORBIDDEN, 15.0),
    (NotServedError(404, "NotFound", "no such kind"), WatchState.ABSENT, 15.0),
    (UnavailableError(503, "", "etcd is away"), WatchState.UNAVAILABLE, 0.25),
]


def config(name: str = "a", value: str = "1") -> Node:
    return {"metadata": {"name": name, "namespace": "n"}, "data": {"x": value}}


class Kept:
    """The changes that a subscriber received, as pairs of values."""

    def __init__(self) -> None:
        self.told: list[tuple[str | None, str | None]] = []

    def __call__(self, old: Node | None, new: Node | None) -> None:
        self.told.append((old["data"]["x"] if old else None, new["data"]["x"] if new else None))


@asynccontextmanager
async def reflecting(cluster: MemoryCluster, timing: Timing, **more: Any) -> AsyncIterator[tuple[Reflector, Kept]]:
    reflector = Reflector(cluster, CONFIG_MAPS, clocks=timing.clocks(0.0), **more)
    kept = Kept()
    reflector.subscribe(kept)
    async with beside(reflector.run()):
        yield reflector, kept


async def test_the_store_follows_lists_and_events() -> None:
    cluster, timing = MemoryCluster(), Timing()
    await cluster.create(CONFIG_MAPS, config())
    async with reflecting(cluster, timing) as (reflector, kept):
        assert reflector.synced.is_set()
        late = Kept()
        reflector.subscribe(late)
        assert late.told == [(None, "1")]
        await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, "n")
        await cluster.create(CONFIG_MAPS, config("b", "3"))
        await cluster.delete(CONFIG_MAPS, "a", "n")
        await settle()
        assert kept.told == [(None, "1"), ("1", "2"), (None, "3"), ("2", None)]
        assert set(reflector.store) == {("n", "b")}
        assert reflector.get("b", "n") == await cluster.get(CONFIG_MAPS, "b", "n")


async def test_unused_fields_are_dropped_before_subscribers_are_called() -> None:
    cluster, timing = MemoryCluster(), Timing()
    await cluster.create(CONFIG_MAPS, config())

    def trim(obj: Node) -> None:
        obj["data"]["x"] = f"{obj['data']['x']} trimmed"

    async with reflecting(cluster, timing, trim=trim) as (_, kept):
        await cluster.merge_patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, "n")
        await settle()
        assert kept.told == [(None, "1 trimmed"), ("1 trimmed", "2 trimmed")]


async def test_a_long_list_lets_others_run() -> None:
    cluster, timing = MemoryCluster(), Timing()
    for number in range(1000):
        await cluster.create(CONFIG_MAPS, config(f"c{number}"))
    reflector, heard = Reflector(cluster, CONFIG_MAPS, clocks=timing.clocks()), list[int]()
    reflector.subscribe(lambda _old, _new: heard.append(1))
    task = asyncio.create_task(reflector.run())
    seen = set()
    while not reflector.synced.is_set():
        await asyncio.sleep(0)
        seen.add(len(heard))
    assert max(later - sooner for sooner, later in pairwise(sorted(seen))) <= 100
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_watch_that_ends_goes_on_where_it_was() -> None:
    cluster, timing = MemoryCluster(), Timing()
    async with reflecting(cluster, timing) as (_, kept):
        verbs: list[str] = []
        cluster.fail(lambda verb, *_: verbs.append(verb))
        timing.seconds += 200  # or it would count as a watch that broke at once
        await cluster.break_watches()
        await cluster.create(CONFIG_MAPS, config())
        await settle()
        assert kept.told == [(None, "1")]
        assert verbs == ["create", "watch"]


async def test_a_version_too_old_lists_again_and_tells_what_happened_meanwhile() -> None:
    cluster, timing = MemoryCluster(), Timing()
    for name in "abc":
        await cluster.create(CONFIG_MAPS, config(name, name))
    async with reflecting(cluster, timing) as (reflector, kept):
        restore = cluster.fail(lambda verb, *_: UnavailableError(0, "", "away") if verb in {"watch", "list"} else None)
        await cluster.break_watches()
        await settle()
        kept.told.clear()
        await cluster.delete(CONFIG_MAPS, "a", "n")
        await cluster.merge_patch(CONFIG_MAPS, "b", {"data": {"x": "new"}}, "n")
        await cluster.forget()
        restore()
        await timing.advance(120)
        assert kept.told == [("a", None), ("b", "new")]
        assert reflector.state is WatchState.SYNCED


@run_each(("error", "state", "wait"), REFUSALS)
async def test_a_refusal_is_a_state_with_a_reason_and_never_an_end(error: ApiError, state: WatchState, wait: float) -> None:
    cluster, timing = MemoryCluster(), Timing()
    await cluster.create(CONFIG_MAPS, config())
    restore = cluster.fail(lambda *_: error)
    async with reflecting(cluster, timing) as (reflector, kept):
        assert (reflector.state, reflector.reason) == (state, error.message)
        assert not reflector.synced.is_set()
        assert timing.slept == [wait]
        restore()
        await timing.advance(wait)
        assert (reflector.state, reflector.reason) == (WatchState.SYNCED, "")
        assert kept.told == [(None, "1")]


@run_each(("error", "state", "seconds"), REFUSALS)
async def test_what_is_known_stays_while_the_server_refuses(error: ApiError, state: WatchState, seconds: float) -> None:
    cluster, timing = MemoryCluster(), Timing()
    await cluster.create(CONFIG_MAPS, config())
    async with reflecting(cluster, timing) as (reflector, kept):
        cluster.fail(lambda *_: error)
        await cluster.break_watches()
        await timing.advance(100)
        assert reflector.state is state
        assert set(reflector.store) == {("n", "a")}
        assert kept.told == [(None, "1")]
        assert reflector.stale_seconds() == pytest.approx(9.75 if state is WatchState.ABSENT else 100)  # asked again every 15 s


async def test_errors_in_a_row_are_asked_ever_more_slowly_up_to_half_a_minute() -> None:
    cluster, timing = MemoryCluster(), Timing()
    cluster.fail(lambda *_: UnavailableError(0, "", "away"))
    async with reflecting(cluster, timing) as (reflector, _):
        await timing.advance(120)
        assert reflector.stale_seconds() is None
    assert timing.slept[:8] == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


async def test_a_watch_that_ends_at_once_is_not_asked_without_a_pause() -> None:
    cluster, timing = MemoryCluster(), Timing()
    async with reflecting(cluster, timing):
        for _ in range(3):
            await cluster.break_watches()
            await timing.advance(0.9)
    assert timing.slept
    assert all(wait >= 0.25 for wait in timing.slept)


async def test_a_server_that_always_says_gone_is_not_asked_without_a_pause() -> None:
    cluster, timing = MemoryCluster(), Timing()
    cluster.fail(lambda verb, *_: GoneError(410, "Expired", "too old") if verb == "watch" else None)
    async with reflecting(cluster, timing):
        await timing.advance(10)
    assert timing.slept[:4] == [0.25, 0.5, 1.0, 2.0]


async def test_a_subscriber_that_raises_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    def broken(old: Node | None, new: Node | None) -> None:
        raise RuntimeError("mine alone")

    cluster = MemoryCluster()
    async with reflecting(cluster, Timing()) as (reflector, kept):
        reflector.subscribe(broken)
        last = Kept()
        reflector.subscribe(last)
        await cluster.create(CONFIG_MAPS, config())
        await settle()
        assert kept.told == last.told == [(None, "1")]
    assert "mine alone" in caplog.text


async def test_an_unexpected_answer_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    cluster, timing = MemoryCluster(), Timing()
    restore = cluster.fail(lambda *_: KeyError("metadata"))
    async with reflecting(cluster, timing) as (reflector, _):
        assert reflector.state is WatchState.UNAVAILABLE
        restore()
        await timing.advance(1)
        assert reflector.synced.is_set()
    assert "unexpected error" in caplog.text


async def test_everything_is_listed_again_when_that_is_wanted() -> None:
    cluster, timing = MemoryCluster(), Timing()
    async with reflecting(cluster, timing, relist=300.0):
        verbs: list[str] = []
        cluster.fail(lambda verb, *_: verbs.append(verb))
        for _ in range(2):
            timing.seconds += 160
            await cluster.break_watches()
            await settle()
        assert verbs == ["watch", "list", "watch"]


async def test_a_name_selects_that_name_alone() -> None:
    cluster, timing = MemoryCluster(), Timing()
    for name in "ab":
        await cluster.create(CONFIG_MAPS, config(name))
    async with reflecting(cluster, timing, namespace="n", name="b") as (reflector, _):
        assert set(reflector.store) == {("n", "b")}


def _service(namespace: str, name: str = "s") -> Node:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}}


@run_each("namespaces", [("a", "b"), ("",)])
async def test_it_knows_the_objects_of_its_namespaces_and_tells_of_them(namespaces: tuple[str, ...]) -> None:
    cluster = MemoryCluster()
    for namespace in ("a", "b", "c"):
        await cluster.create(SERVICES, _service(namespace))
    several, heard = MergedReflector(namespaces, lambda name: Reflector(cluster, SERVICES, name)), asyncio.Queue[str]()
    several.subscribe(lambda _, new: heard.put_nowait(new["metadata"]["namespace"]) if new else None)
    expected = {"a", "b"} if "" not in namespaces else {"a", "b", "c"}
    async with beside(several.run()):
        assert {await heard.get() for _ in expected} == expected
        assert {namespace for namespace, _ in several.store} == expected
        assert several.synced.is_set()
        assert (several.state, several.reason) == (WatchState.SYNCED, "")
        assert (several.get("s", "b") is not None, several.get("s", "c") is not None) == (True, "c" in expected)
        await cluster.create(SERVICES, _service("b", "later"))
        assert await heard.get() == "b"
        assert [service["metadata"]["name"] for service in several.all("b")] == ["s", "later"]
        assert [service["metadata"]["namespace"] for service in several.all("c")] == ["c"] * ("c" in expected)
        assert len(several.all()) == len(expected) + 1


async def test_one_namespace_that_is_not_known_leaves_the_whole_unknown() -> None:
    cluster = MemoryCluster()
    parts = {name: Reflector(cluster, SERVICES, name) for name in ("a", "b")}
    several = MergedReflector(("a", "b"), parts.__getitem__)
    parts["a"].synced.set()
    parts["a"].state = WatchState.SYNCED
    parts["b"].state, parts["b"].reason = WatchState.FORBIDDEN, "not permitted"
    assert not several.synced.is_set()
    assert (several.state, several.reason) == (WatchState.FORBIDDEN, "not permitted")
