"""Graphs on a cluster in memory: what comes of them, and of what people do to it."""

from __future__ import annotations

from kube.resources import DEPLOYMENTS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, SERVICES
from reconciler.loop.kinds import COMPONENTS
from tests.reconciler.loop.site import disagg, running


async def test_a_graph_becomes_components_workloads_services_and_rights_and_its_status_says_when_all_is_ready() -> None:
    async with running() as site:
        await site.make(disagg())
        await site.rest()
        components, deployments = await site.all(COMPONENTS), await site.all(DEPLOYMENTS)
        assert len(components) == 3
        assert set(deployments) == set(components)
        assert set(await site.all(SERVICES)) == set(components)
        assert set(await site.all(SERVICE_ACCOUNTS)) == {"g-k8s-service-discovery"}  # no planner, hence none for a planner
        assert set(await site.all(ROLES)) == {"g-k8s-service-discovery-role"}
        assert set(await site.all(ROLE_BINDINGS)) == {"g-k8s-service-discovery-binding"}
        status = (await site.graph())["status"]
        assert status["state"] == "successful"
        assert status["observedGeneration"] == 1
        assert status["components"]["decode"] | {"componentNames": []} == {
            "componentKind": "Deployment",
            "componentNames": [],
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
        }
        assert (await site.condition())["reason"] == "all_resources_are_ready"


async def test_at_rest_nothing_is_written() -> None:
    async with running() as site:
        await site.make(disagg())
        await site.rest()
        before = len(site.cluster.writes)
        await site.later(120)
        assert {verb for verb, plural, _ in site.cluster.writes[before:] if plural != "leases"} == set()
