"""Graphs on a cluster in memory: what comes of them, and of what people do to it."""

import json

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.kube.resources import CLAIMS, DEPLOYMENTS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, SERVICES
from dynamo_webhooks.reconciler.common.conditions import condition_of
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, GRAPHS
from dynamo_webhooks.reconciler.render.children import compute_worker_hashes
from dynamo_webhooks.reconciler.render.graph import read_graph
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import NAMESPACE, Site, disagg, draft, running
from tests.rows import run_each


async def test_a_graph_becomes_components_workloads_services_and_rights_and_loses_these_without_discovery_by_kubernetes() -> None:
    async with running(disagg()) as site:
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
        await site.patch(GRAPHS, "g", {"metadata": {"annotations": {"nvidia.com/dynamo-discovery-backend": "etcd"}}})
        assert await site.all(SERVICE_ACCOUNTS) == await site.all(ROLES) == await site.all(ROLE_BINDINGS) == {}
        # a worker's Service is there for discovery alone, and the pods say how they discover, hence a new generation
        assert set(await site.all(SERVICES)) == {"g-frontend"}
        assert "DeletedRole" in await site.reasons()


async def test_two_graphs_with_the_same_component_names_do_not_meet() -> None:
    async with running(disagg("a"), disagg("b")) as site:
        assert len(await site.all(DEPLOYMENTS)) == 6
        await site.delete(GRAPHS, "a")
        assert {name[0] for name in await site.all(DEPLOYMENTS)} == {"b"}
        assert (await site.graph("b"))["status"]["state"] == "successful"


async def test_a_planner_gets_its_account_and_others_do_not() -> None:
    async with running(graph(component("Planner", "planner", {"image": "img:1"}))) as site:
        assert "planner-serviceaccount" in await site.all(SERVICE_ACCOUNTS)
        assert (await site.all(ROLE_BINDINGS))["planner-serviceaccount-binding"]["roleRef"]["name"] == "plan"
        await site.delete(GRAPHS, "g")
        assert "planner-serviceaccount" in await site.all(SERVICE_ACCOUNTS)  # the next one needs it, too


@run_each(
    ("figures", "words"),
    [
        ({"readyReplicas": 0, "availableReplicas": 0}, "0 of 2 replicas are ready"),
        ({"updatedReplicas": 1, "replicas": 3}, "1 of 2 replicas are up to date"),  # as while new pods are restored
        ({"replicas": 3}, "3 replicas are there, and 2 wanted"),
        ({"availableReplicas": 0}, "0 of 2 replicas are available"),
    ],
)
async def test_what_is_not_ready_is_named_until_it_is(figures: dict[str, int], words: str) -> None:
    async with running(disagg()) as site:
        name = next(name for name in await site.all(DEPLOYMENTS) if "decode" in name)
        await site.kubelet.merge_patch(DEPLOYMENTS, name, {"status": figures}, NAMESPACE, subresource="status")
        await site.timing.advance(10)
        condition = await site.condition()
        assert (condition["status"], condition["reason"]) == ("False", "some_resources_are_not_ready")
        assert condition["message"] == f"Resources not ready: {name}: Deployment is not ready: {words}"
        assert (await site.graph())["status"]["state"] == "pending"
        await site.rest()
        assert (await site.condition())["status"] == "True"


async def test_a_component_that_stands_alone_is_reconciled_like_one_of_a_graph() -> None:
    async with running(draft(COMPONENTS, "alone", spec={**vllm("w"), "runtimeVersionOverride": "1.5.0"})) as site:
        assert set(await site.all(DEPLOYMENTS)) == {"alone"}
        status = (await site.all(COMPONENTS))["alone"]["status"]
        statuses = {"Available": "True", "DynamoComponentReady": "True", "FieldsIgnored": "True"}
        assert {condition["type"]: condition["status"] for condition in status["conditions"]} == statuses
        assert condition_of(status, "FieldsIgnored")["message"].startswith("spec.runtimeVersionOverride: has no effect")
        assert status["component"]["componentKind"] == "Deployment"


async def test_a_graph_that_another_operator_named_keeps_its_workers() -> None:
    async with running(disagg()) as site:
        # as if another operator had made it: the name of the generation is one that we would never give
        await site.stop()
        await _renamed(site, "0123abcd")
        site.start()
        await site.rest()
        assert set(await site.workers()) == {"g-decode-0123abcd", "g-prefill-0123abcd"}
        assert "WorkerHashMigrated" in await site.reasons()
        await site.edit("g", 1, **vllm("decode", "decode", args=("--new",), replicas=2))
        names = set(await site.workers())
        assert len(names) == 2
        assert not any(name.endswith("0123abcd") for name in names)


async def test_workers_named_when_fields_without_effect_still_counted_keep_their_pods() -> None:
    async with running() as site:
        model = {"name": "m", "revision": "1"}
        await site.make(graph(vllm("decode", "decode", modelRef=model)))
        digests = compute_worker_hashes(read_graph(await site.graph(), line=Line.V1_2), Line.V1_3)
        assert digests.now != digests.before
        await site.stop()
        await _renamed(site, digests.before, annotated=False)
        site.start()
        await site.rest()
        assert set(await site.workers()) == {f"g-decode-{digests.before}"}
        await site.edit("g", 0, **vllm("decode", "decode", modelRef={**model, "revision": "2"}))
        assert set(await site.workers()) == {f"g-decode-{digests.before}"}
        await site.edit("g", 0, **vllm("decode", "decode", args=("--new",), modelRef=model))
        [name] = await site.workers()
        assert name != f"g-decode-{digests.before}"


async def _renamed(site: Site, name: str, *, annotated: bool = True) -> None:
    """Gives the workers of the graph another generation, of which its annotation says as another operator would."""
    for obj in (await site.all(COMPONENTS)).values():
        metadata = obj["metadata"]
        old = metadata["labels"].get("nvidia.com/dynamo-worker-hash")
        if old is None:
            continue
        await site.user.delete(COMPONENTS, metadata["name"], NAMESPACE)
        text = json.dumps({**obj, "metadata": {k: metadata[k] for k in ("name", "namespace", "labels", "ownerReferences")}})
        await site.user.create(COMPONENTS, json.loads(text.replace(old, name)), NAMESPACE)
    await site.patch(GRAPHS, "g", {"metadata": {"annotations": {"nvidia.com/current-worker-hash": name} if annotated else {}}})


async def test_a_restart_goes_through_the_components_one_after_the_other() -> None:
    async with running(disagg()) as site:
        before = set(await site.all(DEPLOYMENTS))
        site.held["g-frontend"] = 0
        await site.patch(GRAPHS, "g", {"spec": {"restart": {"id": "again"}}})
        assert (await site.graph())["status"]["restart"] == {"observedID": "again", "phase": "Restarting", "inProgress": ["Frontend"]}
        assert await _marked(site) == {"g-frontend"}
        site.held.clear()
        await site.rest()
        assert (await site.graph())["status"]["restart"] == {"observedID": "again", "phase": "Completed"}
        assert await _marked(site) == set(await site.all(DEPLOYMENTS)) == before


async def _marked(site: Site) -> set[str]:
    live = await site.all(DEPLOYMENTS)
    templates = {name: obj["spec"]["template"]["metadata"].get("annotations") or {} for name, obj in live.items()}
    return {name for name, annotations in templates.items() if annotations.get("nvidia.com/restartAt") == "again"}


async def test_a_claim_is_made_once_and_one_that_must_be_there_is_asked_for() -> None:
    async with running() as site:
        claims = [
            {"name": "made", "create": True, "size": "1Gi", "storageClass": "std", "volumeAccessMode": "ReadWriteOnce"},
            {"name": "lost"},
        ]
        beta = disagg()
        alpha = convert_object(beta, target("nvidia.com/v1alpha1", line=Line.V1_2)).object
        alpha["spec"]["pvcs"] = claims
        await site.make(convert_object(alpha, target("nvidia.com/v1beta1", line=Line.V1_2)).object)
        assert set(await site.all(CLAIMS)) == {"made"}
        assert "PersistentVolumeClaim lost must exist" in (await site.condition())["message"]
        await site.create(CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "lost"}}, 61)
        assert (await site.condition())["status"] == "True"
        assert [verb for verb, plural, _ in site.cluster.writes if plural == CLAIMS.plural] == ["create"]
