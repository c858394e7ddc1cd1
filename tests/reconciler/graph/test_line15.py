"""What graphs of line 1.5 say: where they run, when their pods start, what becomes of their checkpoint, and what has no effect."""

from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CRDS, DEPLOYMENTS, TOPOLOGY_BINDINGS
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, CLIQUE_SETS, COMPONENTS, GRAPHS, POD_CLIQUES
from dynamo_webhooks.reconciler.render.names import ENABLE_GROVE, WORKLOAD_PROVIDER
from tests.cluster.reconciler.grove import make_below
from tests.reconciler.checkpoint.test_snapshots import IDENTITY, NAME, RESTORING, ROLLING, _is_restored, _ready, _told, _worker, scene, warm
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import GROVE_API, Site, draft, running, settings
from tests.rows import run_each

GROVE, CLIQUE = CLIQUE_SETS, POD_CLIQUES
WAITING: dict[str, Any] = {"identity": dict(IDENTITY), "startupPolicy": "WaitForCheckpoint"}


async def test_a_field_without_effect_is_a_condition_until_it_is_gone() -> None:
    async with running(graph(vllm(runtimeVersionOverride="1.5.0", minAvailable=1, replicas=1))) as site:
        condition = await site.condition(kind="FieldsIgnored")
        assert (condition["status"], condition["reason"]) == ("True", "NotActedOn")
        assert "spec.components[0].runtimeVersionOverride: has no effect" in condition["message"]
        assert "spec.components[0].minAvailable: has no effect: only Grove acts on it" in condition["message"]
        assert (await site.reasons()).count("NotActedOn") == 1
        assert (await site.graph())["status"]["state"] == "successful"
        made = [*(await site.all(COMPONENTS)).values()]
        assert all("minAvailable" not in obj["spec"] for obj in made)  # admission refuses it there
        async with site.editing() as obj:
            for name in ("runtimeVersionOverride", "minAvailable"):
                del obj["spec"]["components"][0][name]
        assert await site.condition(kind="FieldsIgnored") == {}
        assert {*await site.all(COMPONENTS)} == {obj["metadata"]["name"] for obj in made}  # no worker was replaced for it


@run_each(("grove", "version"), [(False, ""), (True, "1.2.0"), (True, "")])
async def test_topology_constraints_without_effect_are_named_on_each_line(grove: bool, version: str) -> None:
    constraint = {"clusterTopologyName": "t", "packDomain": "zone"}
    obj = graph(vllm(topologyConstraint={"packDomain": "rack"}), topologyConstraint=constraint)
    async with running(obj, version=version, served=GROVE_API if grove else {}) as site:
        message = (await site.condition(kind="FieldsIgnored")).get("message", "")
        assert (await site.condition())["reason"] != "refused_by_validation"
        why = "has no effect: only Grove acts on it, and the graph does not run on Grove"
        named = [f"{path}.topologyConstraint: {why}" for path in ("spec", "spec.components[0]")]
        name = "spec.topologyConstraint.clusterTopologyName: has no effect on placement: "
        assert message.startswith(name) if version else message == ("" if grove else "; ".join(named))
        assert message.count("has no effect") == (int(bool(version)) if grove else 2)


async def test_a_set_is_constrained_as_its_definition_has_it_and_keeps_its_words() -> None:
    packed = graph(vllm(topologyConstraint={"packDomain": "rack"}), topologyConstraint={"clusterTopologyName": "t", "packDomain": "zone"})

    def definition(*fields: str) -> Node:
        schema: Node = {key: {"type": "object"} for key in fields}
        for name in ("topologyConstraint", "template", "spec"):
            schema = {name: {"properties": schema}}
        versions = [{"name": "v1alpha1", "served": True, "schema": {"openAPIV3Schema": {"properties": schema}}}]
        return draft(CRDS, "podcliquesets.grove.io", spec={"versions": versions})

    site = Site(settings(version="1.3.0")).serve(GROVE_API)
    await site.user.create(CRDS, definition("packDomain"))
    async with site.running(packed):
        site.cluster.denied.add(("get", "customresourcedefinitions"))  # as before Grove's upgrade, by which pods stay
        await site.edit("g", 0, replicas=2, seconds=40)
        [made] = (await site.all(GROVE)).values()
        assert made["spec"]["template"]["topologyConstraint"] == {"packDomain": "zone"}
        assert made["spec"]["template"]["cliques"][0]["topologyConstraint"] == {"packDomain": "rack"}
        site.cluster.denied.clear()
        await site.user.merge_patch(CRDS, "podcliquesets.grove.io", {"spec": definition("packDomain", "pack")["spec"]})
        await site.make({**packed, "metadata": {**packed["metadata"], "name": "h"}})
        made = await site.get(GROVE, "h")
        assert made["spec"]["template"]["topologyConstraint"] == {"topologyName": "t", "pack": {"required": "zone"}}


async def test_the_provider_that_is_remembered_decides_where_a_graph_runs() -> None:
    async with running(served=GROVE_API) as site:
        await site.make(
            graph(vllm(), name="a", annotations={WORKLOAD_PROVIDER: "component"}),
            graph(vllm(), annotations={WORKLOAD_PROVIDER: "grove", ENABLE_GROVE: "false"}),
        )
        assert {*await site.all(GROVE)} == {"g"}
        assert all(name.startswith("a-") for name in await site.all(DEPLOYMENTS))
        condition = await site.condition(kind="FieldsIgnored")
        assert condition["message"] == f"metadata.annotations[{ENABLE_GROVE}]: has no effect: {WORKLOAD_PROVIDER} decides"
        site.cluster.served.pop("grove.io")
        await site.later(40)
        condition = await site.condition(kind="Orchestrator")
        assert condition["reason"] == "GroveNotServed"
        assert condition["message"].endswith(f"; {WORKLOAD_PROVIDER} keeps it there")


@run_each(("grove", "provider"), [(True, "grove"), (False, "component")])
async def test_a_graph_that_an_older_operator_runs_is_adopted_where_it_runs(grove: bool, provider: str) -> None:
    site = Site(settings(version="1.4.0")).serve(GROVE_API)
    made = graph(vllm(main={"image": "img:1.4.0"}), annotations={} if grove else {ENABLE_GROVE: "false"})
    async with site.running(made):
        assert WORKLOAD_PROVIDER not in (await site.graph())["metadata"].get("annotations", {})
        before = {*await site.all(GROVE), *await site.all(DEPLOYMENTS)}
    site.settings = settings(version="1.5.0")
    site.cluster.denied.add(("patch", "dynamographdeployments"))
    async with site.running(seconds=5):
        assert WORKLOAD_PROVIDER not in (await site.graph())["metadata"].get("annotations", {})
        assert "NotAdopted" in await site.reasons()
        site.cluster.denied.clear()
        await site.later(70)
        assert (await site.graph())["metadata"]["annotations"][WORKLOAD_PROVIDER] == provider
        assert (await site.reasons()).count("Adopted") == 1
        assert {*await site.all(GROVE), *await site.all(DEPLOYMENTS)} == before  # nothing moved


@run_each("more", [RESTORING, ROLLING])
async def test_pods_wait_for_their_checkpoint_and_start_from_it(more: str) -> None:
    async with scene(warm(**WAITING), more) as site:
        assert (await _worker(site))["spec"]["replicas"] == 0
        assert (await site.graph())["status"]["state"] == "pending"
        state = await site.condition(kind="Restore")
        assert (state["reason"], state["message"].rpartition("; ")[2]) == ("CheckpointNotReady", "pods wait for it, as startupPolicy says")
        [component] = [obj for obj in (await site.all(COMPONENTS)).values() if obj["spec"]["name"] == "worker"]
        [available] = [condition for condition in component["status"]["conditions"] if condition["type"] == "Available"]
        assert (available["status"], available["reason"]) == ("False", "WaitingForCheckpoint")
        await _ready(site)
        assert (await _worker(site))["spec"]["replicas"] == 1
        assert await _is_restored(site)
        assert await _told(site) == ("True", "Restored")
        assert (await site.graph())["status"]["state"] == "successful"


async def test_pods_that_run_are_not_taken_away_to_wait() -> None:
    async with scene(warm(**{**WAITING, "startupPolicy": "Immediate"})) as site:
        assert (await _worker(site))["spec"].get("replicas", 1) == 1
        async with site.editing(seconds=5) as obj:
            obj["spec"]["components"][1]["experimental"]["checkpoint"]["startupPolicy"] = "WaitForCheckpoint"
        assert (await _worker(site))["spec"]["replicas"] == 1
        assert len(await site.workers()) == 1  # the policy is no change of the pods
        assert (await site.graph())["status"]["state"] == "successful"


@run_each("more", ["checkpoint: {enabled: false}\n", RESTORING + "controllers: {checkpoints: 'off'}\n"])
async def test_nobody_waits_for_what_never_comes(more: str) -> None:
    async with scene(warm(**WAITING), more) as site:
        assert (await _worker(site))["spec"]["replicas"] == 1
        assert (await site.graph())["status"]["state"] == "successful"


async def test_pods_wait_on_grove_too() -> None:
    async with scene(graph(vllm("w", replicas=2, experimental={"checkpoint": WAITING})), grove=True) as site:
        [made] = (await site.all(GROVE)).values()
        [clique] = make_below(made)
        assert clique["spec"]["replicas"] == 0
        await site.create(CLIQUE, clique, 5)
        assert (await site.all(CLIQUE))["g-0-w"]["spec"]["replicas"] == 0
        assert "desired=2, spec.replicas=0" in (await site.condition())["message"]
        await _ready(site)
        assert (await site.all(CLIQUE))["g-0-w"]["spec"]["replicas"] == 2
        assert await _told(site) == ("True", "Restored")


@run_each(("policy", "stays"), [("Delete", False), ("Retain", True)])
async def test_a_checkpoint_goes_with_the_last_graph_that_it_was_made_for_unless_one_retains_it(policy: str, *, stays: bool) -> None:
    async with scene(warm(identity=dict(IDENTITY), deletionPolicy="Delete")) as site:
        [owner] = (await site.checkpoint(NAME))["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("DynamoGraphDeployment", "g", False)
        other = warm(identity=dict(IDENTITY), deletionPolicy=policy)
        other["metadata"]["name"] = "h"
        await site.make(other)
        owners = (await site.checkpoint(NAME))["metadata"].get("ownerReferences") or []
        assert [owner["name"] for owner in owners] == ([] if stays else ["g", "h"])
        assert await site.writes_within(60) == []
        await site.delete(GRAPHS, "g")
        assert NAME in await site.all(CHECKPOINTS)
        await site.delete(GRAPHS, "h")
        assert (NAME in await site.all(CHECKPOINTS)) is stays


async def test_a_checkpoint_that_nobody_names_keeps_no_graph_from_running() -> None:
    checkpoint = {"enabled": True, "startupPolicy": "WaitForCheckpoint"}
    obj = graph(vllm("w", main={"image": "img:1.5.0"}, experimental={"checkpoint": checkpoint}))
    async with running(obj, more=RESTORING, version="1.4.0") as site:
        await site.later(5)
        assert (await site.graph())["status"]["state"] == "successful"
        message = (await site.condition(kind="FieldsIgnored"))["message"]
        assert message.startswith("spec.components[0].experimental.checkpoint: has no effect: neither checkpointRef nor identity")
        assert await _told(site) == ("False", "CheckpointMissing")
        assert await site.all(CHECKPOINTS) == {}


async def test_a_topology_of_grove_means_a_node_label() -> None:
    policy = {"clusterTopologyName": "topo", "domain": "rack"}
    obj = graph(vllm("w", main={"image": "img:1.5.0"}), experimental={"kvTransferPolicy": policy})
    async with running(obj, version="1.5.0", served=GROVE_API) as site:  # line 1.2 refuses the field
        assert await site.all(GROVE) == {}
        assert (await site.condition())["message"].endswith('must name a ClusterTopologyBinding, got "topo", which is not there')
        site.cluster.denied.add(("get", "clustertopologybindings"))
        await site.later(62)
        assert "add manifests/components/orchestrators" in (await site.condition())["message"]
        site.cluster.denied.clear()
        spec = {"levels": [{"domain": "rack", "key": "example/rack"}]}
        await site.user.create(TOPOLOGY_BINDINGS, draft(TOPOLOGY_BINDINGS, "topo", spec=spec))
        await site.later(62)
        [clique] = (await site.all(GROVE))["g"]["spec"]["template"]["cliques"]
        assert clique["annotations"]["nvidia.com/topology-label-key"] == "example/rack"
        assert await site.condition(kind="FieldsIgnored") == {}
        assert (await site.graph())["spec"]["experimental"]["kvTransferPolicy"] == policy
        await site.user.delete(TOPOLOGY_BINDINGS, "topo")
        await site.edit("g", 0, **vllm("w", main={"image": "img:1.5.1"}), seconds=62)
        [edited] = (await site.all(GROVE))["g"]["spec"]["template"]["cliques"]
        assert edited["spec"]["podSpec"]["containers"][0]["image"] == "img:1.5.1"
        assert edited["annotations"] == clique["annotations"]
