"""What the loader calls, when, and how often."""

import asyncio
import contextlib
import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable

import pytest

from dynamo_webhooks.api.operator.controllers import Models
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.model import loader as under_test
from dynamo_webhooks.reconciler.model.endpoints import Endpoint, list_endpoints, trim_slice
from dynamo_webhooks.reconciler.model.loader import Loader
from dynamo_webhooks.reconciler.model.lora import Lora, WantedAdapter
from tests.kube.timing import Timing, settle
from tests.reconciler.model.workers import FakeWorkers, pod, slice_of

MODEL = Key("DynamoModel", "demo", "m")
WISH = WantedAdapter(Lora("a", "s3://b/a"))


class Scene:
    """A loader with workers and a clock."""

    def __init__(self, settings: Models | None = None) -> None:
        self.workers, self.timing = FakeWorkers(), Timing()
        self.heard: list[Key] = []
        self.loader = Loader(self.workers, self.heard.append, settings, clocks=self.timing.clocks())

    async def keep(
        self, *pods: Node | str, wish: WantedAdapter = WISH, check: bool = False, key: Key = MODEL, seconds: float | None = 0
    ) -> None:
        """Says what is wanted, and lets time pass unless it is None."""
        self.loader.set_wanted(key, wish, endpoints(*pods), check=check)
        if seconds is not None:
            await self.run(seconds)

    async def run(self, seconds: float = 0.0) -> None:
        """Lets time pass."""
        for _ in range(20):
            await settle()
        await self.timing.advance(seconds)
        for _ in range(20):
            await settle()

    @property
    def ready(self) -> int:
        """Pods that have what is wanted."""
        return len(self.loader.progress(MODEL).ready)


@contextlib.asynccontextmanager
async def scene(*pods: Node | str, settings: Models | None = None) -> AsyncIterator[Scene]:
    """A scene that ends in order, with pods that the adapter is wanted on."""
    made = Scene(settings)
    verifier = asyncio.ensure_future(made.loader.run())
    try:
        if pods:
            await made.keep(*pods)
        yield made
    finally:
        verifier.cancel()
        await made.loader.close()
        assert made.workers.closed


def endpoints(*pods: Node | str) -> tuple[Endpoint, ...]:
    """Endpoints as passes find them."""
    sliced = slice_of(*pods)
    trim_slice(sliced)
    return list_endpoints([sliced]).endpoints


def many(number: int) -> list[str]:
    """Addresses."""
    return [f"10.0.{index // 250}.{index % 250 + 1}" for index in range(number)]


async def until(question: Callable[[], bool]) -> None:
    """Waits for something that real time brings; pytest's own patience ends a test that waits in vain."""
    while not question():  # noqa: ASYNC110 - what is asked for is no event
        await asyncio.sleep(0.001)


async def test_each_pod_is_called_once_however_often_it_is_asked_for() -> None:
    async with scene() as at:
        for number in range(1, 6):
            await at.keep(*many(number))
        await at.keep(*many(5), seconds=30)
        assert sorted(at.workers.of("POST")) == [(address, "a") for address in many(5)]
        assert at.ready == 5
        assert at.loader.progress(MODEL) == (frozenset(f"uid-p-{address}" for address in many(5)), (), False, True)


async def test_a_pod_that_fails_is_tried_after_1_2_and_4_seconds_and_holds_up_no_other() -> None:
    async with scene() as at:
        at.workers.status["10.0.0.2"] = 500
        await at.keep(*many(3))
        assert at.ready == 2
        assert at.loader.progress(MODEL).failures == (("p-10.0.0.2", "500 busy"),)
        moments = []
        for quarter in range(1, 32):
            before = len(at.workers.calls)
            await at.run(0.25)
            moments += [quarter / 4] * (len(at.workers.calls) - before)
        assert moments == [1.0, 3.0, 7.0]
        at.workers.status["10.0.0.2"] = 200
        await at.run(8)
        assert at.ready == 3
        assert {address: at.workers.of("POST").count((address, "a")) for address in many(3)} == {
            "10.0.0.1": 1,
            "10.0.0.2": 5,
            "10.0.0.3": 1,
        }


async def test_what_a_worker_refuses_for_good_is_tried_at_most_every_ten_minutes() -> None:
    async with scene() as at:
        at.workers.status["10.0.0.1"] = 422
        await at.keep("10.0.0.1", seconds=1023)
        before = len(at.workers.calls)
        for _ in range(12):
            await at.run(100)
        assert len(at.workers.calls) - before == 2


async def test_a_pod_that_never_answers_gives_its_turn_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "SLOW_CALL_SECONDS", 0.01)
    async with scene(settings=Models(concurrency=4, per_model=4)) as at:
        addresses = many(200)
        at.workers.stuck = set(addresses[:20])
        await at.keep(*addresses, seconds=None)
        await until(lambda: at.ready == 180)
        assert at.loader.busy(MODEL)
        assert len(at.workers.of("POST")) == 200


async def test_one_namespace_holds_no_more_calls_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "SLOW_CALL_SECONDS", 0.001)
    monkeypatch.setattr(under_test, "MAX_NAMESPACE_CALLS", 10)
    async with scene(settings=Models(concurrency=4, per_model=4)) as at:
        addresses = many(100)
        at.workers.stuck = set(addresses)
        for number in range(5):
            await at.keep(*addresses, key=Key("DynamoModel", "demo", f"bad{number}"), seconds=None)
        other = Key("DynamoModel", "other", "good")
        await until(lambda: at.workers.open == 10)
        await at.keep("10.9.0.1", key=other, seconds=None)
        await until(lambda: bool(at.loader.progress(other).ready))
        assert at.workers.most <= 11


async def test_models_that_wait_share_and_a_lonely_one_has_all() -> None:
    async with scene(settings=Models(concurrency=8, per_model=3)) as at:
        at.workers.gate = asyncio.Event()
        await at.keep(*many(20))
        assert at.workers.open == 8
        await at.keep("10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.4", key=Key("DynamoModel", "demo", "n"))
        assert at.workers.most == 8
        at.workers.gate.set()
        await at.run()
        assert at.ready == 20


async def test_a_pod_that_was_not_ready_is_asked_first_and_called_once_more_if_it_has_lost_the_adapter() -> None:
    async with scene(*many(2)) as at:
        await at.keep("10.0.0.1", pod("10.0.0.2", ready=False))
        assert at.ready == 1
        at.workers.loaded["10.0.0.2"].clear()  # a new container
        await at.keep(*many(2))
        assert at.ready == 2
        assert at.workers.of("POST") == [("10.0.0.1", "a"), ("10.0.0.2", "a"), ("10.0.0.2", "a")]
        await at.keep("10.0.0.1", pod("10.0.0.2", ready=False), seconds=None)
        await at.keep(*many(2))
        assert len(at.workers.of("POST")) == 3, "it still had the adapter"


async def test_a_new_pod_of_an_old_address_is_called() -> None:
    async with scene(pod("10.0.0.1", name="old")) as at:
        await at.keep(pod("10.0.0.1", name="new"))
        assert at.workers.of("POST") == [("10.0.0.1", "a")] * 2


async def test_where_workers_do_not_tell_it_loads() -> None:
    async with scene() as at:
        at.workers.lists = False
        await at.keep(*many(2), check=True)
        assert len(at.workers.of("POST")) == 2
        at.workers.calls.clear()
        await at.run(2000)
        assert at.workers.calls == []


async def test_an_adapter_that_a_worker_has_lost_is_loaded_again_at_the_next_check_at() -> None:
    async with scene(*many(3), settings=Models(verify_interval=600)) as at:
        at.heard.clear()
        await at.run(700)
        assert (len(at.workers.of("GET")), at.heard) == (3, []), "where nothing has changed nobody is woken"
        at.workers.calls.clear()
        at.workers.loaded["10.0.0.3"].clear()
        await at.run(700)
        assert len(at.workers.of("GET")) == 3
        assert at.workers.of("POST") == [("10.0.0.3", "a")]
        assert at.ready == 3


async def test_a_renamed_adapter_is_loaded_before_the_old_name_goes() -> None:
    async with scene(*many(2)) as at:
        at.workers.calls.clear()
        await at.keep(*many(2), wish=WantedAdapter(Lora("b", "s3://b/a"), stale=("a",)))
        assert at.workers.loaded == {address: {"b": "s3://b/a"} for address in many(2)}
        for address in many(2):
            assert [verb for verb, where, _ in at.workers.calls if where == address] == ["POST", "DELETE"]
        assert at.loader.progress(MODEL).clean


async def test_another_source_is_loaded_after_unloading_on_a_quarter_of_the_pods_at_a_time() -> None:
    async with scene(*many(20)) as at:
        at.workers.calls.clear()
        at.workers.most = 0
        await at.keep(*many(20), wish=WantedAdapter(Lora("a", "s3://b/new"), replace=True), seconds=None)
        assert at.ready == 0
        await at.run()
        assert at.ready == 20
        assert at.workers.most == 5
        assert at.workers.loaded == {address: {"a": "s3://b/new"} for address in many(20)}
        assert [verb for verb, where, _ in at.workers.calls if where == "10.0.0.1"] == ["DELETE", "POST"]
        await at.keep(*many(20), wish=WantedAdapter(Lora("a", "s3://b/new")))
        assert len(at.workers.calls) == 40, "the source was told to be in place, and nothing is called"
        assert at.ready == 20


async def test_a_wish_that_changes_during_a_call_is_met_afterwards() -> None:
    async with scene() as at:
        at.workers.gate = asyncio.Event()
        await at.keep("10.0.0.1")
        await at.keep("10.0.0.1", wish=WantedAdapter(Lora("b", "s3://b/b"), stale=("a",)))
        at.workers.gate.set()
        await at.run()
        assert at.workers.loaded == {"10.0.0.1": {"b": "s3://b/b"}}
        assert at.loader.progress(MODEL).clean


async def test_the_other_address_family_is_tried_where_the_first_takes_no_connection() -> None:
    async with scene() as at:
        at.workers.status["10.0.0.1"] = None
        at.loader.set_wanted(MODEL, WISH, [Endpoint("u", "p", "10.0.0.1", 9090, callable=True, other="fd00::1")], check=False)
        await at.run()
        assert at.workers.of("POST") == [("10.0.0.1", "a"), ("[fd00::1]", "a")]
        assert at.ready == 1


async def test_unloading_goes_on_until_every_pod_has_let_go() -> None:
    async with scene(*many(3)) as at:
        await at.run(60)
        at.workers.status["10.0.0.1"] = 500
        await at.keep("10.0.0.1", "10.0.0.2", pod("10.0.0.3", ready=False), wish=WantedAdapter(Lora("a", ""), unload=True), seconds=10)
        assert at.ready == 2
        assert not at.loader.progress(MODEL).clean
        at.workers.status["10.0.0.1"] = 200
        await at.run(4)
        assert at.loader.progress(MODEL).clean
        assert at.loader.seconds(MODEL) == 14
        assert at.workers.loaded == {address: {} for address in many(3)}


async def test_what_is_forgotten_is_called_no_more() -> None:
    async with scene() as at:
        at.workers.status["10.0.0.1"] = 500
        await at.keep("10.0.0.1")
        at.loader.forget(MODEL)
        await at.run(100)
        assert len(at.workers.calls) == 1
        assert not at.loader.busy(MODEL)


async def test_a_fault_of_ours_is_a_failure_that_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as at:

        async def broken(*_: str) -> None:
            raise RuntimeError("oops")

        at.workers.load = broken  # type: ignore[assignment, method-assign]
        await at.keep("10.0.0.1")
        assert at.loader.progress(MODEL).failures == (("p-10.0.0.1", "internal error; see the reconciler's log"),)
        assert "oops" in caplog.text


async def test_a_loaded_pod_is_kept_once_and_in_little_memory() -> None:
    """Of names and addresses as long as real ones, and without what calls leave behind for a moment."""
    async with scene() as at:
        tracemalloc.start()
        try:
            addresses = many(1000)
            sliced = slice_of(*(pod(address, name=f"qwen-decode-7c9d8b6f5-{address}", uid=f"{address:0>36}") for address in addresses))
            del addresses
            trim_slice(sliced)
            at.loader.set_wanted(MODEL, WISH, list_endpoints([sliced]).endpoints, check=False)
            for _ in range(40):
                await at.run()
            assert at.ready == 1000
            at.workers.calls.clear()
            at.workers.loaded.clear()
            at.heard.clear()
            gc.collect()
            held = tracemalloc.get_traced_memory()[0] / 1000
        finally:
            tracemalloc.stop()
        assert list_endpoints([sliced]).endpoints[0] is sliced["endpoints"][0]
        assert held < 520, held
