"""Graphs on Grove: one object for all components, which restart one after the other and only when they are asked to."""

from contextlib import AbstractAsyncContextManager

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.kube.errors import InvalidError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import QUEUES
from dynamo_webhooks.policies.no_effect import KAI_QUEUE
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.problems import SLOW_RETRY_SECONDS
from dynamo_webhooks.reconciler.common.resources import CLIQUE, CLIQUE_SETS, resource_of
from dynamo_webhooks.reconciler.engine.write import MAX_REPAIRS
from dynamo_webhooks.reconciler.graph.clique_set import align_with_live
from dynamo_webhooks.reconciler.graph.clique_status import explain_not_ready
from dynamo_webhooks.reconciler.render.graph import read_graph
from dynamo_webhooks.reconciler.render.grove.member import QUEUE
from dynamo_webhooks.reconciler.render.objects import make_reference
from tests.cluster.reconciler.grove import make_below
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import GROVE_API, NAMESPACE, Site, draft, running, settings
from tests.rows import run_each

GROVE = CLIQUE_SETS
CLIQUES = resource_of({"apiVersion": "grove.io/v1alpha1", "kind": CLIQUE})
RESTART_AT = "nvidia.com/restartAt"


def _started() -> AbstractAsyncContextManager[Site]:
    return running(graph(component("fe", "frontend", {"image": "img:1"}, replicas=1), vllm("w", replicas=1)), served=GROVE_API)


async def _ask(site: Site, **restart: str) -> None:
    async with site.editing() as obj:
        obj["spec"].pop("restart", None)
        obj["spec"] |= {"restart": restart} if restart else {}


async def _updated(site: Site, *, replicas: int = 1) -> None:
    """What Grove would do and say."""
    made = await _set(site)
    for clique in make_below(made):
        name = clique["metadata"]["name"]
        live = await site.kubelet.get(CLIQUES, name, NAMESPACE) or await site.kubelet.create(CLIQUES, clique, NAMESPACE)
        figures = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas"), live["spec"]["replicas"])
        status = {"observedGeneration": live["metadata"]["generation"], **figures}
        await site.kubelet.merge_patch(CLIQUES, name, {"status": status}, NAMESPACE)
    status = {"observedGeneration": made["metadata"]["generation"], "availableReplicas": 1, "updatedReplicas": replicas}
    await site.report(GROVE, "g", status)


async def _set(site: Site) -> Node:
    return await site.get(GROVE, "g")


async def _marks(site: Site) -> dict[str, str]:
    cliques = (await _set(site))["spec"]["template"]["cliques"]
    return {clique["name"]: clique["annotations"][RESTART_AT] for clique in cliques if RESTART_AT in clique["annotations"]}


async def test_components_restart_one_after_the_other() -> None:
    async with _started() as site:
        await _updated(site)
        assert await _marks(site) == {}
        await _ask(site, id="r1")
        assert await _marks(site) == {"fe": "r1"}
        await _updated(site, replicas=0)
        assert await _marks(site) == {"fe": "r1"}  # its pods are still the older ones
        await _updated(site)
        assert await _marks(site) == {"fe": "r1", "w": "r1"}
        assert (await site.graph())["status"]["restart"] == {"observedID": "r1", "phase": "Restarting", "inProgress": ["w"]}
        await _updated(site)
        assert (await site.graph())["status"]["restart"] == {"observedID": "r1", "phase": "Completed"}
        marked = await _set(site)
        await _ask(site)  # no more, which restarts nobody again
        assert (await _set(site))["spec"] == marked["spec"]
        assert await _marks(site) == {"fe": "r1", "w": "r1"}


async def _replicas(site: Site, name: str) -> int:
    live = await site.get(CLIQUES, name)
    return int(live["spec"]["replicas"])


async def test_one_call_scales_and_a_graph_is_ready_only_when_that_is_done() -> None:
    async with _started() as site:
        await _updated(site)
        assert (await site.condition())["reason"] == "all_resources_are_ready"
        before = len(site.cluster.writes)
        await site.edit("g", 1, replicas=3)
        assert await _replicas(site, "g-0-w") == 3
        assert [verb for verb, plural, _ in site.cluster.writes[before:] if plural == "podcliques"] == ["merge_patch"]
        assert (await site.condition())["message"] == (
            "Resources not ready: podclique/g-0-w: spec not yet processed: generation=2, observedGeneration=1"
        )
        assert ("g", "Scaled", "PodClique g-0-w has 3 replicas") in await site.events()
        await _updated(site)
        assert (await site.condition())["reason"] == "all_resources_are_ready"
        assert await site.writes_within(5) == []


async def test_what_runs_is_scaled_though_grove_refuses_the_rest_of_a_change() -> None:
    async with _started() as site:
        await _updated(site)
        site.refuse(InvalidError(422, "Invalid", "startsAfter: field is immutable"), "apply", GROVE)
        await site.edit("g", 1, **vllm("w", replicas=3, main={"image": "img:2"}))
        assert await _replicas(site, "g-0-w") == 3
        await _updated(site)
        assert (await site.condition())["message"] == "PodCliqueSet g: startsAfter: field is immutable"
        assert (await site.graph())["status"]["components"]["w"]["readyReplicas"] == 3


async def test_pods_that_grove_can_not_make_are_told_of() -> None:
    async with _started() as site:
        _, clique = make_below(await _set(site))
        await site.kubelet.create(CLIQUES, clique, NAMESPACE)
        error = {"code": "ERR_CREATE_PODS", "description": 'pods "g-0-w-x7k2p" is forbidden: exceeded quota: gpus'}
        await site.kubelet.merge_patch(CLIQUES, "g-0-w", {"status": {"lastErrors": [error]}}, NAMESPACE)
        await site.timing.advance(15)
        ending = f". Pods wait: g-0-w: {error['code']}: {error['description']}"
        assert (await site.condition())["message"].endswith(ending)
        await _updated(site)
        assert "quota" not in (await site.condition())["message"]


async def test_pod_specs_of_cliques_are_not_held_in_memory() -> None:
    async with _started() as site:
        await _updated(site)
        held, stored = site.cache.get(Key(CLIQUE, NAMESPACE, "g-0-w")), await site.get(CLIQUES, "g-0-w")
        assert held is not None
        assert stored["spec"].keys() - held["spec"].keys() == {"podSpec"}


async def test_a_component_without_replicas_keeps_those_that_somebody_else_gives_it() -> None:
    async with _started() as site:
        async with site.editing() as obj:
            del obj["spec"]["components"][1]["replicas"]
        await _updated(site)
        await site.kubelet.merge_patch(CLIQUES, "g-0-w", {"spec": {"replicas": 4}}, NAMESPACE, subresource="scale")
        await _updated(site)
        assert await _replicas(site, "g-0-w") == 4
        assert (await site.graph())["status"]["components"]["w"]["readyReplicas"] == 4
        assert (await site.condition())["reason"] == "all_resources_are_ready"


async def test_replicas_that_others_keep_changing_are_left_alone_after_a_while() -> None:
    async with _started() as site:
        await _updated(site)
        await site.edit("g", 1, replicas=3)
        for _ in range(MAX_REPAIRS):
            await _others_scale(site)
            assert await _replicas(site, "g-0-w") == 3
        await _others_scale(site)
        assert await _replicas(site, "g-0-w") == 9
        assert (await site.condition())["message"].startswith("PodClique g-0-w is changed again and again by others through its scale")
        assert (await site.reasons()).count("DriftRepaired") >= 1


async def _others_scale(site: Site) -> None:
    await site.kubelet.merge_patch(CLIQUES, "g-0-w", {"spec": {"replicas": 9}}, NAMESPACE, subresource="scale")
    await site.rest()


async def test_a_clique_that_another_set_controls_is_not_scaled() -> None:
    async with _started() as site:
        foreign = {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "spec": {"replicas": 7}}
        foreign["metadata"] = {"name": "g-0-w", "labels": {"nvidia.com/dynamo-graph-deployment-name": "g"}}
        await site.kubelet.create(CLIQUES, foreign, NAMESPACE)
        await site.edit("g", 1, replicas=3)
        assert await _replicas(site, "g-0-w") == 7
        assert "podclique/g-0-w: resource not found" in (await site.condition())["message"]


@run_each(("verb", "resource"), [("list", "podcliques"), ("patch", "podcliques/scale")])
async def test_a_missing_permission_is_named(verb: str, resource: str) -> None:
    async with running(graph(vllm("w", replicas=1)), served=GROVE_API, denied=[(verb, resource)]) as site:
        await _updated(site)
        await site.edit("g", 0, replicas=2)
        assert (await site.graph())["status"]["state"] == "failed"
        assert f"cannot {verb} {resource}" in (await site.condition())["message"]
        if verb == "patch":
            assert (await site.condition())["message"].endswith("set reconciler.orchestrators=true of the chart")


def test_a_live_set_gives_order_and_replicas_and_new_cliques_come_last() -> None:
    def made(*names: str, replicas: int = 1) -> Node:
        cliques = [{"name": name, "spec": {"replicas": replicas, "roleName": name}} for name in names]
        groups = [{"name": "wide", "cliqueNames": ["x"], "replicas": replicas}]
        return {"kind": "PodCliqueSet", "spec": {"template": {"cliques": cliques, "podCliqueScalingGroups": groups}}}

    kept = align_with_live(made("new", "x", "b", "a"), made("a", "x", "gone", "b", replicas=5))["spec"]["template"]
    assert [(clique["name"], clique["spec"]["replicas"]) for clique in kept["cliques"]] == [("a", 5), ("x", 1), ("b", 5), ("new", 1)]
    assert [group["replicas"] for group in kept["podCliqueScalingGroups"]] == [5]
    assert align_with_live(made("a"), None) == made("a")


@run_each(
    ("desired", "live", "status", "expected"),
    [
        (2, 2, None, "observedGeneration is nil"),
        (2, 2, {"observedGeneration": 1}, "spec not yet processed: generation=2, observedGeneration=1"),
        (3, 2, {"observedGeneration": 2}, "not scaled yet: desired=3, spec.replicas=2"),
        (2, 2, {"observedGeneration": 2, "readyReplicas": 1}, "desired=2, ready=1"),
        (2, 2, {"observedGeneration": 2, "readyReplicas": 2, "updatedReplicas": 1}, "desired=2, updated=1"),
        (
            2,
            2,
            {"observedGeneration": 2, "readyReplicas": 2, "updatedReplicas": 2, "replicas": 3},
            "performing rolling update: desired=2, replicas=3",
        ),
        (2, 2, {"observedGeneration": 2, "readyReplicas": 2, "updatedReplicas": 2, "replicas": 2}, ""),
        (0, 0, {"observedGeneration": 2, "readyReplicas": 1, "replicas": 1}, ""),
    ],
)
def test_why_a_clique_is_not_as_asked(desired: int, live: int, status: Node | None, expected: str) -> None:
    member = read_graph(graph(vllm("w", replicas=desired)), line=Line.V1_2).members[0]
    clique: Node = {"kind": CLIQUE, "metadata": {"name": "g-0-w", "generation": 2}, "spec": {"replicas": live}}
    assert explain_not_ready(member, {**clique, "status": status} if status is not None else clique) == expected
    assert explain_not_ready(member, None) == "resource not found"


@run_each(
    ("more", "served", "expected"),
    [
        ("orchestrators: {grove: {enabled: false}}\n", True, "Grove is switched off in the operator"),
        ("", False, "Grove is not served by the cluster"),
    ],
)
async def test_why_there_is_no_grove_is_told(more: str, served: bool, expected: str) -> None:
    site = Site(settings(more))
    if served:
        site.serve(GROVE_API)
    async with site.running():
        await site.make(graph(vllm("w", multinode={"nodeCount": 2})))
        assert f"{expected}; LeaderWorkerSet with Volcano is not served by the cluster" in (await site.condition())["message"]


async def test_a_set_of_another_operator_keeps_its_order_replicas_selectors_and_restarts() -> None:
    site = Site()
    site.serve(GROVE_API)
    await site.make(graph(component("fe", "frontend", {"image": "img:1"}, replicas=1), vllm("w", "decode", replicas=1)))
    owner = make_reference(await site.graph())
    labels = {
        "nvidia.com/dynamo-component": "w",
        "nvidia.com/dynamo-component-type": "worker",
        "nvidia.com/dynamo-sub-component-type": "decode",
    }
    theirs: list[Node] = [{"name": name, "spec": {"roleName": name, "replicas": 7}} for name in ("w", "fe")]
    theirs[0] |= {"labels": labels, "annotations": {RESTART_AT: "r0"}}
    foreign = {"metadata": {"name": "g", "ownerReferences": [owner]}, "spec": {"replicas": 1, "template": {"cliques": theirs}}}
    await site.kubelet.create(GROVE, foreign, NAMESPACE)
    async with site.running():
        await site.rest()
        live = await _set(site)
        assert [(clique["name"], clique["spec"]["replicas"]) for clique in live["spec"]["template"]["cliques"]] == [("w", 7), ("fe", 7)]
        assert all("podSpec" in clique["spec"] for clique in live["spec"]["template"]["cliques"])
        assert labels.items() <= live["spec"]["template"]["cliques"][0]["labels"].items()
        assert await _marks(site) == {"w": "r0"}
        await _updated(site)
        assert await _replicas(site, "g-0-w") == 1


async def test_a_queue_that_is_missing_is_told_until_it_is_there() -> None:
    async with running(
        graph(component("fe", "frontend", {"image": "img:1"}, replicas=1), annotations={KAI_QUEUE: "team"}),
        served={"grove.io": frozenset({"v1alpha1"}), "scheduling.run.ai": frozenset({"v2"})},
    ) as site:
        condition = await site.condition()
        text = f"Queue team must exist for the KAI scheduler to place pods; make it, or name another by the annotation {KAI_QUEUE}"
        assert (condition["reason"], condition["message"]) == ("failed_to_reconcile_the_resources", text)
        assert [clique["labels"][QUEUE] for clique in (await _set(site))["spec"]["template"]["cliques"]] == ["team"]
        await site.user.create(QUEUES, draft(QUEUES, "team"))
        await site.later(SLOW_RETRY_SECONDS + 1)
        assert (await site.condition())["reason"] != "failed_to_reconcile_the_resources"


@run_each("served", [True, False])
async def test_volcano_that_is_chosen_and_not_installed_is_a_problem(served: bool) -> None:
    site = Site()
    site.serve(GROVE_API)
    site.cluster.served.update({"scheduling.volcano.sh": frozenset({"v1beta1"})} if served else {})
    async with site.running():
        await site.make(graph(component("fe", "frontend", {"image": "img:1"}, {"schedulerName": "volcano"}, replicas=1)))
        assert (await site.condition())["message"].startswith("Volcano must be installed to place pods") is not served


async def test_a_queue_that_may_not_be_read_stops_nothing() -> None:
    async with running(
        graph(component("fe", "frontend", {"image": "img:1"}, replicas=1)),
        served={"grove.io": frozenset({"v1alpha1"}), "scheduling.run.ai": frozenset({"v2"})},
        denied=[("get", "queues")],
    ) as site:
        assert (await site.condition())["reason"] == "some_resources_are_not_ready"
