"""An API that appears or vanishes beside running graphs changes none of their pods, and fails none of them."""

from typing import Any, Final

import pytest

from dynamo_webhooks.kube.errors import NotServedError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS, DISAGGREGATED_SETS, QUEUES, SERVICE_ACCOUNTS, TOPOLOGY_BINDINGS, Resource
from dynamo_webhooks.reconciler.common.resources import CLIQUE_SETS, COMPONENTS, GRAPHS, LEADER_WORKER_SETS, POD_ACCOUNT
from dynamo_webhooks.reconciler.render.names import WORKLOAD_PROVIDER
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import GROVE_API, Site, draft, running, settings
from tests.rows import run_each

GATEWAY: Final = "ingress: {virtualServiceGateway: istio-system/gateway}\nserviceMesh: {provider: istio}\n"
DISAGGREGATED: Final = "disaggregatedset.x-k8s.io"
V1: Final = frozenset({"v1"})
APIS: Final = {
    "scheduling.run.ai": frozenset({"v2"}),
    "scheduling.volcano.sh": frozenset({"v1beta1"}),
    "leaderworkerset.x-k8s.io": V1,
    "resource.k8s.io": V1,
    "networking.istio.io": frozenset({"v1", "v1beta1"}),
    "inference.networking.k8s.io": V1,
    "grove.io": frozenset({"v1alpha1"}),
    DISAGGREGATED: V1,
}
ROUTES: Final = ("resource.k8s.io", "networking.istio.io", "inference.networking.k8s.io")  # have children beside workloads
SETS_OF_WORKERS: Final = ("leaderworkerset.x-k8s.io", DISAGGREGATED)
RUN: Final = (DEPLOYMENTS, LEADER_WORKER_SETS, DISAGGREGATED_SETS, CLIQUE_SETS)


def _objects() -> list[Node]:
    image = {"image": "img:1.4.0"}
    frontend = component("fe", "frontend", image, replicas=1)
    picker = component("epp", "epp", image, eppConfig={"config": {"plugins": [{"type": "t"}]}}, replicas=1)
    roles = [vllm(name, main=image, replicas=1, multinode={"nodeCount": 2}) for name in ("a", "b")]
    policy = {"clusterTopologyName": "t", "domain": "rack"}
    return [
        graph(frontend, vllm("w", main=image, replicas=1), name="plain"),
        graph(frontend, picker, vllm("w", main=image, replicas=1), name="picked"),
        graph(frontend, vllm("w", main=image, replicas=1, experimental={"gpuMemoryService": {}}), name="shared"),
        graph(frontend, vllm("w", main=image, replicas=1, multinode={"nodeCount": 2}), name="wide"),
        graph(frontend, vllm("w", main=image, replicas=1), name="placed", experimental={"kvTransferPolicy": policy}),
        graph(frontend, *roles, name="set", annotations={WORKLOAD_PROVIDER: "disaggregatedset"}),
        draft(COMPONENTS, "alone", spec=vllm("w", main=image, replicas=1, experimental={"gpuMemoryService": {}})),
    ]


async def _look(site: Site) -> tuple[dict[str, Any], dict[str, str]]:
    """What runs, and the state of each graph."""
    run = {f"{each.kind} {name}": obj["spec"] for each in RUN for name, obj in (await site.all(each)).items()}
    states = {name: obj["status"]["state"] for name, obj in (await site.all(GRAPHS)).items()}
    for name, obj in (await site.all(COMPONENTS)).items():
        conditions = obj["status"]["conditions"]
        states[name] = "failed" if any(each["reason"] == "Reconciling" for each in conditions) else ""
    return run, states


def _withdraw(site: Site, group: str) -> None:
    for each in (site.cluster, site.user, site.kubelet):
        each.served.pop(group, None)


CASES: Final = [
    (grove, group, appears)
    for grove in (False, True)
    for group in APIS
    for appears in (False, True)
    if group != "grove.io" or (grove and not appears)
]


@pytest.mark.slow("thirteen clusters, with a reconciler that starts three times in each")
@run_each(("grove", "group", "appears"), CASES)
async def test_what_runs_goes_on_as_it_is(group: str, *, grove: bool, appears: bool) -> None:
    site = Site(settings(GATEWAY, "1.7.0" if group == DISAGGREGATED else "1.4.0"))
    site.serve({name: versions for name, versions in APIS.items() if grove or name != "grove.io"})
    gone = {group} if appears else set[str]()

    def fault(_verb: str, resource: Resource | None, *_: str) -> Exception | None:
        return NotServedError(404, "NotFound", "not served") if resource is not None and resource.group in gone else None

    site.cluster.fail(fault)
    if appears:
        _withdraw(site, group)
    await site.user.create(QUEUES, draft(QUEUES, "dynamo"))
    levels = [{"domain": "rack", "key": "example.com/rack"}]
    await site.user.create(TOPOLOGY_BINDINGS, draft(TOPOLOGY_BINDINGS, "t", spec={"levels": levels}))
    async with site.running(*_objects(), seconds=40):
        run, states = await _look(site)
        failed = {name for name, state in states.items() if state == "failed"}
        assert len(run) >= 4
        assert ("DisaggregatedSet set" in run) == (group == DISAGGREGATED and not appears)
        if appears:
            gone.clear()
            site.serve({group: APIS[group]})
        else:
            gone.add(group)
            _withdraw(site, group)
        if group in SETS_OF_WORKERS and not appears:
            failed |= {name for name in states if name.startswith(("wide", "set"))}  # its pods went with the API
        await site.later(100)
        for _ in range(2):
            now, states = await _look(site)
            assert {name: now.get(name) for name in run} == run
            assert {name for name, state in states.items() if state == "failed"} <= failed
            await site.stop()
            site.start()  # what it knew by its watches is forgotten
            await site.later(100)
        assert ("NotServed" in await site.reasons()) == (not appears and group in ROUTES)


@run_each("appears", [False, True])
async def test_a_set_is_scaled_and_edited_with_the_scheduler_that_it_was_made_with(*, appears: bool) -> None:
    site = Site().serve(GROVE_API)
    await site.user.create(QUEUES, draft(QUEUES, "dynamo"))
    if not appears:
        site.serve({"scheduling.run.ai": APIS["scheduling.run.ai"]})
    async with site.running(graph(vllm("w", replicas=1)), seconds=5):
        [made] = (await site.all(CLIQUE_SETS)).values()
        [clique] = made["spec"]["template"]["cliques"]
        assert clique["spec"]["podSpec"].get("schedulerName") == (None if appears else "kai-scheduler")
        if appears:
            site.serve({"scheduling.run.ai": APIS["scheduling.run.ai"]})
        else:
            _withdraw(site, "scheduling.run.ai")
        await site.later(40)
        await site.edit("g", 0, **vllm("w", main={"image": "img:2"}))
        [edited] = (await site.get(CLIQUE_SETS, "g"))["spec"]["template"]["cliques"]
        assert edited["spec"]["podSpec"]["containers"][0]["image"] == "img:2"
        assert edited["labels"] == clique["labels"]
        assert edited["spec"]["podSpec"].get("schedulerName") == clique["spec"]["podSpec"].get("schedulerName")
        await site.make(graph(vllm("w", replicas=1), name="new"))
        [new] = (await site.get(CLIQUE_SETS, "new"))["spec"]["template"]["cliques"]
        assert new["spec"]["podSpec"].get("schedulerName") == ("kai-scheduler" if appears else None)


async def test_pods_keep_their_account_when_one_for_discovery_appears() -> None:
    async with running(graph(vllm("w", replicas=1)), more="discovery: {backend: etcd}\n") as site:
        before = await _look(site)
        account = draft(SERVICE_ACCOUNTS, "pods", {"labels": {POD_ACCOUNT: "true"}})
        await site.create(SERVICE_ACCOUNTS, account)
        await site.stop()
        site.start()
        await site.later(5)
        assert await _look(site) == before
        await site.make(graph(vllm("w", replicas=1), name="new"))
        accounts = {name: obj["spec"]["template"]["spec"]["serviceAccountName"] for name, obj in (await site.all(DEPLOYMENTS)).items()}
        assert sorted(accounts.values()) == ["default", "pods"]
