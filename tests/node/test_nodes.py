"""Writes and reads go on, in both versions, while one of two nodes is drained, and while it vanishes with its network."""

import time
from collections.abc import Iterator
from typing import Final

import pytest

from tests.cluster.install.test_up import NAMESPACE
from tests.cluster.objects import graph
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.installing import SERVER, stand
from tests.node.loading import SERVICE, loaded, settle
from tests.node.machine import set_link
from tests.node.node import Node

GRAPHS: Final = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments?dryRun=All"
SLICES: Final = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices?labelSelector=kubernetes.io/service-name=dynamo-webhooks"


@pytest.fixture(scope="module")
def second(cluster: Cluster) -> Iterator[Node]:
    with cluster.another_node() as node:
        yield node


@pytest.fixture(scope="module")
def admin(cluster: Cluster, second: Node, tmp_path_factory: pytest.TempPathFactory) -> Admin:
    administrator = stand(cluster, tmp_path_factory.mktemp("nodes"))
    administrator.run(f"kubectl -n {NAMESPACE} delete pods --wait=false --selector {SERVER}")  # those after them find two nodes
    cluster.until(lambda: cluster.has_ready(NAMESPACE, 4), "all pods being ready")
    assert _nodes(cluster) == {"node0", second.place.name}, "the servers are not spread over both nodes"
    new = graph("default", {"w": SERVICE})
    cluster.until(lambda: cluster.plane.request("POST", GRAPHS, new).status == 201, "the API server reaching them")
    return administrator


def _nodes(cluster: Cluster) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in cluster.pods(NAMESPACE, SERVER)}


def test_a_node_that_vanishes_costs_requests_until_its_endpoint_is_gone(cluster: Cluster, second: Node, admin: Admin) -> None:
    address = next(pod["status"]["podIP"] for pod in cluster.pods(NAMESPACE, SERVER) if pod["spec"]["nodeName"] == second.place.name)
    with loaded(cluster, "a node vanishes") as load:
        second.kubelet.kill()
        set_link(second.place, "down")
        cluster.until(lambda: address not in _ready_endpoints(cluster), "its endpoint being gone")
        gone = time.monotonic()
        load.wait_for(400)
        set_link(second.place, "up")
        second.start_kubelet()
        cluster.until(lambda: cluster.has_node(second.place.name), "the node being back")
        settle(cluster, load)
        admin.run(f"kubectl -n {NAMESPACE} rollout status deployment")
        # a connection that was open may wait for its answer still
        assert [each for each in load.failures if each.at > gone + 30] == []
    assert _nodes(cluster) == {"node0", second.place.name}


def test_a_drain_costs_no_request(cluster: Cluster, second: Node, admin: Admin) -> None:
    with loaded(cluster, "drain of a node") as load:
        admin.run(f"kubectl drain {second.place.name} --ignore-daemonsets --delete-emptydir-data --timeout=240s")
        assert _nodes(cluster) == {"node0"}
        settle(cluster, load)
    assert load.failures == []


def _ready_endpoints(cluster: Cluster) -> set[str]:
    endpoints = [each for part in cluster.items(SLICES) for each in part["endpoints"]]
    return {each["addresses"][0] for each in endpoints if each["conditions"]["ready"]}
