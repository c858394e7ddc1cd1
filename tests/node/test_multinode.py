"""Two pods of a real LeaderWorkerSet that find each other by the documented arguments, and a request whose Job profiles."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.cluster.assets.build import LWS, build
from tests.cluster.neighbours.neighbourhood import leader_worker_sets
from tests.cluster.reconciler.scene import REQUESTS
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.graphs import Graph, component
from tests.node.image import ENGINE
from tests.node.installing import clear, restart, stand
from tests.node.names import name_server

Json = dict[str, Any]
PODS: Final = "/api/v1/namespaces/{}/pods"
# upstream's documented start of a node: the leader listens at the port that ours adds, a worker tells it its rank
_DOCUMENTED: Final = ["-m", "dynamo.vllm", "--nnodes", "2", "--node-rank", "$(DYNAMO_RANK)", "--master-addr", "$(DYNAMO_LEADER_ADDRESS)"]


@pytest.fixture(scope="module")
def admin(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    cluster.first.import_other(ENGINE)
    with leader_worker_sets(cluster.plane, build(LWS)), name_server(cluster):
        administrator = stand(cluster, tmp_path_factory.mktemp("multinode"))
        restart(administrator, "dynamo-webhooks-reconciler")  # which finds LeaderWorkerSets at once then
        yield administrator
        clear(cluster)  # while somebody acts on LeaderWorkerSets


def _role(name: str, *more: str) -> Json:
    main = {"name": "main", "image": ENGINE, "command": ["python3"], "args": [*_DOCUMENTED, *more]}
    return {"name": name, "podTemplate": {"spec": {"containers": [main]}}}


def test_two_nodes_of_a_replica_find_each_other_by_the_documented_arguments(cluster: Cluster, admin: Admin) -> None:
    graph = Graph(cluster, admin)
    roles = [_role("leader"), _role("worker", "--headless")]
    workers = {"name": "worker", "type": "worker", "replicas": 1, "multinode": {"nodeCount": 2}, "roles": roles}
    graph.write([component("frontend", "frontend", 1), workers])
    cluster.until(lambda: graph.status().get("state") == "successful", "the graph being ready")
    [leader, worker] = sorted(name for name in graph.workers())
    assert admin.run(f"kubectl -n {graph.namespace} logs {leader} -c main").splitlines()[0] == "joined by 1"
    address = admin.run(f"kubectl -n {graph.namespace} logs {worker} -c main").split()[1]
    assert address.startswith(f"{leader}.")


def test_a_request_profiles_and_its_graph_serves(cluster: Cluster, admin: Admin) -> None:
    namespace = cluster.plane.namespace()
    hardware = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8, "totalGpus": 8}
    spec = {"model": "Qwen/Qwen3-0.6B", "backend": "vllm", "image": ENGINE, "hardware": hardware}
    metadata = {"name": "chat", "namespace": namespace}
    cluster.plane.apply({"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": metadata, "spec": spec})
    path = f"{REQUESTS.format(namespace)}/chat"
    cluster.until(
        lambda: cluster.plane.request("GET", path).body.get("status", {}).get("phase") == "Deployed", "the request being deployed"
    )
    assert cluster.has_ready(namespace, 3, "nvidia.com/dynamo-graph-deployment-name=chat-dgd")
    admin.run(f"kubectl -n {namespace} delete dgdr/chat dgd/chat-dgd")
    cluster.until(lambda: not cluster.items(PODS.format(namespace)), "all pods being gone")
