"""Graphs whose containers answer the operator's probes: what their status says is what their pods are, at each step of their life."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pytest

from tests.node.admin import Admin
from tests.node.cluster import Cluster, is_ready
from tests.node.image import NAME
from tests.node.installing import installed

Node: TypeAlias = dict[str, Any]
GRAPHS: Final = "/apis/nvidia.com/v1beta1/namespaces/{}/dynamographdeployments"
SERVES: Final = """
import http.server, os, signal, threading
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # the first process of a container ends by no signal that it doesn't handle
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
ports = [http.server.ThreadingHTTPServer(("", port), Answer) for port in (8000, 9090)]
for each in ports:
    threading.Thread(target=each.serve_forever).start()
"""
CRASHES: Final = "raise SystemExit(3)"
SILENT: Final = "import time; time.sleep(3600)"


@pytest.fixture(scope="module")
def admin(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    with installed(cluster, tmp_path_factory.mktemp("graphs")) as found:
        yield found


def _component(name: str, kind: str, replicas: int, program: str = SERVES, **container: Any) -> Node:
    main = {"name": "main", "image": NAME, "command": ["/opt/dynamo-webhooks/bin/python", "-c", program], **container}
    template = {"spec": {"containers": [main]}}
    return {"name": name, "type": kind, "replicas": replicas, "runtimeVersionOverride": "1.6.0", "podTemplate": template}


class Graph:
    """One graph in a namespace of its own, with a frontend and workers that its adapter scales."""

    def __init__(self, cluster: Cluster, admin: Admin) -> None:
        self.cluster, self.admin, self.namespace = cluster, admin, cluster.plane.namespace()

    @property
    def path(self) -> str:
        return f"{GRAPHS.format(self.namespace)}/g"

    def apply(self, program: str = SERVES, **container: Any) -> None:
        """Writes it with workers that run the program; their number is the adapter's once it is there."""
        workers = {**_component("worker", "worker", 2, program, **container), "scalingAdapter": {}}
        reply = self.cluster.plane.request("GET", self.path)
        if reply.status == 200:
            workers["replicas"] = reply.body["spec"]["components"][1]["replicas"]
        metadata = {"name": "g", "namespace": self.namespace}
        spec = {"backendFramework": "vllm", "components": [_component("frontend", "frontend", 1), workers]}
        self.cluster.plane.apply({"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec})

    def status(self) -> Node:
        found: Node = self.cluster.plane.request("GET", self.path).body
        status: Node = found.get("status") or {}
        return status if status.get("observedGeneration") == found["metadata"]["generation"] else {}

    def message(self) -> str:
        conditions = {each["type"]: each for each in self.cluster.plane.request("GET", self.path).body["status"]["conditions"]}
        return str(conditions["Ready"]["message"])

    def workers(self) -> list[str]:
        """The names of its workers' pods that are ready; each says so truly."""
        return sorted(pod["metadata"]["name"] for pod in self.cluster.pods(self.namespace) if "frontend" not in pod["metadata"]["name"])

    def ready(self, workers: int) -> list[str]:
        """Waits until it says that it is ready, and looks whether that is so."""
        self.cluster.until(lambda: self.status().get("state") == "successful" and len(self.workers()) == workers, "the graph being ready")
        pods = self.cluster.pods(self.namespace)
        assert len(pods) == workers + 1
        assert all(map(is_ready, pods)), "a graph that says that it is ready has pods that are not"
        return self.workers()

    def says(self, *words: str) -> None:
        """Waits until the message of its condition has the words."""
        self.cluster.until(lambda: all(word in self.message() for word in words), f"the graph naming {words}")
        assert self.status().get("state", "pending") != "successful"


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


@pytest.mark.parametrize(
    ("program", "container", "words"),
    [
        (SERVES, {"image": "localhost/none:1.6.0"}, ["container main: ", "mage"]),
        (CRASHES, {}, ["container main: ", "it ended with exit code 3"]),
    ],
    ids=["image", "crash"],
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
