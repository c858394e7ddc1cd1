"""Memory that long reviews leave goes back to the system, when they are over and not before."""

from __future__ import annotations

from pathlib import Path

from dynamo_webhooks.webhooks.malloc_trim import IdleTrim
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import served, until


async def test_who_is_busy_keeps_the_memory() -> None:
    busy, looks, given = True, 0, 0

    def look() -> bool:
        nonlocal looks
        looks += 1
        return busy

    def give() -> None:
        nonlocal given
        given += 1

    trim = IdleTrim(look, give, seconds=0)
    trim.begin()
    trim.begin()
    await until(lambda: looks >= 3)
    assert given == 0
    busy = False
    await until(lambda: given == 1)
    times = looks
    trim.begin()
    await until(lambda: given == 2)
    assert looks == times + 1


async def test_a_long_review_is_followed_by_giving_back_and_a_short_one_is_not(tmp_path: Path) -> None:
    rooms: list[int] = []
    async with served(tmp_path) as running:
        bodies, client = running.server._bodies, await running.connect()
        bodies._idle_trim._seconds, bodies._idle_trim._give_back = 0, lambda: rooms.append(bodies._admission.used)
        assert (await client.post(GRAPHS, review(graph()))).status == 200
        assert bodies._idle_trim._timer is None
        assert (await client.post(GRAPHS, review(graph()).replace(b"{", b"{" + b" " * 300_000, 1))).status == 200
        await until(lambda: rooms)
    assert rooms == [0]
