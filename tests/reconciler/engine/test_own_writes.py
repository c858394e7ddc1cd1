"""What the loop writes itself must not make it pass over an object once more, and status is written at most once a second."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS, SERVICES, Resource
from dynamo_webhooks.reconciler import reconciler as module
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, RECONCILED
from dynamo_webhooks.reconciler.component.controller import ComponentController
from dynamo_webhooks.reconciler.engine.cache import Cache
from dynamo_webhooks.reconciler.engine.pace import MAX_STATUS_DELAY_SECONDS, StatusPacer
from dynamo_webhooks.reconciler.engine.routing import Controllers, route_change
from dynamo_webhooks.reconciler.engine.watch import LABELLED, Change, Watch
from dynamo_webhooks.reconciler.graph.controller import GraphController
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing, settle
from tests.reconciler.site import NAMESPACE, disagg, draft, running, settings
from tests.rows import run_each

KEY = Key("Service", "n", "s")
SERVICE = draft(SERVICES, "s", {"namespace": "n", "labels": {RECONCILED: "true"}}, spec={"ports": [{"port": 80}]})


class Told:
    """A cache that listens, and what it has told: object there before, object there now, ours."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster()
        self.changes: list[tuple[bool, bool, bool]] = []
        self.cache = Cache(self.cluster, self._changed)

    def _changed(self, change: Change) -> None:
        self.changes.append((change.old is not None, change.new is not None, change.is_own_write))


@contextlib.asynccontextmanager
async def telling() -> AsyncIterator[Told]:
    site = Told()
    site.cache.listen([Watch(SERVICES, (LABELLED,))], settings(), {})
    await settle()
    yield site
    await site.cache.close()


async def test_what_others_do_during_a_write_is_told_after_it() -> None:
    async with telling() as site:
        with site.cache.writing(KEY):
            made = await site.cluster.create(SERVICES, SERVICE)
            await site.cluster.merge_patch(SERVICES, "s", {"spec": {"ports": [{"port": 81}]}}, "n")
            await settle()
            site.cache.add_write({**made, "apiVersion": "v1", "kind": "Service"})
        assert site.changes == [(False, True, True), (True, True, False)]


async def test_a_write_without_an_answer_loses_no_change() -> None:
    async with telling() as site:

        async def fail() -> None:
            with site.cache.writing(KEY), site.cache.writing(KEY):
                await site.cluster.create(SERVICES, SERVICE)
                await settle()
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fail()
        assert site.changes == [(False, True, False)]
        await site.cluster.delete(SERVICES, "s", "n")
        await settle()
        assert site.changes[1:] == [(True, False, False)]


def test_a_child_that_was_just_made_concerns_nobody_else() -> None:
    owner = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "name": "c", "uid": "1", "controller": True}
    made: Node = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n", "uid": "2", "ownerReferences": [owner]},
        "spec": {},
        "status": {},
    }
    cache = Cache(MemoryCluster(), lambda _: None)
    controllers: Controllers = {each.kind: each for each in (GraphController(), ComponentController())}
    cache.add_write({"kind": "DynamoComponentDeployment", "metadata": {"name": "c", "namespace": "n", "uid": "1", "resourceVersion": "1"}})
    assert route_change(Change(None, made, is_own_write=True), cache, controllers) == []
    assert route_change(Change(None, made), cache, controllers) == [Key("DynamoComponentDeployment", "n", "c")]
    ready = {**made, "status": {"replicas": 1}}
    assert route_change(Change(made, ready), cache, controllers) == [Key("DynamoComponentDeployment", "n", "c")]


async def test_answers_that_come_late_cause_no_more_passes() -> None:
    async with running() as site:
        reconciler, passes = site.reconciler, list[Key]()
        assert reconciler is not None
        settled = reconciler.worker._settle
        apply = site.cluster.apply

        async def slow(*arguments: Any, **options: Any) -> Any:
            made = await apply(*arguments, **options)
            await settle()
            return made

        def settling(key: Key, outcome: Any) -> str:
            passes.append(key)
            return settled(key, outcome)

        site.cluster.apply, reconciler.worker._settle = slow, settling  # type: ignore[method-assign]
        await site.make(disagg("g"))
        components = await site.all(COMPONENTS)
        assert len([key for key in passes if key.kind == "DynamoComponentDeployment"]) == 2 * len(components) == 6
        assert len([key for key in passes if key.kind == "DynamoGraphDeployment"]) == 2


async def test_components_become_ready_with_their_graph_and_only_later_by_themselves() -> None:
    async with running(disagg("g")) as site:
        assert await site.reasons() == ["AllResourcesAreReady"]
        [decode] = [name for name in await site.all(DEPLOYMENTS) if "decode" in name]
        site.held[decode] = 0
        await site.rest()
        assert (decode, "ComponentNotReady", "DynamoComponent is not ready") in await site.events()
        del site.held[decode]
        await site.rest()
        assert (decode, "ComponentReady", "DynamoComponent is ready") in await site.events()


async def test_a_new_leader_passes_over_what_it_lists_once_and_asks_for_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[str] = []

    def asking(change: Change, cache: Cache, controllers: Controllers) -> list[Key]:
        kinds.append(change.key.kind)
        return route_change(change, cache, controllers)

    async with running(disagg("g")) as site:
        await site.stop()
        [decode] = [name for name in await site.all(DEPLOYMENTS) if "decode" in name]
        await site.user.delete(DEPLOYMENTS, decode, NAMESPACE)
        await site.user.merge_patch(SERVICES, "g-frontend", {"spec": {"ports": None}}, NAMESPACE)
        monkeypatch.setattr(module, "route_change", asking)
        before = len(site.cluster.writes)
        site.start()
        await site.rest()
        assert {"ServiceAccount", "Role", "RoleBinding"}.isdisjoint(kinds)
        assert kinds.count("Service") == 1  # which is mended
        assert decode in await site.all(DEPLOYMENTS)
        assert (await site.all(SERVICES))["g-frontend"]["spec"]["ports"]
        assert [kind for _, kind, _ in site.cluster.writes[before:]].count("deployments") == 1


A = Key("K", "n", "a")


def _status(available: str, ready: int = 0, reason: str = "r", **more: Any) -> dict[str, Any]:
    condition = {"type": "Available", "status": available, "reason": reason, "message": f"{ready} are ready"}
    return {"conditions": [condition], "component": {"readyReplicas": ready}, "observedGeneration": 1, **more}


@run_each(
    "steps",
    [
        # the beginning is held back for a moment, and then written whatever it has become; who comes late for want of a turn isn't again
        [(0, {}, 0, MAX_STATUS_DELAY_SECONDS), (0.4, {}, 1, MAX_STATUS_DELAY_SECONDS - 0.4), (30, {}, 2, 0)],
        # figures are written once a second
        [(0, _status("False"), 1, 0), (0.75, _status("False", 1), 2, MAX_STATUS_DELAY_SECONDS - 0.75), (0.25, _status("False", 1), 3, 0)],
    ],
)
async def test_news_that_nobody_waits_for_are_held_back(steps: list[tuple[float, dict[str, Any], int, float]]) -> None:
    timing = Timing()
    pace = StatusPacer(timing.clock)
    for seconds, before, ready, wait in steps:
        await timing.advance(seconds)
        assert pace.delay(A, before, _status("False", ready)) == wait


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
        pace = StatusPacer(Timing().clock)
        assert pace.delay(A, before, before | {"component": {"readyReplicas": 7}}) >= 0
        assert pace.delay(A, before, now) == 0


async def test_nothing_is_remembered_for_long() -> None:
    timing = Timing()
    pace = StatusPacer(timing.clock)
    for number in range(100):
        pace.delay(Key("K", "n", str(number)), _status("False"), _status("True"))
    await timing.advance(61)
    pace.delay(A, _status("False"), _status("True"))
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
