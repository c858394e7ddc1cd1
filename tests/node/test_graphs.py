"""Graphs whose containers answer the operator's probes: what their status says is what their pods are, at each step of their life."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.cluster.autoscaling import scaler, serve_metrics, use
from tests.node.admin import Admin
from tests.node.cluster import Cluster, is_ready
from tests.node.graphs import CRASHES, SERVES, SILENT, Graph
from tests.node.installing import installed

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def admin(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    with installed(cluster, tmp_path_factory.mktemp("graphs")) as found:
        yield found


@pytest.fixture
def made(cluster: Cluster, admin: Admin) -> Graph:
    found = Graph(cluster, admin)
    found.apply()
    found.ready(2)
    return found


def test_a_graph_runs_scales_rolls_and_the_roll_is_undone(made: Graph) -> None:
    made.admin.run(f"kubectl -n {made.namespace} scale dgdsa/g-worker --replicas=3")
    first = made.ready(3)
    made.apply(env=[{"name": "CHANGED", "value": "1"}])
    rolled = made.ready(3)
    assert not {*first} & {*rolled}
    made.apply()
    assert not {*made.ready(3)} & {*rolled}


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
        assert plane.request("DELETE", f"{DEFINITIONS}/pods.metrics.k8s.io").status == 200


@pytest.mark.parametrize(
    ("program", "container", "words"),
    [
        (SERVES, {"image": "localhost/none:1.6.0"}, ["container main: ", "mage"]),
        (CRASHES, {}, ["container main: ", "it ended with exit code 3"]),
        (SILENT, {}, ["Rolling update in progress"]),
    ],
    ids=["image", "crash", "readiness"],
)
def test_a_roll_that_fails_is_explained_and_the_workers_before_it_go_on(
    made: Graph, program: str, container: dict[str, Any], words: list[str]
) -> None:
    before = made.workers()
    made.apply(program, **container)
    made.says(*words)
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
