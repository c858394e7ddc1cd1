"""Pods on Grove that have ended: engines are replaced by whole groups, others alone, and who may not do so says what to do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import PODS
from dynamo_webhooks.reconciler.common.resources import CLIQUE, CLIQUE_GROUP, CLIQUE_SETS, resource_of
from dynamo_webhooks.reconciler.engine.retries import FIRST_PAUSE_SECONDS, MAX_RETRY_SECONDS, TRY_MEMORY_SECONDS, Retries
from dynamo_webhooks.reconciler.graph.ended_pods import GROUP, INDEX, REPLICA, explain_missing_engines
from dynamo_webhooks.reconciler.render.names import ENGINE_GROUP
from dynamo_webhooks.reconciler.render.objects import make_reference
from tests.cluster.reconciler.grove import make_below, make_members
from tests.kube.timing import Timing
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import GROVE_API, NAMESPACE, Site, running
from tests.rows import run_each

GROVE = CLIQUE_SETS
CLIQUES, GROUPS = (resource_of({"apiVersion": "grove.io/v1alpha1", "kind": kind}) for kind in (CLIQUE, CLIQUE_GROUP))
FAILOVER: Node = {"gpuMemoryService": {"mode": "InterPod"}, "failover": {"mode": "InterPod", "numShadows": 1}}
ENGINES = {f"g-0-w-0-{clique}-{index}" for clique in ("w-ldr", "w-wkr-1") for index in (0, 1)}


class Cluster:
    """A graph `g` of workers `w` and `plain` on Grove, whose pods all run."""

    def __init__(self, site: Site) -> None:
        self.site = site

    async def make(self) -> None:
        """Makes everything, as Grove does."""
        live = await self.site.get(GROVE, "g")
        templates = {clique["name"]: clique for clique in live["spec"]["template"]["cliques"]}
        for obj in make_below(live):
            made = await self._make(obj)
            for member in make_members(made, templates) if obj["kind"] == CLIQUE_GROUP else ():
                await self._make(member)
        status = {"observedGeneration": live["metadata"]["generation"], "updatedReplicas": 1}
        await self.site.report(GROVE, "g", status)

    async def pod(self, clique: Node, index: int, **labels: str) -> None:
        """Makes a pod that runs."""
        owner = make_reference({"apiVersion": "grove.io/v1alpha1", "kind": CLIQUE, **clique})
        labels = {**clique["metadata"]["labels"], INDEX: str(index), **labels}
        name, metadata = f"{clique['metadata']['name']}-{index}", {"ownerReferences": [owner]}
        await self.site.add_pod(name, labels, {"phase": "Running"}, metadata=metadata)

    async def end(self, name: str, phase: str = "Failed", **status: Any) -> None:
        """Ends a pod."""
        await self.site.report(PODS, name, {"phase": phase, **status})

    async def again(self, *names: str) -> None:
        """Makes pods anew, as Grove does."""
        for name in names:
            clique, _, index = name.rpartition("-")
            await self.pod(await self.site.get(CLIQUES, clique), int(index))
        await self.site.rest()

    async def pods(self) -> set[str]:
        """The names of all pods."""
        return {*await self.site.all(PODS)}

    async def ready(self) -> tuple[str, str]:
        """Whether the graph is ready, and why."""
        condition = await self.site.condition()
        return condition["status"], condition["message"]

    async def _make(self, wanted: Node) -> Node:
        resource, serving = (GROUPS, "availableReplicas") if wanted["kind"] == CLIQUE_GROUP else (CLIQUES, "readyReplicas")
        made = await self.site.kubelet.create(resource, wanted, NAMESPACE)
        figures = dict.fromkeys(("replicas", "updatedReplicas", serving), made["spec"]["replicas"])
        status = {"status": {"observedGeneration": made["metadata"]["generation"], **figures}}
        await self.site.kubelet.merge_patch(resource, made["metadata"]["name"], status, NAMESPACE)
        for index in range(made["spec"]["replicas"]) if resource is CLIQUES else ():
            await self.pod(made, index)
        return made


@asynccontextmanager
async def _running(*denied: tuple[str, str]) -> AsyncIterator[Cluster]:
    wide = vllm("w", experimental=FAILOVER, replicas=1, multinode={"nodeCount": 2})
    obj = graph(wide, vllm("plain", replicas=3), backendFramework="vllm")
    async with running(obj, served=GROVE_API, denied=denied) as site:
        cluster = Cluster(site)
        await cluster.make()
        assert await cluster.ready() == ("True", "All resources are ready")
        assert await cluster.pods() >= ENGINES
        yield cluster


@run_each(("phase", "why"), [("Failed", "Failed: OOMKilled"), ("Succeeded", "Succeeded: OOMKilled")])
async def test_an_engine_that_ends_takes_its_group_along(phase: str, why: str) -> None:
    async with _running() as cluster:
        before = await cluster.pods()
        await cluster.end("g-0-w-0-w-wkr-1-1", phase, reason="OOMKilled")
        gone = {"g-0-w-0-w-ldr-1", "g-0-w-0-w-wkr-1-1"}
        assert await cluster.pods() == before - gone
        status, message = await cluster.ready()
        assert status == "False"
        assert f"podclique/g-0-w-0-w-ldr: desired=2, running=1; replaced since pod g-0-w-0-w-wkr-1-1 ended: {why}" in message
        assert "FailoverCascade" in await cluster.site.reasons()
        await cluster.again(*gone)
        assert await cluster.ready() == ("True", "All resources are ready")
        assert await cluster.site.writes_within(120) == []


async def test_a_group_that_ends_again_and_again_is_replaced_later_and_later() -> None:
    async with _running() as cluster:
        gone = ("g-0-w-0-w-ldr-0", "g-0-w-0-w-wkr-1-0")
        for _ in range(2):
            await cluster.end(gone[0])
            await cluster.site.later(FIRST_PAUSE_SECONDS)
            await cluster.again(*gone)
        await cluster.end(gone[0])
        assert {*gone} <= await cluster.pods()
        assert (
            "pod/g-0-w/0/0: pod g-0-w-0-w-ldr-0 ended: Failed; it ended 3 times in a row, and is replaced after 20 s"
            in (await cluster.ready())[1]
        )
        await cluster.site.later(2 * FIRST_PAUSE_SECONDS)
        assert not {*gone} & await cluster.pods()


async def test_a_failed_pod_of_any_clique_is_replaced_alone() -> None:
    async with _running() as cluster:
        before = await cluster.pods()
        await cluster.end("g-0-plain-1", reason="Evicted", message="The node was low on resource: memory")
        assert await cluster.pods() == before - {"g-0-plain-1"}
        assert ("g", "PodReplaced") in [event[:2] for event in await cluster.site.events()]
        await cluster.end("g-0-plain-2", "Succeeded")
        assert "g-0-plain-2" in await cluster.pods()


async def test_who_may_not_delete_pods_says_what_does_it() -> None:
    async with _running(("delete", "pods")) as cluster:
        before = await cluster.pods()
        await cluster.end("g-0-plain-1", reason="Evicted", message="The node was low on resource: memory")
        await cluster.end("g-0-w-0-w-ldr-1")
        assert await cluster.pods() == before
        status, message = await cluster.ready()
        assert status == "False"
        assert (
            "pod/g-0-plain/1: pod g-0-plain-1 ended: Failed: Evicted: The node was low on resource: memory; Grove does not replace it: "
            "kubectl delete pod -n demo g-0-plain-1, or add manifests/components/pod-replacement"
        ) in message
        labels = f"nvidia.com/dynamo-failover-engine-group-member=true,{GROUP}=g-0-w,{REPLICA}=0,{INDEX}=1"
        assert f"kubectl delete pod -n demo -l {labels}, or add" in message
        assert "delete" not in [verb for verb, plural, _ in cluster.site.cluster.writes if plural == "pods"]


async def test_pods_that_no_clique_of_the_graph_controls_are_left_alone() -> None:
    async with _running() as cluster:
        owner = (await cluster.site.graph())["metadata"]["uid"]
        stranger: Any = {"metadata": {"name": "g-0-w-0-w-ldr", "uid": owner, "labels": {}}}
        labels = {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-failover-engine-group-member": "true"}
        await cluster.pod(stranger, 7, **labels, **{GROUP: "g-0-w", REPLICA: "0", INDEX: "1"})
        await cluster.end("g-0-w-0-w-ldr-7")
        await cluster.end("g-0-w-0-w-ldr-1")
        assert "g-0-w-0-w-ldr-7" in await cluster.pods()
        assert "g-0-w-0-w-wkr-1-1" not in await cluster.pods()


async def test_a_group_that_was_not_deleted_as_a_whole_is_deleted_by_the_next_pass() -> None:
    async with _running() as cluster:
        failed: list[str] = []

        def fault(verb: str, resource: Any, _namespace: str, name: str) -> Exception | None:
            if verb == "delete" and resource.plural == "pods" and len(failed) < 2:
                failed.append(name)
                return UnavailableError(500, "", "no leader") if len(failed) == 2 else None
            return None

        cluster.site.cluster.fail(fault)
        await cluster.end("g-0-w-0-w-ldr-1")
        await cluster.site.later(2)
        assert failed == ["g-0-w-0-w-wkr-1-1", "g-0-w-0-w-ldr-1"]
        assert not {*failed} & await cluster.pods()


async def test_tries_are_forgotten_after_a_calm() -> None:
    timing = Timing()
    retries, name = Retries(timing.clock), ("n", "a")
    assert retries.left(name) == 0
    pauses = []
    for _ in range(7):
        retries.note(name, "it ended")
        pauses.append(retries.left(name))
        await timing.advance(retries.left(name))
        assert retries.left(name) == 0
    assert pauses == [FIRST_PAUSE_SECONDS, 20, 40, 80, 160, MAX_RETRY_SECONDS, MAX_RETRY_SECONDS]
    assert retries.find(name).why == "it ended"
    await timing.advance(TRY_MEMORY_SECONDS)
    assert retries.find(name).times == 0


def test_a_clique_of_any_size_costs_no_more_than_its_pods() -> None:
    """A user who may scale a PodClique may write any number."""
    clique = {"metadata": {"name": "c", "labels": {ENGINE_GROUP: "true", GROUP: "g", REPLICA: "0"}}, "spec": {"replicas": 2**31 - 1}}
    why = "pod p ended: Error"
    missing = explain_missing_engines([(clique, [])], lambda place: why if place[-1] == "3" else "")
    assert missing == {"podclique/c": f"desired=2147483647, running=0; replaced since {why}"}
