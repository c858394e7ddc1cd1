"""Objects of kinds that nobody here acts on say so, unless somebody else acts on them."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.reconciler.loop.kinds import UNATTENDED
from tests.reconciler.loop.site import NAMESPACE, Site, disagg, running


async def _status(site: Site, number: int) -> Any:
    found = await site.user.get(UNATTENDED[number], "x", NAMESPACE)
    assert found is not None
    return found.get("status") or {}


async def _make(site: Site, number: int) -> None:
    resource = UNATTENDED[number]
    made: Any = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}, "spec": {}}
    await site.user.create(resource, made, NAMESPACE)


@pytest.mark.parametrize("number", range(2))
async def test_an_object_that_nobody_acts_on_says_so_once(number: int) -> None:
    async with running() as site:
        await _make(site, number)
        await site.later(50)
        assert await _status(site, number) == {}
        await site.later(20)
        [condition] = (await _status(site, number))["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Reconciled", "False", "NoController")
        assert UNATTENDED[number].kind in condition["message"]
        assert (await site.reasons()).count("NoController") == 1
        writes = len(site.cluster.writes)
        await site.later(200)
        assert [one for one in site.cluster.writes[writes:] if one[1] != "leases"] == []


async def test_another_controllers_object_is_left_alone() -> None:
    async with running() as site:
        await _make(site, 0)
        await site.later(70)
        theirs = {"type": "EndpointsReady", "status": "True"}
        conditions = [*(await _status(site, 0))["conditions"], theirs]
        await site.kubelet.merge_patch(UNATTENDED[0], "x", {"status": {"conditions": conditions}}, NAMESPACE, subresource="status")
        await site.rest()
        assert (await _status(site, 0))["conditions"] == [theirs]
        await site.later(100)
        assert (await _status(site, 0))["conditions"] == [theirs]


async def test_graphs_run_where_these_kinds_can_not_be_read() -> None:
    site = Site()
    kinds = {each.plural for each in UNATTENDED}
    site.cluster.fail(lambda _, resource, *__: UnavailableError(503, "", "away") if resource and resource.plural in kinds else None)
    site.start()
    await site.make(disagg())
    await site.rest()
    assert (await site.condition())["status"] == "True"
    await site.stop()
