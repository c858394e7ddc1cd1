"""Generations of workers: one comes up before the other goes, whatever happens meanwhile."""

import random
from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS, PODS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, GRAPHS, WORKER_METADATA
from dynamo_webhooks.reconciler.common.workers import components_of_worker, count_registered
from dynamo_webhooks.reconciler.graph.generations import Roll, plan_roll
from dynamo_webhooks.reconciler.graph.report import report
from dynamo_webhooks.reconciler.graph.values import GraphPlan, GraphResult, GraphState
from dynamo_webhooks.reconciler.render.generation import WorkerDigests
from dynamo_webhooks.reconciler.render.graph import read_graph
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.kube.storage import START
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import NAMESPACE, Site, disagg, running
from tests.rows import run_each


async def _available(site: Site, component: str) -> int:
    """Pods of a component that serve now, of both generations."""
    live = await site.all(DEPLOYMENTS)
    return sum(obj["status"]["availableReplicas"] for name, obj in live.items() if name.startswith(f"g-{component}-") and "status" in obj)


async def _change(site: Site, argument: str, replicas: int = 4) -> None:
    async with site.editing() as obj:
        obj["spec"]["components"][1:] = [vllm(name, name, args=(argument,), replicas=replicas) for name in ("decode", "prefill")]


async def test_the_new_generation_is_there_before_the_old_goes_and_capacity_is_never_lost() -> None:
    async with running(disagg(replicas=4)) as site:
        old, seen = set(await site.workers()), set()
        site.settled = set(await site.all(DEPLOYMENTS))
        site.newcomers = 0
        await _change(site, "--new")
        for _ in range(6):  # pods of the new generation become ready one by one
            await site.rest()
            for component in ("decode", "prefill"):
                assert await _available(site, component) >= 3  # of four, a quarter may be missing
            status = (await site.graph())["status"]
            seen.add((status["state"], status.get("rollingUpdate", {}).get("phase")))
            if not old & set(await site.workers()):
                break
            site.newcomers += 1
        assert ("pending", "InProgress") in seen
        assert (await site.graph())["status"]["rollingUpdate"]["phase"] == "Completed"
        assert (await site.graph())["status"]["rollingUpdate"]["updatedComponents"] == ["decode", "prefill"]
        assert (await site.condition())["status"] == "True"
        assert sorted((await site.workers()).values()) == [4, 4]
        assert {"RollingUpdateStarted", "RollingUpdateCompleted"} <= set(await site.reasons())


async def test_a_generation_that_never_becomes_ready_leaves_the_old_one_serving() -> None:
    async with running(disagg(replicas=4)) as site:
        old = set(await site.workers())
        site.settled = set(await site.all(DEPLOYMENTS))
        site.newcomers = 0
        await _change(site, "--broken")
        assert await _available(site, "decode") == 3
        async with site.editing() as obj:
            obj["spec"]["components"] = disagg(replicas=4)["spec"]["components"]
        assert set(await site.workers()) == old
        assert (await site.condition())["status"] == "True"


async def _serving(site: Site) -> dict[str, tuple[int, int]]:
    """Available decode and prefill pods of each generation."""
    live = await site.all(DEPLOYMENTS)
    out: dict[str, tuple[int, int]] = {}
    for name, obj in live.items():
        _, component, *generation = name.split("-")
        if generation:
            count = int((obj.get("status") or {}).get("availableReplicas", 0))
            decode, prefill = out.get(generation[0], (0, 0))
            out[generation[0]] = (count, prefill) if component == "decode" else (decode, count)
    return out


async def test_when_only_one_kind_of_the_new_workers_comes_up_the_old_ones_stay_together() -> None:
    async with running(disagg(replicas=4)) as site:
        [old] = await _serving(site)
        known = set(await site.all(DEPLOYMENTS))
        site.settled, site.newcomers = known, 0
        await _change(site, "--broken")
        site.settled |= {name for name in await site.all(DEPLOYMENTS) if "prefill" in name}  # only the new decode is broken
        await site.rest()
        assert (await _serving(site))[old] == (3, 3)  # of four, a quarter may be missing
        await _change(site, "--better")  # a second change: the broken generation goes, not the one that serves
        assert (await _serving(site))[old] == (3, 3)
        site.newcomers = None
        await site.rest()
        assert [*(await _serving(site)).values()] == [(4, 4)]
        assert (await site.condition())["status"] == "True"


async def test_a_worker_of_another_name_replaces_the_old_one_when_it_is_ready() -> None:
    async with running(disagg()) as site:
        old = set(await site.workers())
        site.settled, site.newcomers = set(await site.all(DEPLOYMENTS)), 0
        async with site.editing() as obj:
            obj["spec"]["components"][2]["name"] = "other"
        [prefill] = [name for name in old if "prefill" in name]
        assert (await site.workers())[prefill] == 2
        assert await _available(site, "decode") == 2
        site.newcomers = None
        await site.rest()
        assert not old & set(await site.workers())
        assert (await site.condition())["status"] == "True"


async def test_the_rights_of_old_pods_stay_until_they_have_ended() -> None:
    async with running(disagg()) as site:
        account = "g-k8s-service-discovery"
        site.settled, site.newcomers = set(await site.all(DEPLOYMENTS)), 0
        await site.add_pod("old", {"nvidia.com/dynamo-graph-deployment-name": "g"}, spec={"serviceAccountName": account})
        await site.patch(GRAPHS, "g", {"metadata": {"annotations": {"nvidia.com/dynamo-discovery-backend": "etcd"}}})
        assert account in await site.all(SERVICE_ACCOUNTS)  # while the old generation serves
        site.newcomers = None
        await site.rest()
        assert (await site.graph())["status"]["rollingUpdate"]["phase"] == "Completed"
        await site.later(10)
        assert account in await site.all(SERVICE_ACCOUNTS)  # while a pod ends
        assert set(await site.all(ROLES)) == {f"{account}-role"}
        assert set(await site.all(ROLE_BINDINGS)) == {f"{account}-binding"}
        await site.delete(PODS, "old", 10)
        assert await site.all(SERVICE_ACCOUNTS) == await site.all(ROLES) == await site.all(ROLE_BINDINGS) == {}


async def test_what_is_no_part_of_a_workers_pods_rolls_nothing() -> None:
    async with running(disagg()) as site:
        old = set(await site.workers())
        await site.edit("g", 1, replicas=3)
        async with site.editing() as obj:
            obj["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["image"] = "img:2"
        assert set(await site.workers()) == old
        assert sorted((await site.workers()).values()) == [2, 3]
        assert "rollingUpdate" not in (await site.graph())["status"]


async def _scenario(site: Site) -> None:
    """Everything that happens to one graph: made, rolled, scaled."""
    await site.make(disagg())
    await _change(site, "--new", replicas=2)
    await site.edit("g", 0, replicas=2)


async def _undisturbed() -> tuple[dict[str, Any], int]:
    async with running() as site:
        await _scenario(site)
        return site.shape(), len(site.cluster.writes)


async def _killed_at(number: int) -> dict[str, Any]:
    """The same, but the process is killed when it is about to make its so-manieth write, and another begins."""
    async with running() as site:
        site.kill_at(number)
        await _scenario(site)
        assert site.lives == 2
        return site.shape()


async def test_killed_at_any_write_it_ends_in_the_same_state() -> None:
    wanted, writes = await _undisturbed()
    assert writes > 40
    chosen = random.Random(8).sample(range(2, writes - 1), 20)  # noqa: S311 - where it is killed, the same each time
    for number in sorted(chosen):
        assert await _killed_at(number) == wanted, f"killed at write {number}"


def test_whoever_finds_a_roll_to_be_over_tells_of_all_workers() -> None:
    before = {"rollingUpdate": {"phase": "InProgress", "startTime": "2030-01-01T00:00:00Z", "updatedComponents": ["decode"]}}
    status = report(GraphState(read_graph(disagg() | {"status": before}, line=Line.V1_2)), GraphPlan(Roll("new")), GraphResult(), START)
    assert status["rollingUpdate"] == {
        "phase": "Completed",
        "startTime": "2030-01-01T00:00:00Z",
        "endTime": "2030-01-01T00:00:00Z",
        "updatedComponents": ["decode", "prefill"],
    }


async def test_a_new_generation_begins_with_the_mark_of_the_last_restart() -> None:
    """Were the mark set when the roll is over, every worker would start twice."""
    async with running(disagg()) as site:
        await site.patch(GRAPHS, "g", {"spec": {"restart": {"id": "r1", "strategy": {"type": "Parallel"}}}})
        assert (await site.graph())["status"]["restart"] == {"observedID": "r1", "phase": "Completed"}
        old = set(await site.all(DEPLOYMENTS))
        site.settled, site.newcomers = old, 0
        await _change(site, "--new", replicas=2)
        begun = await _templates(site)
        assert len(begun.keys() - old) == 2
        assert {template["metadata"]["annotations"]["nvidia.com/restartAt"] for template in begun.values()} == {"r1"}
        site.newcomers = None
        await site.rest()
        assert await _templates(site) == {name: template for name, template in begun.items() if name not in old or name == "g-frontend"}


async def _templates(site: Site) -> dict[str, Any]:
    return {name: obj["spec"]["template"] for name, obj in (await site.all(DEPLOYMENTS)).items()}


async def test_a_frontend_with_a_label_of_generations_is_of_none() -> None:
    async with running() as site:
        made = disagg()
        made["spec"]["components"][0]["podTemplate"]["metadata"] = {"labels": {"nvidia.com/dynamo-worker-hash": "deadbeef"}}
        made["spec"]["restart"] = {"id": "r1"}
        await site.make(made)
        uid = (await site.all(COMPONENTS))["g-frontend"]["metadata"]["uid"]
        await site.edit("g", 1, sharedMemorySize="1Gi")
        status = (await site.graph())["status"]
        assert (status["state"], status["rollingUpdate"]["phase"]) == ("successful", "Completed")
        assert status["restart"]["phase"] == "Completed"
        assert (await site.all(COMPONENTS))["g-frontend"]["metadata"]["uid"] == uid


async def test_a_roll_whose_new_pods_are_refused_says_so() -> None:
    async with running(disagg()) as site:
        old = {*await site.all(DEPLOYMENTS)}

        def refuse(verb: str, resource: Resource | None, _namespace: str, name: str) -> Exception | None:
            new = (verb, resource) == ("apply", DEPLOYMENTS) and name not in old
            return ForbiddenError(403, "Forbidden", "exceeded quota") if new else None

        mend = site.cluster.fail(refuse)
        await _change(site, "--new", 2)
        await site.later(5)
        ready = await site.condition()
        assert (ready["reason"], ready["message"].partition("; ")[0]) == ("rolling_update_in_progress", "Rolling update in progress")
        assert ready["message"].count("exceeded quota") == 2
        mend()
        await site.later(130)
        assert (await site.condition())["status"] == "True"


NEW = WorkerDigests("new", "new")


def _registered(pod: str, owner: str = "") -> Node:
    metadata: Node = {"name": pod, "namespace": NAMESPACE}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": "u"}]
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoWorkerMetadata", "metadata": metadata, "spec": {"data": {}}}


def test_workers_are_counted_by_their_pods() -> None:
    workers = [
        _registered("g-w-1-5d4f-x2z"),
        _registered("any", "g-w-1-5d4f-x3z"),
        _registered("more", "g-w-1-5d4f-x3z"),
        _registered("l-0-1"),
    ]
    assert count_registered(workers, ["g-w-1", "g-w-2", "l"]) == {"g-w-1": 2, "l": 1}
    assert Key("DynamoComponentDeployment", NAMESPACE, "g-w-1") in components_of_worker(workers[0])


def _object(generation: str, replicas: int, available: int) -> Node:
    labels = {"nvidia.com/dynamo-worker-hash": generation, "nvidia.com/dynamo-component": "worker"}
    status: Node = {"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}
    status["component"] = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}
    metadata = {"name": f"g-worker-{generation}", "labels": labels, "generation": 1}
    return {"metadata": metadata, "spec": {"name": "worker", "type": "worker", "replicas": replicas}, "status": status}


@run_each(
    ("registered", "left"),
    [
        ({}, 0),  # nobody knows any worker: discovery is by other means
        ({"g-worker-old": 2, "g-worker-new": 2}, 0),
        ({"g-worker-old": 2, "g-worker-new": 1}, 1),
        ({"g-worker-old": 2}, 2),
        ({"g-worker-new": 1}, 0),  # discovery has changed: older workers were never known
    ],
)
def test_an_old_worker_goes_when_a_new_one_is_known(registered: dict[str, int], left: int) -> None:
    obj = graph(vllm("worker", replicas=2, podTemplate=_template("0%")))
    roll = plan_roll(read_graph(obj, Settings().line), NEW, [_object("old", 2, 2), _object("new", 2, 2)], registered)
    assert [wanted for _, wanted in roll.resized] == ([left] if left != 2 else [])


@run_each(("registered", "retired"), [({}, 1), ({"g-worker-old": 1}, 0), ({"g-worker-old": 1, "g-worker-new": 1}, 1)])
def test_an_old_generation_of_several_nodes_goes_when_the_new_one_is_known(registered: dict[str, int], retired: int) -> None:
    obj = graph(vllm("worker", replicas=1, multinode={"nodeCount": 2}))
    roll = plan_roll(read_graph(obj, Settings().line), NEW, [_object("old", 1, 1), _object("new", 1, 1)], registered)
    assert len(roll.retired) == retired


def _template(unavailable: str) -> dict[str, Any]:
    made: dict[str, Any] = vllm("worker")["podTemplate"]
    return {**made, "metadata": {"annotations": {"nvidia.com/deployment-rolling-update-max-unavailable": unavailable}}}


async def test_a_roll_waits_for_the_registration_of_new_workers() -> None:
    async with running(graph(vllm("worker", replicas=1))) as site:
        [before] = await site.workers()
        await site.user.create(WORKER_METADATA, _registered(f"{before}-5d4f-aaaaa"), NAMESPACE)
        async with site.editing() as obj:
            obj["spec"]["components"] = [vllm("worker", args=("--new",), replicas=1)]
        [after] = {*await site.workers()} - {before}
        assert (await site.workers()).get(before) == 1, "the new worker's pod is ready, and no frontend knows it"
        assert (await site.graph())["status"]["state"] == "pending"
        await site.create(WORKER_METADATA, _registered(f"{after}-6e5f-bbbbb"))
        assert before not in await site.workers()
        assert (await site.condition())["status"] == "True"
