"""Namespaces of other operators: where the loop works, where it doesn't, and when that changes."""

from typing import Any

from dynamo_webhooks.kube.resources import DEPLOYMENTS, LEASES, SERVICES
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, GRAPHS
from tests.reconciler.site import NAMESPACE, disagg, running

SCOPE = "dynamo-operator-namespace-scope"


def _claim(holder: str = "namespace-restricted-operator-1.2.0") -> Any:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 30, "renewTime": "2030-01-01T00:00:00.000000Z"}
    return {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": {"name": SCOPE}, "spec": spec}


async def test_a_namespace_that_another_operator_claims_is_left_alone_until_it_leaves_and_when_it_comes_again() -> None:
    async with running() as site:
        await site.create(LEASES, _claim())
        await site.make(disagg())
        assert await site.all(COMPONENTS) == {}
        assert "status" not in await site.graph()
        await site.delete(LEASES, SCOPE)
        assert len(await site.all(DEPLOYMENTS)) == 3
        await site.create(LEASES, _claim())
        writes = len(site.cluster.writes)
        await site.edit("g", 0, replicas=3)
        await site.delete(SERVICES, "g-frontend")
        assert {plural for _, plural, _ in site.cluster.writes[writes:]} <= {"leases"}


async def test_a_claim_that_nobody_renews_runs_out_and_its_graphs_are_taken_up() -> None:
    async with running() as site:
        await site.user.create(LEASES, _claim(), NAMESPACE)
        await site.make(disagg())
        await site.later(30)
        assert await site.all(COMPONENTS) == {}
        await site.later(20)
        assert len(await site.all(DEPLOYMENTS)) == 3


async def test_a_restricted_reconciler_sees_to_its_own_namespace_alone() -> None:
    async with running(more="namespace: {restricted: demo}\n") as site:
        elsewhere = disagg("far")
        elsewhere["metadata"]["namespace"] = "elsewhere"
        await site.user.create(GRAPHS, elsewhere, "elsewhere")
        await site.make(disagg())
        assert {name for name in await site.all(COMPONENTS) if name.startswith("far")} == set()
        assert (await site.graph())["status"]["state"] == "successful"


async def test_nothing_is_done_until_the_claims_of_others_can_be_read() -> None:
    async with running() as site:
        site.cluster.denied |= {("list", "leases")}
        await site.user.create(GRAPHS, disagg(), NAMESPACE)
        for _ in range(20):
            await site.timing.advance(1.0)
        assert await site.all(COMPONENTS) == {}
        assert (await site.reconciler.details())[0].startswith("waiting: which namespaces other operators claim is not known")
