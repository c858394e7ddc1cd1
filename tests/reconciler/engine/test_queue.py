"""The queue: each key once, never by two at a time, and again after growing pauses."""

from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.engine.queue import FAIR_TURN_INTERVAL, MAX_URGENT_RETRIES, Cause, Queue, cause_of
from tests.kube.timing import Timing
from tests.rows import run_each

A, B = Key("K", "n", "a"), Key("K", "n", "b")


def _queue() -> tuple[Queue, Timing]:
    timing = Timing()
    return Queue(clocks=timing.clocks(1.0)), timing


async def test_failures_are_tried_again_with_growing_pauses_until_it_goes_well() -> None:
    queue, timing = _queue()
    queue.add(A)
    pauses = []
    for _ in range(10):
        assert await queue.get() == A
        pauses.append(queue.failed(A))
        await timing.advance(pauses[-1] + 0.1)
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 64, 120, 120]
    await queue.get()
    queue.done(A)
    queue.add(A)
    await queue.get()
    assert queue.failed(A) == 0.5
    await queue.close()


async def test_an_edit_goes_before_what_has_begun_that_before_new_work_and_that_before_a_look() -> None:
    queue, _ = _queue()
    keys = {cause: Key("K", "n", cause.name) for cause in reversed(Cause)}
    for cause, key in keys.items():
        queue.add(key, cause=cause)
    assert [await queue.get() for _ in keys] == [keys[cause] for cause in Cause]


async def test_of_several_causes_the_most_urgent_counts_also_of_what_comes_later_or_meanwhile() -> None:
    queue, timing = _queue()
    queue.add(A, cause=Cause.NEW)
    queue.add(B, cause=Cause.RESYNC)
    queue.add(B, cause=Cause.EDIT)
    queue.add(B, cause=Cause.RESYNC)
    assert await queue.get() == B
    queue.add(B, cause=Cause.EDIT)
    queue.add(B, cause=Cause.RESYNC)
    queue.done(B)
    assert await queue.get() == B
    queue.done(B)
    queue.add(B, 5, Cause.RESYNC)
    queue.add(B, 7, Cause.EDIT)
    await timing.advance(5.1)
    assert await queue.get() == B
    await queue.close()


@run_each("few", [[Key("L", "busy", "x")], [Key("K", "a", "x"), Key("K", "b", "x")]])
async def test_kinds_of_one_cause_take_turns_and_so_do_namespaces_of_one_kind(few: list[Key]) -> None:
    queue, _ = _queue()
    many = [Key("K", "busy", str(number)) for number in range(100)]
    for key in (*many, *few):
        queue.add(key)
    assert {*few} < {await queue.get() for _ in range(len(few) + 1)}
    assert [await queue.get() for _ in many[1:]] == many[1:]  # each namespace first in, first out


async def test_nobody_waits_for_ever_while_others_are_edited_again_and_again() -> None:
    queue, _ = _queue()
    queue.add(B, cause=Cause.RESYNC)
    turns = []
    for _ in range(FAIR_TURN_INTERVAL):
        queue.add(A, cause=Cause.EDIT)
        turns.append(await queue.get())
        queue.done(turns[-1])
    assert B in turns


async def test_what_fails_again_and_again_waits_behind_new_work() -> None:
    queue, timing = _queue()
    for key in (B, A):  # two turns, so that the fair ones are those of the second of each pair below
        queue.add(key)
        assert await queue.get() == key
    queue.done(B)
    for failures in range(1, MAX_URGENT_RETRIES + 2):
        await timing.advance(queue.failed(A) + 0.1)
        queue.add(B, cause=Cause.NEW)
        assert [await queue.get(), await queue.get()] == ([A, B] if failures <= MAX_URGENT_RETRIES else [B, A])
        queue.done(B)
    await queue.close()


OWNED = {"ownerReferences": [{"controller": True, "uid": "u"}]}


@run_each(
    ("metadata", "status", "known", "cause"),
    [
        ({"generation": 1}, {}, False, Cause.NEW),
        ({"generation": 1, **OWNED}, {}, False, Cause.IN_PROGRESS),
        ({"generation": 2}, {}, True, Cause.NEW),
        ({"generation": 1}, {"observedGeneration": 1}, False, Cause.RESYNC),
        ({"generation": 2}, {"observedGeneration": 1}, False, Cause.EDIT),
        ({"generation": 1}, {"observedGeneration": 1}, True, Cause.EDIT),
        ({"generation": 1}, {"state": "failed"}, False, Cause.RESYNC),
        ({"generation": 2}, {"state": "failed"}, True, Cause.EDIT),
        ({"generation": 1, "deletionTimestamp": "now"}, {}, False, Cause.EDIT),
    ],
)
def test_why_an_object_waits_is_told_by_what_was_done_for_it(
    metadata: dict[str, object], status: dict[str, object], known: bool, cause: Cause
) -> None:
    assert cause_of({"metadata": metadata, "status": status}, known=known) is cause
