"""Graphs among real neighbours: LeaderWorkerSets, kube-scheduler, nodes with GPUs, autoscalers."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest

from tests.cluster.autoscaling import scaler, serve_metrics, use
from tests.cluster.neighbours.neighbourhood import GPUS, SETS, left_over, neighbourhood
from tests.cluster.planes import Planes
from tests.cluster.reconciling import ADAPTERS, GRAPHS, PODS, Reconciled
from tests.reconciler.rendering import component, graph, vllm

Node = dict[str, Any]
SCALERS: Final = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    with neighbourhood(planes, tmp_path_factory.mktemp("neighbours"), "components/topology-labels") as started:
        yield started


def _multinode(namespace: str, nodes: int = 2) -> Node:
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    made = graph(frontend, vllm("decode", "decode", gpus="8", replicas=1, multinode={"nodeCount": nodes}))
    made["metadata"]["namespace"] = namespace
    return made


def test_a_graph_whose_workers_find_no_node_is_not_ready_and_says_so(site: Reconciled) -> None:
    """LeaderWorkerSets count a worker as soon as its pod is made."""
    namespace = site.plane.namespace()
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    made = graph(frontend, vllm("decode", "decode", gpus=str(GPUS), replicas=1, multinode={"nodeCount": 5}))
    made["metadata"]["namespace"] = namespace
    site.plane.apply(made)

    def message() -> str:
        assert site.state(namespace) in ("", "pending", "initializing")
        return str(site.condition(namespace).get("message", ""))

    site.until(lambda: "Unschedulable: 0/4 nodes are available" in message(), "the graph saying that a worker finds no node")
    [name] = site.names(SETS, namespace)
    site.until(lambda: site.get(SETS, namespace, name)["status"].get("readyReplicas") == 1, "the set counting its replica")
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
    site.until(lambda: not left_over(site, namespace), "everything being collected")


def test_a_quota_that_keeps_leader_or_workers_from_being_made_is_named(site: Reconciled) -> None:
    """The LeaderWorkerSet says nothing of it, its StatefulSets in Events alone."""
    namespace = site.plane.namespace()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": namespace}}
    made = graph(vllm("decode", "decode", gpus="8", replicas=1, multinode={"nodeCount": 2}))
    made["metadata"]["namespace"] = namespace

    def is_refused(suffix: str) -> bool:
        words = [f"FailedCreate: create Pod {name}-{suffix} in StatefulSet {name}" for name in site.names(SETS, namespace)]
        return any(each in str(site.condition(namespace).get("message")) for each in words)

    for pods, suffix in (("0", "0"), ("1", "0-1")):
        site.plane.apply({**quota, "spec": {"hard": {"pods": pods}}}, made)
        site.until(partial(is_refused, suffix), f"the quota of {pods} being named")
    site.plane.apply({**quota, "spec": {"hard": {"pods": "2"}}})
    site.ready(namespace)


def test_workers_get_the_label_of_the_node_that_the_scheduler_chose(site: Reconciled) -> None:
    """On several nodes, too; other pods get none."""
    namespace, key, nodes = site.plane.namespace(), "topology.kubernetes.io/zone", "/api/v1/nodes"
    zones = {f"node-{number}": f"zone-{number}" for number in range(4)}
    for node, zone in zones.items():
        site.patch(nodes, "", node, {"metadata": {"labels": {key: zone}}})
    made = _multinode(namespace)
    made["spec"]["components"].append(vllm("prefill", "prefill", gpus="8", replicas=2))
    made["spec"]["experimental"] = {"kvTransferPolicy": {"labelKey": key, "domain": "zone", "enforcement": "required"}}
    site.plane.apply(made)
    site.ready(namespace)

    def placed() -> dict[str, tuple[str | None, str]]:
        items = site.plane.request("GET", PODS.format(namespace)).body["items"]
        return {pod["metadata"]["name"]: (pod["metadata"]["labels"].get(key), zones[pod["spec"]["nodeName"]]) for pod in items}

    workers = {name for name in placed() if "frontend" not in name}
    assert len(workers) == 4
    site.until(lambda: all(label == wanted for name, (label, wanted) in placed().items() if name in workers), "each worker's label")
    assert [label for name, (label, _) in placed().items() if name not in workers] == [None]
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
    site.until(lambda: not left_over(site, namespace), "everything being collected")


def _settled_at(site: Reconciled, namespace: str, adapters: list[str], replicas: int) -> bool:
    """Whether graph, adapters and autoscalers agree on a number, and the autoscalers want no other."""
    components = site.get(GRAPHS, namespace, "g")["spec"]["components"]
    if any(part["replicas"] != replicas for part in components if "scalingAdapter" in part):
        return False
    for name in adapters:
        wanted, status = site.get(ADAPTERS, namespace, name)["status"], site.get(SCALERS, namespace, name).get("status", {})
        if (wanted["replicas"], status.get("currentReplicas"), status.get("desiredReplicas")) != (replicas,) * 3:
            return False
    return True


def test_autoscalers_grow_and_shrink_components_through_their_adapters(site: Reconciled) -> None:
    """A replica of two nodes is one to them, too."""
    namespace = site.plane.namespace()
    made = graph(
        vllm("single", "decode", replicas=1, scalingAdapter={}),
        vllm("double", "prefill", gpus="8", replicas=1, multinode={"nodeCount": 2}, scalingAdapter={}),
    )
    made["metadata"]["namespace"] = namespace
    site.plane.apply(made)
    site.ready(namespace)
    adapters = ["g-double", "g-single"]
    assert sorted(site.names(ADAPTERS, namespace)) == adapters
    # an autoscaler's controller can't tell a definition from an aggregated server
    serve_metrics(site.plane)
    use(site.plane, namespace, "750m")
    site.plane.apply(*(scaler(namespace, name) for name in adapters))
    site.until(partial(_settled_at, site, namespace, adapters, 2), "both components having grown")
    site.ready(namespace)
    use(site.plane, namespace, "100m")
    site.until(partial(_settled_at, site, namespace, adapters, 1), "both components having shrunk")
    site.ready(namespace)
    for name in adapters:
        conditions = {condition["type"]: condition["status"] for condition in site.get(SCALERS, namespace, name)["status"]["conditions"]}
        assert (conditions["AbleToScale"], conditions["ScalingActive"]) == ("True", "True")
    pods = site.plane.request("GET", PODS.format(namespace)).body["items"]
    assert len([pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]) == 3
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
