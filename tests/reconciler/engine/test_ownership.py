"""Who owns what: Services that several graphs share, children that have lost their owner, repairs that are told of the right object."""

from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CLAIMS, CONFIG_MAPS, DEPLOYMENTS, INFERENCE_POOLS, SERVICE_ACCOUNTS, SERVICES
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, DESTINATION_RULES, GRAPHS, RECONCILED, VIRTUAL_SERVICES
from dynamo_webhooks.reconciler.engine.routing import route_change
from dynamo_webhooks.reconciler.engine.watch import Change
from dynamo_webhooks.reconciler.render.objects import make_reference
from tests.reconciler.rendering import component
from tests.reconciler.site import NAMESPACE, Site, disagg, draft, running, settings

MODEL = "dynamo-model-fb68f5a6"


def _served(name: str = "g") -> Node:
    made = disagg(name)
    for worker in made["spec"]["components"][1:]:
        worker["modelRef"] = {"name": "Qwen/Qwen3-0.6B"}
    return made


async def _owners(site: Site, name: str = MODEL) -> list[tuple[str, str, bool]]:
    owners = (await site.all(SERVICES))[name]["metadata"].get("ownerReferences") or []
    return [(owner["kind"], owner["name"], bool(owner.get("controller"))) for owner in owners]


async def test_a_graph_takes_over_the_service_that_one_of_its_components_owned_and_generations_share_it() -> None:
    async with running(_served()) as site:
        assert (await site.condition())["status"] == "True"
        assert await _owners(site) == [("DynamoGraphDeployment", "g", True)]
        [decode] = [obj for name, obj in (await site.all(COMPONENTS)).items() if "decode" in name]
        uid = (await site.all(SERVICES))[MODEL]["metadata"]["uid"]
        await site.patch(SERVICES, MODEL, {"metadata": {"ownerReferences": [make_reference(decode)]}})
        service = (await site.all(SERVICES))[MODEL]
        assert (service["metadata"]["uid"], await _owners(site)) == (uid, [("DynamoGraphDeployment", "g", True)])
        assert (await site.condition())["status"] == "True"
        async with site.editing() as obj:
            for worker in obj["spec"]["components"][1:]:
                worker["podTemplate"]["spec"]["containers"][0]["args"] = ["--new"]
        assert (await site.graph())["status"]["rollingUpdate"]["phase"] == "Completed"
        assert (await site.condition())["status"] == "True"
        assert (await site.all(SERVICES))[MODEL]["metadata"]["uid"] == uid


async def test_two_graphs_share_the_service_of_their_model_and_the_last_one_takes_it_along() -> None:
    async with running(_served()) as site:
        await site.make(_served("h"))
        assert (await site.condition("h"))["status"] == "True"
        assert await _owners(site) == [("DynamoGraphDeployment", "g", True), ("DynamoGraphDeployment", "h", False)]
        await site.edit("g", 0, replicas=2)
        assert len(await _owners(site)) == 2  # applying it for one graph doesn't take it from the other
        await site.delete(GRAPHS, "g")
        references = [owner for owner in (await site.all(SERVICES))[MODEL]["metadata"]["ownerReferences"] if owner["name"] == "h"]
        # the garbage collector drops the reference to what is gone
        await site.patch(SERVICES, MODEL, {"metadata": {"ownerReferences": references}})
        assert await _owners(site) == [("DynamoGraphDeployment", "h", True)]
        await site.delete(GRAPHS, "h")
        assert MODEL not in await site.all(SERVICES)


async def _orphaned(site: Site) -> None:
    """Deletes a graph as `--cascade=orphan` does."""
    for resource in (COMPONENTS, SERVICES):
        for name, obj in (await site.all(resource)).items():
            if any(owner["kind"] == "DynamoGraphDeployment" for owner in obj["metadata"].get("ownerReferences") or ()):
                await site.kubelet.merge_patch(resource, name, {"metadata": {"ownerReferences": None}}, NAMESPACE)
    await site.user.delete(GRAPHS, "g", NAMESPACE)


async def _pods(site: Site) -> dict[str, tuple[str, Any]]:
    """The uid and the pod template of each Deployment."""
    return {name: (obj["metadata"]["uid"], obj["spec"]["template"]) for name, obj in (await site.all(DEPLOYMENTS)).items()}


async def test_children_that_a_deletion_left_behind_are_taken_up_again() -> None:
    async with running(_served()) as site:
        before = await _pods(site)
        await site.stop()
        await _orphaned(site)
        site.start()
        await site.rest()
        assert await _pods(site) == before  # they find each other without their graph, too
        await site.make(_served())
        assert (await site.condition())["status"] == "True"
        assert await _pods(site) == before
        graph_uid = (await site.graph())["metadata"]["uid"]
        assert {obj["metadata"]["ownerReferences"][0]["uid"] for obj in (await site.all(COMPONENTS)).values()} == {graph_uid}


async def test_repairs_are_told_of_the_object_that_was_repaired() -> None:
    async with running() as site:
        for name in ("g", "h"):
            await site.make(disagg(name))
        mend = site.refuse(RuntimeError("crash"), "apply", SERVICES, "g-frontend")
        await site.user.merge_patch(DEPLOYMENTS, "g-frontend", {"spec": {"replicas": 5}}, NAMESPACE)
        patch: Any = {"spec": {"selector": {"nvidia.com/dynamo-component": "x"}}}
        await site.user.merge_patch(SERVICES, "g-frontend", patch, NAMESPACE)
        await site.rest()  # the pass ends between repairing the Deployment and telling so
        await site.edit("h", 0, replicas=2)
        mend()
        await site.later(60)
        repairs = {(name, message.split()[1]) for name, reason, message in await site.events() if reason == "DriftRepaired"}
        assert repairs == {("g-frontend", "g-frontend")}


async def test_an_object_of_another_namespace_that_names_a_graph_as_its_owner_is_not_the_graphs() -> None:
    async with running(disagg()) as site:
        owners = [make_reference(await site.graph())]
        metadata = {"labels": {"nvidia.com/dynamo-worker-hash": "deadbeef"}, "ownerReferences": owners}
        theirs = draft(COMPONENTS, "theirs", metadata, spec={"name": "decode", "type": "decode", "replicas": 5})
        await site.user.create(COMPONENTS, theirs, "elsewhere")
        await site.user.merge_patch(GRAPHS, "g", {"metadata": {"annotations": {"example.com/touched": "yes"}}}, NAMESPACE)
        for _ in range(8):
            await site.timing.advance(0.25)
        status = (await site.graph())["status"]
        assert (status["state"], "rollingUpdate" in status) == ("successful", False)
        assert (await site.all(COMPONENTS))["theirs"]["spec"]["replicas"] == 5


async def test_a_child_that_says_it_is_of_a_kind_without_a_spec_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as site:
        await site.rest()
        owner = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "name": "x", "uid": "u", "controller": True}
        account: Any = {"apiVersion": "v1", "kind": "ServiceAccount"}
        account["metadata"] = {"name": "theirs", "labels": {"webhooks.nvidia.com/reconciled": "true"}, "ownerReferences": [owner]}
        await site.user.create(SERVICE_ACCOUNTS, account, NAMESPACE)
        for _ in range(4):
            await site.timing.advance(0.25)
        assert "failed" not in caplog.text


CHILDREN = (CONFIG_MAPS, INFERENCE_POOLS, VIRTUAL_SERVICES, DESTINATION_RULES)
GATEWAY = "ingress: {virtualServiceGateway: istio-system/gateway}\nserviceMesh: {provider: istio}\n"


def _reached(name: str = "g") -> Node:
    made = disagg(name)
    made["spec"]["components"].append(component("picker", "epp", {"image": "img:1"}, eppConfig={"config": {"plugins": [{"type": "t"}]}}))
    return made


def _with_gateway() -> Site:
    groups = {"networking.istio.io": frozenset({"v1beta1", "v1"}), "inference.networking.k8s.io": frozenset({"v1"})}
    return Site(settings(GATEWAY)).serve(groups)


async def _optional(site: Site) -> list[str]:
    return [f"{each.kind} {name}" for each in CHILDREN for name in await site.all(each)]


async def test_optional_children_go_at_the_next_pass_however_long_ago_they_were_made() -> None:
    async with _with_gateway().running(_reached()) as site:
        made = ["ConfigMap g-epp-config", "InferencePool g-pool", "VirtualService g-frontend", "DestinationRule g-picker"]
        assert await _optional(site) == made
        await site.later(120)
        async with site.editing() as obj:
            del obj["spec"]["components"][3]
        assert await _optional(site) == ["VirtualService g-frontend"]
        assert {"DeletedConfigMap", "DeletedInferencePool", "DeletedDestinationRule"} <= {*await site.reasons()}


async def test_optional_children_that_the_configuration_ends_while_nothing_runs_go_after_the_start() -> None:
    async with _with_gateway().running(_reached()) as site:
        await site.stop()
        await site.timing.advance(3600)
        site.settings = settings()
        site.start()
        await site.rest()
        assert await _optional(site) == ["ConfigMap g-epp-config", "InferencePool g-pool"]


async def test_optional_children_cost_one_list_of_each_kind_and_nothing_at_rest() -> None:
    site = _with_gateway()
    calls: list[tuple[str, str]] = []
    site.cluster.fail(lambda verb, resource, _namespace, _name: calls.append((verb, resource.plural if resource else "")))
    for name in "abc":
        await site.make(_reached(name))
    site.start()
    await site.rest()
    optional = [each.plural for each in CHILDREN]
    assert sorted(plural for verb, plural in calls if verb == "list" and plural in optional) == sorted(optional), (
        "each selection of a Watch costs a list at the start"
    )
    before = len(calls)
    await site.later(180)
    assert [call for call in calls[before:] if call[1] != "leases" and call[0] not in ("groups", "allowed", "watch")] == []
    await site.stop()


async def test_a_claim_that_the_graph_asks_for_no_more_stays_however_new_it_is() -> None:
    async with running() as site:
        alpha = convert_object(disagg(), target("nvidia.com/v1alpha1", line=Line.V1_2)).object
        alpha["spec"]["pvcs"] = [{"name": "cache", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}]
        await site.make(convert_object(alpha, target("nvidia.com/v1beta1", line=Line.V1_2)).object)
        assert "cache" in await site.all(CLAIMS)
        async with site.editing() as stored:
            stored["metadata"]["annotations"] = {}
        assert "cache" in await site.all(CLAIMS)
        assert ("delete", "persistentvolumeclaims", "cache") not in site.cluster.writes


async def test_an_object_that_names_many_owners_concerns_those_that_are_there() -> None:
    """Anybody who may label a ConfigMap may write ten thousand owners into it, again and again."""
    async with running(disagg()) as site:
        graph = {"apiVersion": "nvidia.com/v1beta1", "kind": GRAPHS.kind}
        owners = [{**graph, "name": f"g-{number}", "uid": str(number)} for number in range(10_000)]
        owners.append({**graph, "name": "g", "uid": (await site.graph())["metadata"]["uid"]})
        metadata = {"name": "cm", "namespace": NAMESPACE, "ownerReferences": owners, "labels": {RECONCILED: "true"}}
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        assert route_change(Change(None, made), site.cache, site.reconciler.controllers) == [Key(GRAPHS.kind, NAMESPACE, "g")]
