"""The reconciler as a whole: one leader, metrics, what it costs the API server."""

import asyncio
import selectors
from itertools import pairwise

import pytest

from dynamo_webhooks.kube.errors import ApiError, ForbiddenError, NotServedError, UnavailableError
from dynamo_webhooks.kube.resources import DEPLOYMENTS, LEASES, SERVICES, Resource
from dynamo_webhooks.reconciler.common.resources import GRAPHS
from dynamo_webhooks.reconciler.reconciler import Reconciler
from tests.kube.memory import MemoryCluster
from tests.kube.timing import SettlingLoop
from tests.reconciler.site import NAMESPACE, SERVED, Site, disagg, running
from tests.rows import run_each


def _stands_by(first: Site) -> tuple[Site, Reconciler]:
    """A second process, which has not begun, with a client of its own on the same cluster and clock."""
    second = Site()
    second.storage, second.timing = first.storage, first.timing
    second.cluster = MemoryCluster("dynamo-webhooks-reconciler", storage=first.storage, served=SERVED)
    return second, Reconciler(second.cluster, second.settings, "another", clocks=first.timing.clocks())


def _beside(first: Site) -> Site:
    second, process = _stands_by(first)
    second.run(process)
    return second


async def test_who_stands_by_writes_nothing_and_has_listed_everything_when_its_turn_comes() -> None:
    listed: list[str] = []

    def noting(verb: str, resource: Resource | None, _namespace: str, _name: str) -> None:
        if verb == "list" and resource is not None:
            listed.append(resource.plural)

    async with running() as first:
        await first.rest()
        second = _beside(first)
        second.cluster.fail(noting)
        await first.make(disagg())
        assert {"dynamographdeployments", "deployments", "services", "roles"} <= {*listed}
        assert second.cluster.writes == []
        listed.clear()
        await first.stop()
        await first.edit("g", 0, rest=False, replicas=3)
        await second.later(4)
        assert (await first.all(DEPLOYMENTS))["g-frontend"]["spec"]["replicas"] == 3
        assert {*listed} <= {"leases", "namespaces"}  # what other operators claim
        await second.stop()


async def test_who_stands_by_is_ready_when_it_has_listed_everything() -> None:
    async with running() as first:
        second = _beside(first)
        mend = second.refuse(UnavailableError(503, "", "etcd is away"), "list", GRAPHS)
        await first.later(5)
        [reason] = await second.reconciler.reasons()
        assert "DynamoGraphDeployment is not listed: etcd is away" in reason
        mend()
        await first.later(60)
        assert await second.reconciler.reasons() == []
        await second.stop()


async def test_what_changes_while_nobody_leads_is_acted_on_by_the_same_process_afterwards() -> None:
    async with running(disagg()) as site:
        mend = site.cluster.fail(lambda _, resource, *__: UnavailableError(503, "", "away") if resource == LEASES else None)
        await site.timing.advance(11)
        await site.edit("g", 0, rest=False, replicas=3)
        await site.user.delete(SERVICES, "g-frontend", NAMESPACE)
        for _ in range(10):
            await site.timing.advance(0.5)
        assert (await site.all(DEPLOYMENTS))["g-frontend"]["spec"]["replicas"] == 1
        mend()
        await site.later(30)
        assert (await site.all(DEPLOYMENTS))["g-frontend"]["spec"]["replicas"] == 3
        assert "g-frontend" in await site.all(SERVICES)


async def test_ready_is_who_leads_and_who_stands_by_but_nobody_who_knows_nothing() -> None:
    async with running() as first:
        await first.rest()
        assert await first.reconciler.reasons() == []
        second, other = _stands_by(first)
        assert await other.reasons() == ["it is not known who leads: the Lease has not been read yet"]
        second.run(other)
        await first.later(1)
        assert await other.reasons() == [], "a roll-out waits for it before the leader may go"
        second.cluster.fail(lambda *_: UnavailableError(503, "", "the API server is away"))
        await first.later(10)
        assert await other.reasons() == ["it is not known who leads: the API server is away"]
        await second.stop()


async def test_metrics_have_the_names_that_dashboards_know() -> None:
    async with running(disagg(), denied=[("create", "roles")]) as site:
        text = (await site.reconciler.metrics()).decode()
        graph = 'resource_type="DynamoGraphDeployment"'
        assert f'dynamo_operator_resources_total{{{graph},status="failed"}} 1.0' in text
        assert f'dynamo_operator_reconcile_errors_total{{error_type="forbidden",{graph}}}' in text
        component = 'resource_type="DynamoComponentDeployment"'
        assert f'dynamo_operator_reconcile_total{{{component},result="success"}}' in text
        assert "dynamo_operator_reconcile_duration_seconds_bucket" in text
        controller = 'controller="dynamocomponentdeployment"'
        assert f'controller_runtime_reconcile_total{{{controller},result="success"}}' in text
        assert f"controller_runtime_reconcile_time_seconds_count{{{controller}}}" in text
        assert 'controller_runtime_reconcile_errors_total{controller="dynamographdeployment"}' in text
        assert f'workqueue_depth{{{controller},name="dynamocomponentdeployment"}} 0.0' in text
        assert "dynamo_webhooks_reconciler_leading 1.0" in text


@run_each(
    ("plural", "error", "unreadable"),
    [
        ("resourceclaimtemplates", NotServedError(404, "NotFound", "not served"), 0),
        ("resourceclaimtemplates", ForbiddenError(403, "Forbidden", "may not"), 1),
        ("dynamographdeploymentscalingadapters", NotServedError(404, "NotFound", "no definition"), 1),
    ],
)
async def test_a_kind_that_only_newer_clusters_serve_raises_no_alarm(plural: str, error: ApiError, unreadable: int) -> None:
    async with running() as site:
        await site.stop()
        site.cluster.fail(
            lambda verb, resource, *_: error if verb == "list" and resource is not None and resource.plural == plural else None
        )
        reconciler = site.start()
        await site.rest()
        assert f"dynamo_webhooks_reconciler_unreadable_kinds {unreadable}.0" in (await reconciler.metrics()).decode()
        assert await reconciler.reasons() == []
        assert any("can't be read" in line for line in await reconciler.details())


async def test_a_namespace_is_a_label_where_the_configuration_says_so() -> None:
    async with running(disagg(), more="server: {metrics: {namespaceLabel: true}}\n") as site:
        text = (await site.reconciler.metrics()).decode()
        graph = f'namespace="{NAMESPACE}",resource_type="DynamoGraphDeployment"'
        assert f'dynamo_operator_resources_total{{{graph},status="successful"}} 1.0' in text
        assert f'dynamo_operator_reconcile_total{{{graph},result="success"}}' in text
        assert f'dynamo_operator_reconcile_duration_seconds_count{{{graph},result="success"}}' in text
        assert 'controller_runtime_reconcile_total{controller="dynamographdeployment",result="success"}' in text
        assert "dynamo_webhooks_reconciler_stood_down_total 0.0" in text


async def test_what_graphs_cost_the_api_server_grows_with_their_number_and_no_faster() -> None:
    counts = []
    for number in (4, 12):
        async with running() as site:
            await site.rest()
            calls: list[str] = []
            site.cluster.fail(lambda verb, *_, calls=calls: calls.append(verb))
            for index in range(number):
                await site.make(disagg(f"g{index}"))
            counts.append(len([verb for verb in calls if verb != "watch"]) / number)
            assert len(await site.all(DEPLOYMENTS)) == 3 * number
            # starting again costs a list a kind, and nothing a graph
            await site.stop()
            before = len(site.cluster.writes)
            site.start()
            await site.rest()
            assert {plural for _, plural, _ in site.cluster.writes[before:]} == {"leases"}
    assert max(counts) <= 60  # three rights, three components with two children each, read and written; status and Events
    assert abs(counts[0] - counts[1]) < 6


async def test_passes_that_write_nothing_leave_time_for_watches_leases_and_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as site:
        for number in range(20):
            await site.make(disagg(f"g{number}"))
        await site.stop()
        reconciler = site.start()
        counts: list[int] = []

        def select(timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
            counts.append(_passes(reconciler))  # once a turn of the loop
            return turn(timeout)

        loop = asyncio.get_running_loop()
        assert isinstance(loop, SettlingLoop)
        turn = loop.selector.select
        monkeypatch.setattr(loop.selector, "select", select)
        await site.rest()
        assert counts[-1] >= 20
        assert max(later - sooner for sooner, later in pairwise(counts)) <= site.settings.reconciler.workers


def _passes(reconciler: Reconciler) -> int:
    return int(sum(sum(series[1:]) for series in reconciler.meters.passes.values()))
