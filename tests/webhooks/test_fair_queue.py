"""The fair queue and the turns of short requests."""

import asyncio
import math
from collections.abc import Callable, Iterator

import pytest

from dynamo_webhooks.webhooks.envelope import Answer, Verdict
from dynamo_webhooks.webhooks.fair_queue import BYTES_PER_SECOND, MAX_COST, FairQueue, client_address
from dynamo_webhooks.webhooks.short_requests import STEPS_SECONDS, TURN_SECONDS, ShortRequests, T
from tests.kube.timing import Timing
from tests.rows import run_each


def drained(queue: FairQueue[str]) -> list[str]:
    return [taken(queue)[1] for _ in range(len(queue))]


def taken(queue: FairQueue[str]) -> tuple[str, str]:
    item = queue.take()
    assert item is not None
    return item


def test_a_client_that_is_charged_for_each_entry_alternates_with_others() -> None:
    queue: FairQueue[str] = FairQueue(Timing().clock)
    for number in range(3):
        queue.put("a", 0, f"a{number}")
        queue.put("b", 0, f"b{number}")
    order = []
    while queue:
        client, entry = taken(queue)
        queue.charge(client, 1.0)
        order.append(entry)
    assert order == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_of_one_client_the_smallest_goes_first_and_equal_ones_in_their_order() -> None:
    queue: FairQueue[str] = FairQueue(Timing().clock)
    for size, name in ((9, "large"), (1, "first"), (1, "second"), (5, "middle")):
        queue.put("a", size, name)
    assert drained(queue) == ["first", "second", "middle", "large"]


def test_a_large_entry_is_not_passed_by_for_ever() -> None:
    timing = Timing()
    queue: FairQueue[str] = FairQueue(timing.clock)
    queue.put("a", 3 * BYTES_PER_SECOND, "large")
    order = []
    for number in range(10):
        queue.put("a", 1, str(number))
        order.append(taken(queue)[1])
        timing.seconds += 1
    assert order.index("large") == 3


def test_some_clients_can_be_left_out() -> None:
    queue: FairQueue[str] = FairQueue(Timing().clock)
    queue.put("a", 1, "a")
    assert queue.take({"a"}) is None
    queue.put("b", 1, "b")
    assert queue.take({"a"}) == ("b", "b")
    assert queue.take() == ("a", "a")
    assert queue.take() is None


def test_what_was_used_is_forgotten_while_no_entry_waits() -> None:
    timing = Timing()
    queue: FairQueue[str] = FairQueue(timing.clock)
    queue.charge("a", 1.0)
    timing.seconds = 2.0
    queue.charge("b", 0.2)
    queue.put("b", 0, "b")
    queue.put("a", 0, "a")
    assert drained(queue) == ["a", "b"]


@run_each("hostile", [1, 9, 100])
def test_a_steady_client_of_small_entries_waits_for_two_costly_entries_of_new_clients(hostile: int) -> None:
    """Ten entries a second of 0.5 ms for a minute, less than its share; then come clients that have never sent, with entries of 25 ms."""
    timing, small, costly, longest = Timing(), 0.0005, 0.025, 0.0
    queue: FairQueue[float] = FairQueue(timing.clock)
    arrivals = [at / 10 for at in range(900)]
    while arrivals:
        while arrivals and arrivals[0] <= timing.seconds:
            queue.put("steady", 0, arrivals.pop(0))
        if timing.seconds > 60:
            for number in range(hostile):
                queue.put(f"hostile {number}", 0, math.inf)
        entry = queue.take()
        if entry is None:
            timing.seconds = arrivals[0]
            continue
        client, arrived = entry
        timing.seconds += small if client == "steady" else costly
        queue.charge(client, small if client == "steady" else costly)
        if client == "steady":
            longest = max(longest, timing.seconds - arrived)
    assert longest <= 2 * costly + small + 1e-6


def test_a_client_whose_entries_take_seconds_does_not_wait_for_as_much_of_others() -> None:
    queue: FairQueue[str] = FairQueue(Timing().clock)
    queue.charge("lists", 10.0)
    for client in ("lists", "hostile"):
        queue.put(client, 0, client)
    for _ in range(round((10.0 + MAX_COST) / 0.1) + 2):
        if queue.take() == ("lists", "lists"):
            return
        queue.charge("hostile", 0.1)
        queue.put("hostile", 0, "hostile")
    pytest.fail("the client of lists is starved")


def test_clients_that_are_gone_are_not_remembered_for_ever() -> None:
    timing = Timing()
    queue: FairQueue[str] = FairQueue(timing.clock)
    for number in range(10_000):
        timing.seconds += 1
        queue.charge(f"client {number}", 0.01)
    assert len(queue._starts) < 2_000


@run_each(
    ("peer", "client"),
    [
        (("10.0.0.7", 4711), "10.0.0.7"),
        (("::ffff:10.0.0.7", 4711, 0, 0), "10.0.0.7"),
        (("2001:db8:1:2:3:4:5:6", 4711, 0, 0), "2001:db8:1:2::"),
        (("2001:db8:1:2:ffff::1", 4711, 0, 0), "2001:db8:1:2::"),
        (("fe80::1%eth0", 4711, 0, 2), "fe80::"),
        (None, ""),
        ("", ""),
        (("not:an:address",), "not:an:address"),
    ],
)
def test_a_client_is_an_address_or_a_network(peer: object, client: str) -> None:
    assert client_address(peer) == client


def _answer(name: str) -> Answer:
    return Answer(200, name.encode(), Verdict("allowed", 200))


class Work:
    """Requests that take so many seconds on a clock of their own."""

    def __init__(self) -> None:
        self.timing = Timing()
        self.done: list[str] = []

    def of(self, name: str, seconds: float) -> Callable[[], Answer]:
        def work() -> Answer:
            self.timing.seconds += seconds
            self.done.append(name)
            return _answer(name)

        return work


async def test_an_idle_server_answers_at_once() -> None:
    work = Work()
    turns = ShortRequests(work.timing.clock)
    asking = turns.run("a", work.of("a", 0.001))
    with pytest.raises(StopIteration) as end:  # without giving the loop a turn
        asking.send(None)
    assert end.value.value.body == b"a"


async def test_a_client_that_comes_later_does_not_wait_for_all_of_another() -> None:
    work = Work()
    turns = ShortRequests(work.timing.clock)
    flood = [asyncio.create_task(turns.run("flood", work.of(f"f{number}", TURN_SECONDS))) for number in range(20)]
    small = asyncio.create_task(turns.run("small", work.of("small", 0.0001)))
    assert (await small).body == b"small"
    assert work.done.index("small") <= 2  # after what ran before it came
    await asyncio.gather(*flood)
    assert sorted(work.done) == sorted([f"f{number}" for number in range(20)] + ["small"])


async def test_the_sockets_are_looked_at_between_answers() -> None:
    work = Work()
    turns = ShortRequests(work.timing.clock)
    looked: list[int] = []

    async def look() -> None:
        while len(work.done) < 10:
            looked.append(len(work.done))
            await asyncio.sleep(0)

    asking = [asyncio.create_task(turns.run("a", work.of(str(number), TURN_SECONDS))) for number in range(10)]
    await asyncio.gather(look(), *asking)
    assert set(range(1, 10)) <= set(looked)


async def test_an_error_is_the_requests_own_and_others_go_on() -> None:
    work = Work()
    turns = ShortRequests(work.timing.clock)

    def broken() -> Answer:
        work.timing.seconds += TURN_SECONDS
        raise ZeroDivisionError

    first, second = asyncio.create_task(turns.run("a", broken)), asyncio.create_task(turns.run("b", broken))
    third = asyncio.create_task(turns.run("c", work.of("c", 0)))
    for task in (first, second):
        with pytest.raises(ZeroDivisionError):
            await task
    assert (await third).body == b"c"


async def test_a_client_that_has_left_costs_nothing() -> None:
    work = Work()
    turns = ShortRequests(work.timing.clock)
    first = asyncio.create_task(turns.run("a", work.of("a", TURN_SECONDS)))
    second = asyncio.create_task(turns.run("a", work.of("gone", TURN_SECONDS)))
    third = asyncio.create_task(turns.run("b", work.of("b", TURN_SECONDS)))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(first, third)
    assert work.done == ["a", "b"]


@pytest.mark.interpreted
async def test_a_list_takes_a_turn_for_several_short_objects_and_for_each_long_one() -> None:
    async def turns_of(seconds: float) -> int:
        work, taken = Work(), 0

        def steps() -> Iterator[Answer | None]:
            for number in range(24):
                work.of(str(number), seconds)()
                yield None
            yield work.of("list", seconds)()

        class Counted(ShortRequests):
            async def run(self, client: str, work: Callable[[], T], size: int = 0) -> T:
                nonlocal taken
                taken += 1
                return await super().run(client, work, size)

        assert (await Counted(work.timing.clock).through("a", 1, steps())).body == b"list"
        assert len(work.done) == 25
        return taken

    assert await turns_of(STEPS_SECONDS / 4) == 7
    assert await turns_of(STEPS_SECONDS * 2) == 25
