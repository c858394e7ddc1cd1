"""The garbage collector is kept away while all is listed, and no longer."""

import asyncio
import gc
from collections.abc import Iterator
from typing import cast

import pytest

from dynamo_webhooks.cli.daemon import run
from dynamo_webhooks.cli.daemon.run import Part, State


class Listing:
    """A part that is ready when everything is listed."""

    def __init__(self) -> None:
        self.listed = False

    async def reasons(self) -> list[str]:
        return [] if self.listed else ["not listed"]


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether the collector was off whenever something was kept from it."""
    calls: list[bool] = []
    monkeypatch.setattr(run, "_LOOK", 0.001)
    monkeypatch.setattr(gc, "freeze", lambda: calls.append(not gc.isenabled()))
    yield calls
    gc.enable()


async def test_it_comes_back_when_all_is_listed(frozen: list[bool]) -> None:
    state, part = State("x", None), Listing()
    task = asyncio.ensure_future(run._uncollected(state))
    await asyncio.sleep(0.01)
    state.part = cast("Part", part)
    await asyncio.sleep(0.01)
    assert not gc.isenabled()
    assert frozen == []
    part.listed = True
    await task
    assert gc.isenabled()
    assert frozen == [True]


async def test_it_comes_back_in_time_when_nothing_can_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LISTING", 0.01)
    await asyncio.wait_for(run._uncollected(State("x", None)), 5)
    assert gc.isenabled()


async def test_it_comes_back_when_the_process_is_stopped() -> None:
    task = asyncio.ensure_future(run._uncollected(State("x", None)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert gc.isenabled()
