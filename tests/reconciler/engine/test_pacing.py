"""How often status is written: news at once, progress at most once a second."""

from typing import Any

from dynamo_webhooks.kube.resources import Resource
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.engine.pacing import HELD, Pace
from tests.kube.timing import Timing
from tests.reconciler.site import disagg, running

A = Key("K", "n", "a")


def _status(available: str, ready: int = 0, reason: str = "r", **more: Any) -> dict[str, Any]:
    condition = {"type": "Available", "status": available, "reason": reason, "message": f"{ready} are ready"}
    return {"conditions": [condition], "component": {"readyReplicas": ready}, "observedGeneration": 1, **more}


async def test_the_beginning_is_held_back_for_a_moment_and_then_written_whatever_it_has_become() -> None:
    timing = Timing()
    pace = Pace(timing.clock)
    assert pace.wait(A, {}, _status("False")) == HELD
    await timing.advance(0.4)
    assert pace.wait(A, {}, _status("False", 1)) == HELD - 0.4
    await timing.advance(30)
    assert pace.wait(A, {}, _status("False", 2)) == 0, "who comes late for want of a turn is not held back again"


async def test_what_somebody_waits_for_is_written_at_once() -> None:
    for before, now in (
        ({}, _status("True")),
        ({}, _status("False", reason="Reconciling")),
        ({}, _status("False", state="failed")),
        ({}, {"replicas": 1}),
        (_status("False"), _status("True")),
        (_status("False"), _status("False", observedGeneration=2)),
        (_status("False"), _status("False", state="failed")),
    ):
        pace = Pace(Timing().clock)
        assert pace.wait(A, before, before | {"component": {"readyReplicas": 7}}) >= 0
        assert pace.wait(A, before, now) == 0


async def test_figures_are_written_once_a_second() -> None:
    timing = Timing()
    pace = Pace(timing.clock)
    assert pace.wait(A, _status("False"), _status("False", 1)) == 0
    await timing.advance(0.75)
    assert pace.wait(A, _status("False", 1), _status("False", 2)) == HELD - 0.75
    await timing.advance(0.25)
    assert pace.wait(A, _status("False", 1), _status("False", 3)) == 0


async def test_nothing_is_remembered_for_long() -> None:
    timing = Timing()
    pace = Pace(timing.clock)
    for number in range(100):
        pace.wait(Key("K", "n", str(number)), _status("False"), _status("True"))
    await timing.advance(61)
    pace.wait(A, _status("False"), _status("True"))
    assert len(pace) == 1


async def test_a_graph_costs_few_calls_until_it_is_ready() -> None:
    async with running() as site:
        calls: list[str] = []
        await site.rest()
        await site.make(disagg())

        def count(verb: str, resource: Resource | None, *_: str) -> None:
            calls.append(f"{verb} {resource.plural if resource else ''}")

        site.cluster.fail(count)
        await site.rest()
        assert (await site.graph())["status"]["state"] == "successful"
        mine = [call for call in calls if not call.endswith("leases")]
        assert [call for call in mine if call.startswith("get")] == [], "what isn't known of is made, and looked at only where that fails"
        assert len(mine) <= 24, mine
