"""Graphs whose containers answer the operator's probes: what their status says is what their pods are, at each step of their life."""

import re
import urllib.request
from functools import partial
from typing import Any, Final

import pytest

from tests.cluster.autoscaling import scaler, serve_metrics, use
from tests.cluster.install.test_up import NAMESPACE
from tests.node.admin import Admin
from tests.node.cluster import Cluster, is_ready
from tests.node.graphs import CRASHES, PUBLISHES, SERVES, SILENT, Graph, component

WORKERS: Final = "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamoworkermetadatas"
KINDS: Final = "dgd,dcd,dgdsa,deployments,replicasets,pods,services,endpointslices,configmaps,serviceaccounts,roles,rolebindings,events"
RENEWALS: Final = 10
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def lasting(cluster: Cluster, admin: Admin) -> Graph:
    return Graph(cluster, admin)


@pytest.fixture
def made(lasting: Graph) -> Graph:
    """A graph that is ready with two workers: made anew if a test has deleted it, or brought back to that."""
    lasting.apply()
    if len(lasting.workers()) not in (0, 2):
        lasting.scale(2)
    lasting.ready(2)
    return lasting


def test_workers_publish_themselves_with_the_account_of_their_graph(cluster: Cluster, admin: Admin) -> None:
    graph = Graph(cluster, admin)
    workers = component("worker", "worker", 1, PUBLISHES)
    for changed in ("no", "yes"):  # made, and rolled
        workers["podTemplate"]["spec"]["containers"][0]["env"] = [{"name": "CHANGED", "value": changed}]
        graph.write([component("frontend", "frontend", 1), workers])
        names = graph.ready(1)
        cluster.until(partial(_has_published, graph, names), "the workers being known, and no older ones")
    assert {pod["spec"]["serviceAccountName"] for pod in cluster.pods(graph.namespace)} == {"g-k8s-service-discovery"}


def _has_published(graph: Graph, workers: list[str]) -> bool:
    return sorted(each["metadata"]["name"] for each in graph.cluster.items(WORKERS.format(graph.namespace))) == workers


def test_a_graph_runs_scales_rolls_and_the_roll_is_undone(made: Graph) -> None:
    made.scale(3)
    first = made.ready(3)
    made.apply(env=[{"name": "CHANGED", "value": "1"}])
    rolled = made.ready(3)
    assert not {*first} & {*rolled}
    made.apply()
    assert not {*made.ready(3)} & {*rolled}


def test_a_graph_at_rest_is_not_written(made: Graph) -> None:
    _live_on(made.cluster, 2)  # what comes after being ready
    before = _versions(made)
    _live_on(made.cluster, RENEWALS)
    assert _versions(made) == before


def _live_on(cluster: Cluster, renewals: int) -> None:
    """Waits until the reconciler has renewed its Leases so often, which it does every two seconds."""
    begin = _requests(cluster, "PUT")
    cluster.until(lambda: _requests(cluster, "PUT") - begin >= renewals, "the Leases being renewed")


def _versions(graph: Graph) -> dict[str, str]:
    """The resourceVersion of each object of the graph's namespace, and how often the reconciler has changed any, but for its Leases."""
    form = '{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}'
    lines = graph.admin.run(f"kubectl -n {graph.namespace} get {KINDS} -o jsonpath='{form}'").splitlines()
    return {**dict(line.split() for line in lines), "writes": str(_requests(graph.cluster, "PATCH", "DELETE"))}


def _requests(cluster: Cluster, *methods: str) -> float:
    [pod] = cluster.pods(NAMESPACE, "app.kubernetes.io/component=reconciler")
    with urllib.request.urlopen(f"http://{pod['status']['podIP']}:8080/metrics") as answer:
        counts = re.findall(r'^rest_client_requests_total{.*method="(\w+)".*} (\S+)$', answer.read().decode(), re.MULTILINE)
    return sum(float(count) for method, count in counts if method in methods)


def test_a_worker_that_is_not_well_any_more_is_told_of_until_it_is(made: Graph) -> None:
    ill = made.workers()[0]
    made.execute(ill, 'open("/dev/shm/ill", "w")')
    made.says("1 of 2 replicas are ready")
    assert [pod["metadata"]["name"] for pod in made.cluster.pods(made.namespace) if not is_ready(pod)] == [ill]
    made.execute(ill, 'import os; os.unlink("/dev/shm/ill")')
    made.ready(2)


def test_an_autoscaler_grows_and_shrinks_workers(made: Graph) -> None:
    plane = made.cluster.plane
    serve_metrics(plane)
    try:
        use(plane, made.namespace, "750m")
        plane.apply(scaler(made.namespace, "g-worker"))
        made.ready(3)
        use(plane, made.namespace, "100m")
        made.ready(1)
    finally:
        made.admin.run(f"kubectl -n {made.namespace} delete hpa g-worker")
        assert plane.request("DELETE", f"{DEFINITIONS}/pods.metrics.k8s.io").status == 200


@pytest.mark.parametrize(
    ("program", "container", "words"),
    [
        (SERVES, {"image": "localhost/none:1.6.0"}, ["container main: ", "mage"]),
        (CRASHES, {}, ["container main: ", "it ended with exit code 3"]),
        (SILENT, {}, ["container main: it has run since ", "its startup probe has not succeeded"]),
    ],
    ids=["image", "crash", "readiness"],
)
def test_a_roll_that_fails_is_explained_and_the_workers_before_it_go_on(
    cluster: Cluster, admin: Admin, program: str, container: dict[str, Any], words: list[str]
) -> None:
    made = Graph(cluster, admin)  # of one that was rolled again and again, pods are looked at later
    made.apply()
    made.ready(2)
    before = made.workers()
    made.apply(program, **container)
    made.says("Rolling update in progress", *words)
    going = {pod["metadata"]["name"] for pod in made.cluster.pods(made.namespace) if is_ready(pod)}
    assert {*before} & going
    made.apply()
    made.ready(2)


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_deleted_graph_leaves_no_pod(made: Graph, policy: str) -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}
    assert made.cluster.plane.request("DELETE", made.path, options).status == 200
    made.cluster.until(lambda: not made.cluster.items(f"/api/v1/namespaces/{made.namespace}/pods"), "all pods being gone")
    made.cluster.until(lambda: made.cluster.plane.request("GET", made.path).status == 404, "the graph being gone")


def test_a_graph_that_is_deleted_without_its_children_takes_them_up_again(made: Graph) -> None:
    before = made.workers()
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"}
    assert made.cluster.plane.request("DELETE", made.path, options).status == 200
    made.cluster.until(lambda: made.cluster.plane.request("GET", made.path).status == 404, "the graph being gone")
    assert made.workers() == before
    made.apply()
    assert made.ready(2) == before
