"""Graphs whose containers answer the operator's probes: the image's Python serves them."""

import re
from typing import Any, Final, TypeAlias

from tests.node.admin import Admin
from tests.node.cluster import Cluster, is_ready
from tests.node.image import ENGINE_MODULES, NAME

Json: TypeAlias = dict[str, Any]
GRAPHS: Final = "/apis/nvidia.com/v1beta1/namespaces/{}/dynamographdeployments"
SERVES: Final = (ENGINE_MODULES / "dynamo" / "serving.py").read_text()
PUBLISHES: Final = (ENGINE_MODULES / "dynamo" / "publishing.py").read_text() + SERVES
CRASHES: Final = "raise SystemExit(3)"
SILENT: Final = "import signal; signal.signal(signal.SIGTERM, lambda *_: exit(0)); signal.pause()"
_PYTHON: Final = "/opt/dynamo-webhooks/bin/python"
# "2 of 2 replicas are ready", which is no reason for not being ready
_ALL: Final = re.compile(r"\b(\d+) of \1 replicas")


def hurry(kind: str) -> Json:
    """Probes as the operator's, but asked each second: the graphs of a user who can't wait."""
    port = "http" if kind == "frontend" else "system"
    live, health = ({"httpGet": {"path": path, "port": port}, "periodSeconds": 1} for path in ("/live", "/health"))
    return {"startupProbe": {**live, "failureThreshold": 3600}, "readinessProbe": {**health, "failureThreshold": 3}}


def component(name: str, kind: str, replicas: int, program: str = SERVES, **container: Any) -> Json:
    main = {"name": "main", "image": NAME, "command": [_PYTHON, "-c", program], **container}
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
        workers = {**component("worker", "worker", 2, program, **hurry("worker"), **container), "scalingAdapter": {}}
        reply = self.cluster.plane.request("GET", self.path)
        if reply.status == 200:
            workers["replicas"] = reply.body["spec"]["components"][1]["replicas"]
        self.write([component("frontend", "frontend", 1, **hurry("frontend")), workers])

    def scale(self, replicas: int) -> None:
        """Scales its workers by their adapter."""
        self.admin.run(f"kubectl -n {self.namespace} scale dgdsa/g-worker --replicas={replicas}")

    def execute(self, pod: str, statement: str) -> None:
        """Runs a statement beside the program of a pod."""
        self.admin.run(f"kubectl -n {self.namespace} exec {pod} -c main -- {_PYTHON} -c '{statement}'")

    def write(self, components: list[Json]) -> None:
        """Writes it with these components."""
        metadata = {"name": "g", "namespace": self.namespace}
        spec = {"backendFramework": "vllm", "components": components}
        self.cluster.plane.apply({"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec})

    def status(self) -> Json:
        obj: Json = self.cluster.plane.request("GET", self.path).body
        status: Json = obj.get("status") or {}
        return status if status.get("observedGeneration") == obj["metadata"]["generation"] else {}

    def message(self) -> str:
        """What it says of being ready; never that all replicas are, as the reason why it isn't."""
        message = str(self._condition("Ready").get("message", ""))
        assert not _ALL.search(message), message
        return message

    def reason(self, kind: str) -> str:
        """The reason of a condition; empty if it has none."""
        return str(self._condition(kind).get("reason", ""))

    def _condition(self, kind: str) -> Json:
        conditions = self.cluster.plane.request("GET", self.path).body.get("status", {}).get("conditions", ())
        return next((each for each in conditions if each["type"] == kind), {})

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
