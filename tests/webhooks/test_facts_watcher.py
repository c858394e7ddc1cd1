"""What the watching process reports: leases, topologies and API groups as they come and go, and a cluster that can't be reached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.operator.scope import ScopeSettings
from dynamo_webhooks.kube.errors import ForbiddenError, NotServedError, UnavailableError
from dynamo_webhooks.kube.resources import LEASES, TOPOLOGIES, TOPOLOGY_BINDINGS, Resource
from dynamo_webhooks.kube.scope import LEASE_NAME
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.cluster.watcher import REPORT_SECONDS, Watcher
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing, beside, settle
from tests.webhooks.requests import GRAPHS, graph, review

WIDE: Final = ScopeSettings(restricted="", lease=30, renew=10, grace=10, max_skew=60)
TOLD: Final[dict[str, Any]] = {
    "operatorScope": "cluster",
    "operatorVersion": "1.2.0",
    "operatorPrincipal": "",
    "gpuDiscovery": True,
    "allowGmsSnapshot": False,
}
V1: Final = frozenset({"v1"})


class World:
    """A cluster in memory, its watcher, and what that reported."""

    def __init__(self, scope: ScopeSettings = WIDE, stated: dict[str, Any] | None = None, **served: frozenset[str]) -> None:
        self.clock = Timing()
        groups = {name.replace("_", "."): versions for name, versions in served.items()}
        self.cluster = MemoryCluster(served={"apps": V1, **groups})
        self.reports: list[dict[str, Any]] = []
        self.watcher = Watcher(self.cluster, scope, TOLD if stated is None else stated, self.reports.append, self.clock.clocks())

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = self.reports[-1]["facts"]
        return facts

    @property
    def stale(self) -> dict[str, float | None]:
        stale: dict[str, float | None] = self.reports[-1]["stale"]
        return stale

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        async with beside(self.watcher.run()):
            yield self

    async def claim(self, namespace: str) -> None:
        """Writes a Lease, or renews it."""
        stamp = self.clock.now().isoformat(timespec="microseconds").replace("+00:00", "Z")
        spec = {"holderIdentity": "namespace-restricted-operator-1.2.0", "leaseDurationSeconds": 30, "renewTime": stamp}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": LEASE_NAME, "namespace": namespace},
            "spec": spec,
        }
        await self.cluster.apply(LEASES, lease, manager="holder", force=True)
        await settle()

    def break_calls(self, error: Exception, *resources: Resource | None) -> Callable[[], None]:
        """Makes calls about some resources fail (None: about groups), or all calls."""
        return self.cluster.fail(lambda _verb, resource, _namespace, _name: error if not resources or resource in resources else None)

    def settings(self) -> Settings:
        return Settings(facts_from(self.facts))


DOWN: Final = UnavailableError(0, "", "connection refused")


def said(settings: Settings, path: str, obj: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = orjson.loads(answer(ROUTES[path], review(obj), settings).body)["response"]
    return response


async def test_the_first_report_is_whole() -> None:
    async with World(grove_io=frozenset({"v1alpha1"}), resource_k8s_io=frozenset({"v1beta1"})).running() as world:
        [first] = world.reports
        assert first["facts"] == {
            **TOLD,
            "grove": True,
            "inferencePool": False,
            "dra": False,  # only v1 counts
            "lws": False,
            "istio": False,
            "clusterTopologies": {},
            "excludedNamespaces": [],
        }
        assert first["refused"] == ""
        assert set(first["stale"]) == {"scope_watch", "topology_watch", "api_groups"}


async def test_a_claimed_namespace_is_excluded_while_its_holder_lives() -> None:
    """T22, T24."""
    async with World().running() as world:
        await world.claim("a")
        assert world.facts["excludedNamespaces"] == ["a"]
        for _ in range(12):
            await world.clock.advance(10)
            await world.claim("a")
            assert world.facts["excludedNamespaces"] == ["a"]
        await world.clock.advance(39)
        assert world.facts["excludedNamespaces"] == ["a"]
        await world.clock.advance(2)
        assert world.facts["excludedNamespaces"] == []
        await world.claim("a")
        await world.cluster.delete(LEASES, LEASE_NAME, "a")
        await settle()
        assert world.facts["excludedNamespaces"] == []


async def test_topologies_come_and_go_with_grove() -> None:
    world = World()
    mend = world.break_calls(NotServedError(404, "NotFound", "the server could not find the requested resource"), TOPOLOGIES)
    async with world.running():
        assert (world.facts["grove"], world.facts["clusterTopologies"]) == (False, None)
        mend()
        world.cluster.served["grove.io"] = frozenset({"v1alpha1"})
        levels = [{"domain": "zone", "key": "a"}, {"domain": "rack", "key": "b"}, {"key": "no domain"}]
        topology = {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "t"}, "spec": {"levels": levels}}
        await world.cluster.create(TOPOLOGIES, topology)
        await world.clock.advance(70)
        assert (world.facts["grove"], world.facts["clusterTopologies"]) == (True, {"t": ["zone", "rack"]})
        topology["spec"] = {"levels": [{"domain": "rack", "key": "b"}]}
        await world.cluster.apply(TOPOLOGIES, topology, manager="somebody", force=True)
        await settle()
        assert world.facts["clusterTopologies"] == {"t": ["rack"]}
        del world.cluster.served["grove.io"]
        await world.clock.advance(70)
        assert (world.facts["grove"], world.facts["clusterTopologies"]) == (False, None)


async def test_on_line_1_5_bindings_hold_the_topologies() -> None:
    world = World(stated={**TOLD, "operatorVersion": "1.5.0"}, grove_io=V1)
    world.cluster.served["grove.io"] = frozenset({"v1alpha1"})
    for resource, domain in ((TOPOLOGIES, "zone"), (TOPOLOGY_BINDINGS, "rack")):
        metadata = {"name": "t"}
        obj = {"apiVersion": "grove.io/v1alpha1", "kind": resource.kind, "metadata": metadata, "spec": {"levels": [{"domain": domain}]}}
        await world.cluster.create(resource, obj)
    async with world.running():
        assert world.facts["clusterTopologies"] == {"t": ["rack"]}


async def test_topologies_that_may_not_be_read_are_unknown_and_only_their_rules_refuse() -> None:
    world = World(grove_io=frozenset({"v1alpha1"}))
    world.break_calls(ForbiddenError(403, "Forbidden", "clustertopologies is forbidden"), TOPOLOGIES)
    async with world.running():
        assert "clusterTopologies" not in world.facts
        assert world.stale["topology_watch"] is None
        plain = graph()
        assert said(world.settings(), GRAPHS, plain)["allowed"]
        plain["spec"]["topologyConstraint"] = {"topologyProfile": "t", "packDomain": "rack"}
        response = said(world.settings(), GRAPHS, plain)
        assert not response["allowed"]
        assert "the fact clusterTopologies is not known" in response["status"]["message"]


async def test_a_cluster_that_was_never_reached_leaves_facts_unknown_until_it_is() -> None:
    world = World()
    mend = world.break_calls(DOWN)
    async with world.running():
        await world.clock.advance(1)
        assert world.facts == TOLD
        assert set(world.stale.values()) == {None}
        assert said(world.settings(), GRAPHS, graph())["allowed"]
        picker = graph()
        picker["spec"]["services"]["picker"] = {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}
        assert "the fact inferencePool is not known" in said(world.settings(), GRAPHS, picker)["status"]["message"]
        mend()
        world.cluster.served["inference.networking.k8s.io"] = V1
        await world.clock.advance(70)
        assert world.facts["inferencePool"] is True
        assert said(world.settings(), GRAPHS, picker)["allowed"]


async def test_what_was_known_stays_while_the_cluster_is_down() -> None:
    world = World(grove_io=frozenset({"v1alpha1"}))
    async with world.running():
        await world.claim("a")
        known = world.facts
        assert known["excludedNamespaces"] == ["a"]
        mend = world.break_calls(DOWN)
        await world.cluster.break_watches()
        await world.clock.advance(300)
        assert world.facts == known
        ages = [world.stale[name] for name in ("scope_watch", "topology_watch", "api_groups")]
        assert all(age is not None and age > 200 for age in ages)
        mend()
        await world.clock.advance(35)
        assert world.facts == known  # what was left of the claim goes on only now
        await world.clock.advance(45)
        assert world.facts["excludedNamespaces"] == []


async def test_an_absent_kind_and_a_cluster_that_is_down_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A cluster without Grove is none to be warned of."""
    caplog.set_level("INFO", "kube")
    world = World()
    world.break_calls(NotServedError(404, "NotFound", "no such kind"), TOPOLOGIES)
    world.break_calls(DOWN, None)
    async with world.running():
        await world.clock.advance(600)
    assert sorted((record.levelname, record.getMessage()) for record in caplog.records) == [
        ("INFO", "watching clustertopologies: no such kind"),
        ("WARNING", "which optional APIs there are can't be asked: connection refused"),
    ]


async def test_a_report_comes_now_and_then_even_when_nothing_changes() -> None:
    async with World().running() as world:
        await world.clock.advance(REPORT_SECONDS * 3 + 1)
        assert len(world.reports) in (4, 5)
        assert all(report["facts"] == world.facts for report in world.reports)


async def test_what_the_configuration_says_wins_and_a_missing_api_group_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with World(stated={**TOLD, "grove": True, "dra": False}, resource_k8s_io=V1).running() as world:
        assert (world.facts["grove"], world.facts["dra"]) == (True, False)
        await world.clock.advance(130)
    messages = [record.getMessage() for record in caplog.records if record.name == "webhooks.cluster"]
    assert messages == ["switched on by the configuration, but its API group is not served: grove"]


async def test_a_restricted_operator_asks_nobody_about_claims() -> None:
    scope = ScopeSettings("a", 30, 10, 10, 60)
    world = World(scope, {**TOLD, "operatorScope": "namespace", "excludedNamespaces": []})
    plurals: list[str] = []
    world.cluster.fail(lambda _verb, resource, _namespace, _name: plurals.append(resource.plural if resource else ""))
    async with world.running():
        await world.claim("a")
        assert world.facts["excludedNamespaces"] == []
        assert plurals.count("leases") == 1  # the holder's own write
        world.watcher.refused = "claimed by somebody else"
        await world.clock.advance(1)
        assert world.reports[-1]["refused"] == "claimed by somebody else"
