"""A cluster of one node that runs containers: control plane, scheduler, containerd, kubelet and kube-proxy."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.cluster.assets.build import CONTROL_PLANE, SCHEDULER, build
from tests.cluster.harness import ControlPlane, control_plane, controllers
from tests.cluster.neighbours.neighbourhood import scheduler
from tests.cluster.processes import Process, StartError, wait_until
from tests.node.admin import Admin
from tests.node.machine import remove_beside
from tests.node.node import Node, node
from tests.node.place import FIRST, SECOND, SERVICES

Json: TypeAlias = dict[str, Any]
_FLAGS: Final = (
    "--endpoint-reconciler-type=lease",  # pods reach it by the Service `kubernetes`
    f"--service-cluster-ip-range={SERVICES}",
    "--enable-aggregator-routing=false",  # webhooks are called at the address of their Service, as in any cluster
    "--disable-admission-plugins=",
    "--authorization-mode=Node,RBAC",
    "--kubelet-preferred-address-types=InternalIP",  # nobody resolves the names of nodes
)
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_STARTING: Final = re.compile(r": (Readiness probe failed: |Liveness probe failed: .*connection refused)")
_PAUSE: Final = 0.5  # seconds between two looks, which cost CPU
_SECONDS: Final = 180.0  # in which pods of a machine that does much else besides must be ready


@dataclass
class Cluster:
    """The cluster, and what its nodes run."""

    plane: ControlPlane
    home: Path
    first: Node
    processes: list[Process] = field(default_factory=list)
    standing: dict[str, Admin] = field(default_factory=dict)  # the commands that made its overlay -> who has installed it; one at most

    def until(self, question: Callable[[], Any], what: str) -> None:
        """Waits for something while all programs run. What pods lack is part of the error."""
        try:
            wait_until(lambda: bool(question()), what, *self.processes, patience=_SECONDS, pause=_PAUSE)
        except StartError as error:
            raise StartError("\n".join([*self.describe_pods(), str(error)])) from error

    @contextlib.contextmanager
    def another_node(self) -> Iterator[Node]:
        """A second node, until the end of the block."""
        with node(self.home, SECOND, self.plane.kubeconfig) as second:
            self.until(lambda: self.has_node(SECOND.name), "the second node being ready")
            second.await_image()
            yield second
        self.plane.request("DELETE", f"/api/v1/nodes/{SECOND.name}")
        remove_beside(SECOND)

    def has_node(self, name: str) -> bool:
        """Whether a node is ready."""
        return any(each["metadata"]["name"] == name and is_ready(each) for each in self.items("/api/v1/nodes"))

    def is_furnished(self) -> bool:
        """Whether all namespaces have their account and the authority of the API server, and nodes are ready and have Leases."""
        named = {each: [obj["metadata"]["name"] for obj in self.items(f"/api/v1/{each}")] for each in ("serviceaccounts", "configmaps")}
        wanted = len(self.items("/api/v1/namespaces"))
        has_all = len(named["serviceaccounts"]) >= wanted and named["configmaps"].count("kube-root-ca.crt") >= wanted
        nodes = self.items("/api/v1/nodes")
        return has_all and len(nodes) == len(self.items(_LEASES)) > 0 and all(map(is_ready, nodes))

    def items(self, path: str) -> list[Json]:
        """The objects of a collection."""
        reply = self.plane.request("GET", path)
        assert reply.status == 200, reply.body
        objects: list[Json] = reply.body["items"]
        return objects

    def pods(self, namespace: str, selector: str = "") -> list[Json]:
        """The pods of a namespace, but for those that are being deleted."""
        pods = self.items(f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def has_ready(self, namespace: str, count: int, selector: str = "") -> bool:
        """Whether there are so many pods, and all are ready."""
        pods = self.pods(namespace, selector)
        return len(pods) == count and all(map(is_ready, pods))

    def describe_pods(self) -> list[str]:
        """A line for each pod that isn't ready, with what it and its containers wait for."""
        return [
            f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}: {json.dumps(pod.get('status', {}))}"
            for pod in self.items("/api/v1/pods")
            if not is_ready(pod)
        ]

    def warnings(self, namespace: str) -> list[str]:
        """The Warnings among the Events of a namespace, but for probes of pods that have just started, and those of neighbours."""
        events = [event for event in self.items(f"/api/v1/namespaces/{namespace}/events") if event["type"] == "Warning"]
        ours = [event for event in events if not event.get("source", {}).get("component", "").startswith("cert-manager")]
        messages = {f"{event['involvedObject']['kind']} {event['involvedObject']['name']}: {event['message']}" for event in ours}
        return sorted(each for each in messages if not _STARTING.search(each))


def is_ready(pod: Json) -> bool:
    """Whether a pod's or a node's condition Ready is true."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@contextlib.contextmanager
def one_node(home: Path) -> Iterator[Cluster]:
    """Runs the cluster until the end of the block, with the images imported."""
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(control_plane(build(CONTROL_PLANE), home / "plane", *_FLAGS, address=FIRST.address))
        # without it, the first attempt of the kubelet to write its Lease fails, and the next one is long after
        plane.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}})
        more = [f"--root-ca-file={plane.ca}", "--controllers=*", f"--service-cluster-ip-range={SERVICES}"]
        managers = stack.enter_context(controllers(plane, *more))
        places = stack.enter_context(scheduler(plane, build(SCHEDULER)))
        first = stack.enter_context(node(home, FIRST, plane.kubeconfig))
        cluster = Cluster(plane, home, first, [managers, places, *first.processes])
        cluster.until(cluster.is_furnished, "namespaces having what each gets")
        first.await_image()
        yield cluster
