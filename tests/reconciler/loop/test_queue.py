"""The queue: each key once, never by two at a time, and again after growing pauses."""

from __future__ import annotations

import asyncio

from dynamo_webhooks.reconciler.loop.keys import Key
from dynamo_webhooks.reconciler.loop.queue import Queue
from tests.kube.timing import Timing

A, B = Key("K", "n", "a"), Key("K", "n", "b")


def _queue() -> tuple[Queue, Timing]:
    timing = Timing()
    return Queue(clock=timing.clock, sleep=timing.sleep, chance=lambda: 1.0), timing


async def test_a_key_that_comes_twice_is_worked_on_once() -> None:
    queue, _ = _queue()
    for key in (A, B, A):
        queue.add(key)
    assert [await queue.get(), await queue.get()] == [A, B]
    assert len(queue) == 0


async def test_what_comes_meanwhile_is_worked_on_afterwards_and_by_nobody_else() -> None:
    queue, _ = _queue()
    queue.add(A)
    assert await queue.get() == A
    queue.add(A)
    queue.add(A)
    assert len(queue) == 0
    queue.done(A)
    assert await queue.get() == A
    queue.done(A)
    assert queue.idle


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


async def test_the_earliest_of_several_moments_counts_and_now_is_the_earliest() -> None:
    queue, timing = _queue()
    queue.add(A, 10)
    queue.add(A, 5)
    queue.add(A, 20)
    await timing.advance(4.9)
    assert len(queue) == 0
    assert queue.next_due() is not None
    await timing.advance(0.2)
    assert await queue.get() == A
    queue.done(A, 7)
    queue.add(A)
    assert await queue.get() == A
    queue.done(A)
    await timing.advance(60)
    assert queue.idle
    assert queue.next_due() is None


async def test_a_worker_waits_for_what_comes() -> None:
    queue, _ = _queue()
    waiting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.add(B)
    assert await waiting == B
