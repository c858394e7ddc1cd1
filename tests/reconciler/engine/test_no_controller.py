"""Objects of kinds that nobody here acts on say so, unless somebody else acts on them."""

import logging
from typing import Any, Final

import pytest

from dynamo_webhooks.kube.errors import ForbiddenError, NotServedError, UnavailableError
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, GRAPHS, MODELS, REQUESTS
from tests.reconciler.model.test_model import Scene
from tests.reconciler.model.workers import model, slice_of
from tests.reconciler.site import NAMESPACE, Site, disagg, draft, running
from tests.rows import run_each

OPTED: Final = (MODELS, CHECKPOINTS, REQUESTS)
OFF: Final = "controllers: {checkpoints: 'off', requests: 'off'}\n"


async def _status(site: Site, number: int) -> Any:
    obj = await site.get(OPTED[number], "x")
    return obj.get("status") or {}


async def _make(site: Site, number: int) -> None:
    await site.user.create(OPTED[number], draft(OPTED[number], "x", spec={}), NAMESPACE)


@run_each("number", [1, 2])
async def test_an_object_that_nobody_acts_on_says_so_once_and_another_controllers_is_left_alone(number: int) -> None:
    async with running(more=OFF) as site:
        await _make(site, number)
        await site.later(50)
        assert await _status(site, number) == {}
        await site.later(20)
        [condition] = (await _status(site, number))["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Reconciled", "False", "NoController")
        assert OPTED[number].kind in condition["message"]
        assert (await site.reasons()).count("NoController") == 1
        assert await site.writes_within(200) == []
        theirs = {"type": "EndpointsReady", "status": "True"}
        await site.report(OPTED[number], "x", {"conditions": [condition, theirs]})
        assert (await _status(site, number))["conditions"] == [theirs]
        await site.later(100)
        assert (await _status(site, number))["conditions"] == [theirs]


async def test_graphs_run_where_these_kinds_can_not_be_read() -> None:
    site = Site()
    kinds = {each.plural for each in OPTED}
    verbs = {"list", "watch", "merge_patch"}
    site.cluster.fail(
        lambda verb, resource, *_: UnavailableError(503, "", "away") if verb in verbs and resource and resource.plural in kinds else None
    )
    async with site.running():
        await site.make(disagg())
        assert (await site.condition())["status"] == "True"


@run_each(
    ("more", "denied", "reason", "text"),
    [
        ("controllers: {models: 'off'}\n", (), "NoController", "controllers.models is off in the configuration"),
        (
            "",
            (("patch", "dynamomodels"),),
            "Forbidden",
            "lacks a permission for it (patch dynamomodels); add manifests/components/models",
        ),
        (
            "",
            (("watch", "endpointslices"),),
            "Forbidden",
            "(watch endpointslices); add manifests/components/models, or set reconciler.models",
        ),
    ],
)
async def test_a_model_that_is_not_reconciled_says_why(more: str, denied: tuple[tuple[str, str], ...], reason: str, text: str) -> None:
    async with running(more=more, denied=[*denied]) as site:
        await _make(site, 0)
        await site.later(70)
        [condition] = (await _status(site, 0))["conditions"]
        assert (condition["type"], condition["reason"]) == ("Reconciled", reason)
        assert text in condition["message"]
        assert (await site.reasons()).count(reason) == 1
        site.cluster.denied.clear()
        await site.later(70)
        kinds = {condition["type"] for condition in (await _status(site, 0))["conditions"]}
        assert ("Reconciled" in kinds) == bool(more)


@run_each("mute", [False, True])
async def test_a_permission_that_is_missing_on_the_way_is_told_until_it_is_there(mute: bool) -> None:
    site = Scene("controllers: {models: 'on'}\n")
    site.cluster.denied |= {("patch", "dynamomodels"), *[("patch", "dynamomodels/status")] * mute}
    await site.put(model(), slice_of("10.0.0.1"))
    async with site.running(seconds=5):
        [text] = [message for _, reason, message in await site.events() if reason == "Forbidden"]
        assert text.startswith("the reconciler lacks a permission: dynamomodels ")
        assert text.endswith("; add manifests/components/models, or set reconciler.models=true of the chart")
        assert mute or (await site.told("Reconciled"))[:2] == ("False", "Forbidden")
        site.cluster.denied.clear()
        await site.later(70)
        assert {entry["type"] for entry in (await site.model())["status"]["conditions"]} == {"ServicesFound", "EndpointsReady", "Ready"}
        assert site.fleet.loaded["10.0.0.1"] == {"org/adapter": "s3://b/a"}


async def test_what_a_quota_refuses_is_no_missing_permission() -> None:
    site = Scene("controllers: {models: 'on'}\n")
    site.refuse(ForbiddenError(403, "Forbidden", "dynamomodels is forbidden: exceeded quota: q"), "merge_patch", MODELS)
    await site.put(model(), slice_of("10.0.0.1"))
    async with site.running(seconds=10):
        assert "Forbidden" not in await site.reasons()


@run_each(("number", "warned"), [(1, False), (3, True)])
async def test_a_definition_that_a_release_has_not_is_no_warning(number: int, caplog: pytest.LogCaptureFixture, *, warned: bool) -> None:
    caplog.set_level(logging.WARNING)
    site, resource = Site(), (*OPTED, GRAPHS)[number]
    site.cluster.fail(
        lambda verb, kind, *_: NotServedError(404, "NotFound", "no such kind") if (verb, kind) == ("list", resource) else None
    )
    async with site.running():
        await site.timing.advance(1)
        assert (f"watching {resource.plural}: no such kind" in caplog.text) is warned
