"""Memory that long reviews and connections leave goes back to the system some seconds later."""

import asyncio
from pathlib import Path

from dynamo_webhooks.webhooks.bodies import DelayedTrim
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import served, until


async def test_clients_that_come_again_and_again_do_not_put_it_off() -> None:
    given: list[int] = []
    began = 0
    trim = DelayedTrim(lambda: given.append(began), seconds=0.05)
    async with asyncio.timeout(5):
        while len(given) < 2:
            trim.begin()
            began += 1
            await asyncio.sleep(0.005)
    assert trim._timer is None
    assert given[1] - given[0] > 1  # and each trim serves many of them


async def test_a_long_review_is_followed_by_a_trim_and_a_short_one_is_not(tmp_path: Path) -> None:
    trims: list[None] = []
    async with served(tmp_path) as running:
        bodies, client = running.server._bodies, await running.connect()
        bodies.trim._seconds, bodies.trim._give_back = 0, lambda: trims.append(None)
        assert (await client.post(GRAPHS, review(graph()))).status == 200
        assert bodies.trim._timer is None
        assert (await client.post(GRAPHS, review(graph()).replace(b"{", b"{" + b" " * 300_000, 1))).status == 200
        await until(lambda: trims)


async def test_a_connection_that_ends_is_followed_by_a_trim(tmp_path: Path) -> None:
    """A crowd of them leaves a hundred megabytes and more."""
    async with served(tmp_path) as running:
        client = await running.connect()
        assert (await client.post(GRAPHS, review(graph()))).status == 200
        trim = running.server._bodies.trim
        assert trim._timer is None
        client.writer.transport.abort()
        await running.gone()
        assert trim._timer is not None
        trim._timer.cancel()
