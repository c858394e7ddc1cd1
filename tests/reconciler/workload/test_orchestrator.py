"""Grove and LeaderWorkerSets come and go: what runs stays where it is until its owner asks for the other, and moves as a whole then."""

from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS, PODS, SERVICES
from dynamo_webhooks.reconciler.common.resources import CLIQUE_SETS, COMPONENTS, GRAPHS, LEADER_WORKER_SETS, STATEFUL_SETS
from dynamo_webhooks.reconciler.render.objects import make_reference
from dynamo_webhooks.reconciler.workload.orchestrator import choose_orchestrator, make_orchestrator_condition
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import GROVE_API, LWS_API, NAMESPACE, Site, disagg, draft, running
from tests.rows import run_each

GROVE, LWS = CLIQUE_SETS, LEADER_WORKER_SETS
GROUPS = {"grove": GROVE_API, "lws": LWS_API}
ENABLE = "nvidia.com/enable-grove"
NAMES_FOR_GROVE = "a-name-that-is-too-long-for-cliques-of-grove"


async def _serve(site: Site, name: str) -> None:
    site.serve(GROUPS[name])
    await site.later(40)


async def _withdraw(site: Site, group: str) -> None:
    site.cluster.served.pop(group)
    await site.later(40)


async def _say(site: Site, value: str | None, name: str = "g") -> None:
    patch: Node = {"metadata": {"annotations": {ENABLE: value}}}
    await site.patch(GRAPHS, name, patch)


async def test_graphs_that_run_stay_where_they_are_when_grove_appears() -> None:
    async with running() as site:
        for name in ("g", NAMES_FOR_GROVE):
            await site.make(disagg(name))
        before = {name: obj["metadata"]["uid"] for name, obj in (await site.all(DEPLOYMENTS)).items()}
        await _serve(site, "grove")
        for name in ("g", NAMES_FOR_GROVE):
            assert (await site.graph(name))["status"]["state"] == "successful"
        assert await site.all(GROVE) == {}
        await site.edit("g", 0, replicas=2)
        assert (await site.condition())["status"] == "True"
        assert {name: obj["metadata"]["uid"] for name, obj in (await site.all(DEPLOYMENTS)).items()} == before
        await site.make(disagg("new"))
        assert set(await site.all(GROVE)) == {"new"}  # what doesn't run yet is made there


async def test_a_graph_that_another_operator_runs_on_grove_is_not_made_a_second_time_without_grove() -> None:
    site = Site()
    await site.make(disagg())
    status = {"state": "successful", "components": {"decode": {"componentKind": "PodClique", "replicas": 2}}}
    await site.user.merge_patch(GRAPHS, "g", {"status": status}, NAMESPACE, subresource="status")
    async with site.running():
        await site.rest()
        assert await site.all(COMPONENTS) == {}
        assert await site.all(DEPLOYMENTS) == {}
        assert (await site.condition(kind="Orchestrator"))["reason"] == "GroveNotServed"
        await _say(site, "false")
        assert len(await site.all(DEPLOYMENTS)) == 3


async def test_a_set_that_was_made_beside_running_components_goes_again() -> None:
    """As earlier releases left it."""
    async with running(disagg()) as site:
        await _serve(site, "grove")
        metadata = {"labels": {"webhooks.nvidia.com/reconciled": "true"}, "ownerReferences": [make_reference(await site.graph())]}
        await site.create(GROVE, draft(GROVE, "g", metadata, spec={"template": {"cliques": []}}))
        assert await site.all(GROVE) == {}
        assert (await site.condition())["status"] == "True"
        assert len(await site.all(DEPLOYMENTS)) == 3


async def test_a_graph_moves_to_grove_and_back_without_asking_for_its_pods_twice() -> None:
    async with running(disagg()) as site:
        await _serve(site, "grove")
        service = (await site.all(SERVICES))["g-frontend"]["metadata"]["uid"]
        await site.add_pod("last", {"nvidia.com/dynamo-graph-deployment-name": "g"})  # it ends later than its owners
        await _say(site, "true")
        await site.later(5)
        assert await site.all(DEPLOYMENTS) == await site.all(COMPONENTS) == await site.all(GROVE) == {}
        assert "1 pods must end first, the oldest is last" in (await site.condition())["message"]
        assert (await site.graph())["status"]["state"] == "pending"
        await site.stop()  # the next process goes on where this one was
        site.start()
        await site.later(5)
        assert await site.all(GROVE) == {}
        await site.delete(PODS, "last", 5)
        assert set(await site.all(GROVE)) == {"g"}
        assert set(await site.all(SERVICES)) == {"g-frontend", "g-decode", "g-prefill"}
        assert (await site.condition(kind="Orchestrator"))["reason"] == "Grove"
        await _say(site, None)
        await site.later(5)
        assert set(await site.all(GROVE)) == {"g"}  # it stays there
        await site.add_pod("last", {"nvidia.com/dynamo-graph-deployment-name": "g"})
        await _say(site, "false")
        await site.later(5)
        assert await site.all(GROVE) == await site.all(COMPONENTS) == {}
        await site.delete(PODS, "last", 5)
        assert len(await site.all(DEPLOYMENTS)) == 3
        assert (await site.condition())["status"] == "True"
        metadata = (await site.all(SERVICES))["g-frontend"]["metadata"]
        assert metadata["uid"] == service
        assert [owner["kind"] for owner in metadata["ownerReferences"]] == ["DynamoComponentDeployment"]
        assert "g-decode" not in await site.all(SERVICES)


async def test_what_can_not_be_made_on_grove_goes_on_where_it_runs() -> None:
    async with running(disagg()) as site:
        await _serve(site, "grove")
        async with site.editing() as obj:
            obj["metadata"]["annotations"] = {ENABLE: "true"}
            obj["spec"]["components"][1]["multinode"] = {"nodeCount": 5000}
        assert (await site.graph())["status"]["state"] == "failed"
        assert len(await site.all(DEPLOYMENTS)) == 3


async def test_a_graph_on_grove_stays_there_when_the_api_vanishes_and_returns() -> None:
    async with running() as site:
        await _serve(site, "grove")
        await site.make(disagg())
        assert set(await site.all(GROVE)) == {"g"}
        await _withdraw(site, "grove.io")
        assert (await site.graph())["status"]["state"] == "pending"
        assert (await site.condition())["status"] == "Unknown"
        condition = await site.condition(kind="Orchestrator")
        assert (condition["status"], condition["reason"]) == ("False", "GroveNotServed")
        assert "is not served by the cluster, and is left alone" in condition["message"]
        await site.stop()
        site.start()
        await site.later(40)
        assert await site.all(COMPONENTS) == {}
        await _serve(site, "grove")
        await site.later(40)
        assert (await site.condition(kind="Orchestrator"))["status"] == "True"
        assert (await site.condition())["reason"] == "some_resources_are_not_ready"
        assert await site.all(COMPONENTS) == {}


async def test_replicas_of_several_nodes_go_on_when_no_more_can_be_made() -> None:
    async with running() as site:
        await _serve(site, "lws")
        frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
        await site.make(graph(frontend, vllm("decode", "decode", replicas=1, multinode={"nodeCount": 2})))
        [name] = await site.all(LWS)
        workers: Any = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"replicas": 1}}
        workers["metadata"] = {"name": f"{name}-0", "labels": {"leaderworkerset.sigs.k8s.io/name": name}}
        sets = STATEFUL_SETS
        await site.kubelet.create(sets, workers, NAMESPACE)
        await site.kubelet.merge_patch(sets, f"{name}-0", {"status": {"readyReplicas": 1}}, NAMESPACE, subresource="status")
        status = {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "conditions": [{"type": "Available", "status": "True"}]}
        await site.report(LWS, name, status)
        assert (await site.condition())["status"] == "True"
        await _withdraw(site, "scheduling.volcano.sh")
        await _serve(site, "grove")
        assert (await site.graph())["status"]["state"] == "successful"
        await site.edit("g", 0, replicas=2, seconds=5)
        assert (await site.all(DEPLOYMENTS))["g-frontend"]["spec"]["replicas"] == 2
        assert (await site.graph())["status"]["state"] == "successful"
        assert set(await site.all(LWS)) == {name}
        assert await site.all(GROVE) == {}


@run_each(("served", "why"), [(True, "is switched off"), (False, "is not served by the cluster")])
def test_a_graph_on_grove_that_is_lost_says_why(why: str, *, served: bool) -> None:
    owned: Any = {"kind": "PodCliqueSet", "metadata": {"name": "g"}}
    way = choose_orchestrator({"metadata": {}}, [owned], usable=False, served=served)
    condition = make_orchestrator_condition(way, {"metadata": {"generation": 1}})
    assert condition is not None
    assert f"the graph runs on Grove, which {why}, and is left alone" in condition.message
